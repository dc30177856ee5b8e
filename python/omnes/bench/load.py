"""What else runs on a machine that is about to be measured: with it, times are spread and ratios uncertain."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from omnes.bench.timing import Samples
from omnes.terminal.units import percentile

_STAT = Path("/proc/stat")
_LOOK_SECONDS = 0.3  # thirty ticks of the kernel's clock for each CPU
_BUSY = 0.1  # of the usable CPUs: more than a desktop or this process takes
_SPREAD = 0.2  # half the width of the middle half / median: of a quiet machine it is a few percent
_IDLE = (3, 4)  # columns of a line: idle, and waiting for a disk


@dataclass(frozen=True)
class Load:
    taken: float  # CPUs' worth of time that went to others, of those usable
    usable: int
    average: float  # over the last minute: tasks that wanted to run

    @property
    def busy(self) -> bool:
        return self.taken > _BUSY * self.usable

    def __str__(self) -> str:
        return f"something else takes {self.taken:.1f} of {self.usable} CPUs (load {self.average:.1f})"


def look() -> Load:
    """Watches the CPUs for a moment, before anything of ours runs on them."""
    ours = os.sched_getaffinity(0)
    before = _ticks(ours)
    time.sleep(_LOOK_SECONDS)
    after = _ticks(ours)
    spent = [(now[0] - then[0], now[1] - then[1]) for then, now in zip(before, after)]
    taken = sum(working / passed for working, passed in spent if passed > 0)
    return Load(taken, len(ours), os.getloadavg()[0])


def _ticks(wanted: set[int]) -> list[tuple[int, int]]:
    """Of each CPU: at work, and in all."""
    found = []
    for line in _STAT.read_text().splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name[3:].isdecimal() and int(name[3:]) in wanted:
            ticks = [int(word) for word in words[:8]]  # what follows is counted in these, too
            found.append((sum(ticks) - sum(ticks[column] for column in _IDLE), sum(ticks)))
    return found


def warnings(load: Load, samples: Iterable[Samples]) -> list[str]:
    """What to say of figures measured then: that the machine was busy, and how far times are spread."""
    said = [f"The machine is busy: {load}. Measure again when it is quiet."] if load.busy else []
    spreads = [of.spread for of in samples]
    middle = percentile(spreads, 0.5) if spreads else 0.0
    if middle > _SPREAD:
        said.append(f"Times are spread widely (±{middle:.0%} in the middle): differences below that mean nothing.")
    return said
