"""Tunes what no rule can say: the sizes of slots, and the sizes at which messages start to go another way.

How: two or more jobs with different settings take turns in the same cells. A cutoff is the smallest size starting at
which the job that always takes the other way is the faster one, in geometric mean over operations whose messages are
as large as a part; sizes in steps of 2, then the one in the middle of the step where they cross. What differs from what
omnes does by itself has to be faster once more, in jobs of their own, where the two differ.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from omnes import _core
from omnes.bench.job import Job, JobSpec
from omnes.bench.records import Key, Measured, Records
from omnes.bench.session import with_jobs
from omnes.bench.timing import Cell, Samples, ratio, take_turns
from omnes.terminal.units import format_bytes, geometric_mean, parse_bytes
from omnes.tuning.search import LEAST_GAIN

_MESSAGES = ("bcast", "gather", "scatter", "alltoall")  # of one part, between two ranks or from one to all
_SIZES = tuple(1 << exponent for exponent in range(13, 21))  # 8 KiB to 1 MiB
_NEVER = "1G"


@dataclass(frozen=True)
class Setting:
    """One entry of a table's [settings]."""

    name: str
    choices: tuple[str, ...] = ()  # a cutoff has none
    never: str = ""  # as a cutoff's value
    with_heap: bool = False  # it is about memory that ranks map
    default: str = ""  # what omnes does by itself

    @property
    def variable(self) -> str:
        return f"OMNES_{self.name.upper()}"

    def job(self, base: JobSpec, value: str) -> JobSpec:
        heap = {"OMNES_HEAP": "shared" if self.with_heap else "alloc_mem"}
        return JobSpec(value, base.mpi, True, {**base.variables, **heap, self.variable: value}, options=base.options)


SETTINGS = (  # whose defaults depend on the ranks
    Setting("slot_bytes", choices=("8K", "16K", "64K")),
    Setting("single_copy", never="off"),
    Setting("direct_copy", never=_NEVER, with_heap=True),
)


def with_defaults(ranks: int, own_cpus: bool) -> list[Setting]:
    """All of them, as they are for so many ranks of one node, which have a CPU each or share some."""
    defaults = _core.default_settings(ranks, own_cpus)
    return [replace(one, default=defaults[one.name]) for one in SETTINGS]


@dataclass(frozen=True)
class Tuned:
    setting: Setting
    value: str
    gain: float  # median, over cells, of the confirmation; 0 where the default stays

    @property
    def changed(self) -> bool:
        return self.value != self.setting.default


@dataclass
class CutoffSearch:
    records: Records
    base: JobSpec
    ranks: int
    bind: bool
    seconds: float  # for each job in a cell

    def run(self) -> Iterator[Tuned]:
        for setting in with_defaults(self.ranks, self.bind):
            value = self._best(setting) if setting.choices else self._cutoff(setting)
            yield self._confirmed(setting, value)

    def _best(self, setting: Setting) -> str:
        """That of the choices with the least time in geometric mean."""
        names = (setting.default, *setting.choices)
        by_cell = self._measure("choice", setting, names, _cells(_SIZES[:4]))
        return min(names, key=lambda name: sum(math.log(of[name].median) for of in by_cell.values()))

    def _cutoff(self, setting: Setting) -> str:
        names = (setting.never, format_bytes(_SIZES[0]))

        def gains(sizes: Sequence[int]) -> dict[int, float]:
            """By which factor the other way is faster, by size."""
            by_cell = self._measure("switch", setting, names, _cells(sizes))
            return {size: _gain({c: of for c, of in by_cell.items() if c.bytes == size}, *names) for size in sizes}

        found = gains(_SIZES)
        point = crossing(found)
        if point is None:
            return setting.never
        if point > _SIZES[0]:
            middle = point * 3 // 4
            if gains([middle])[middle] > 1:
                point = middle
        return format_bytes(point)

    def _confirmed(self, setting: Setting, value: str) -> Tuned:
        """The value, where it is better than the default once more; else the default."""
        if value == setting.default:
            return Tuned(setting, value, 0)
        cells = _cells(_SIZES[:4] if setting.choices else _between(setting, value))
        by_cell = self._measure("confirm", setting, (setting.default, value), cells)
        gain = _gain(by_cell, setting.default, value) - 1
        return Tuned(setting, value, gain) if gain > LEAST_GAIN else Tuned(setting, setting.default, 0)

    def _measure(
        self, what: str, setting: Setting, values: Sequence[str], cells: Sequence[Cell]
    ) -> Mapping[Cell, Mapping[str, Samples]]:
        keys = {cell: Key(f"{what} of {setting.name} {' '.join(values)}", self.ranks, cell) for cell in cells}
        todo = [cell for cell, key in keys.items() if key not in self.records.cells]
        if todo:
            specs = [setting.job(self.base, value) for value in values]

            def one(cell: Cell, jobs: Sequence[Job]) -> None:
                begin = time.monotonic()
                samples, stable = take_turns([(cell, job) for job in jobs], self.seconds * len(jobs))
                measured = Measured(self.bind, stable, time.monotonic() - begin, dict(zip(values, samples)))
                self.records.add_cell(keys[cell], measured)

            with_jobs(specs, todo, self.ranks, self.bind, setting.name, one)
        return {cell: self.records.cells[key].samples for cell, key in keys.items()}


def _gain(by_cell: Mapping[Cell, Mapping[str, Samples]], slow: str, fast: str) -> float:
    """By which factor the one is faster than the other, in geometric mean over the cells."""
    return geometric_mean(ratio(of[slow], of[fast]).median for of in by_cell.values()) or 1.0


def crossing(gains: Mapping[int, float]) -> int | None:
    """The least size from which on all gains are above 1; None: there is none."""
    point = None
    for size in sorted(gains, reverse=True):
        if gains[size] <= 1:
            break
        point = size
    return point


def _between(setting: Setting, value: str) -> Sequence[int]:
    """Sizes that the two settings treat differently."""
    low, high = sorted(math.inf if at == setting.never else parse_bytes(at) for at in (setting.default, value))
    sizes = [size for size in _SIZES if low <= size < high]
    return sizes or [int(low)]


def _cells(sizes: Sequence[int]) -> list[Cell]:
    return [Cell(operation, size, "double") for operation in _MESSAGES for size in sizes]


def toml(tuned: Sequence[Tuned]) -> list[str]:
    """Lines of the table; none where everything stays as it is."""
    lines = [
        f'{one.setting.name} = "{one.value}"  # {one.gain:.0%} faster than {one.setting.default}, where it matters'
        for one in tuned
        if one.changed
    ]
    return ["", "[settings]", *lines] if lines else []
