"""How well a median is known from few runs: exactly, as between two of the ordered values, whatever their distribution.

With n values the median lies below the k-th or above the k-th from the end with the probability that fewer than k of n
tosses of a coin fall on one side (J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010,
theorem 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from omnes.terminal.units import percentile

CONFIDENCE = 0.95
LEAST = 6  # values: fewer cannot say anything with that confidence


@dataclass(frozen=True)
class Known:
    """A median, and where it lies."""

    median: float
    low: float
    high: float
    values: int

    @property
    def sure(self) -> bool:
        """Whether the interval has the confidence; else it is only the least and the greatest value."""
        return self.values >= LEAST

    def differs_from(self, value: float) -> bool:
        return self.sure and not self.low <= value <= self.high


def how_sure(rounds: int) -> str:
    """What stands in the brackets of cells."""
    return "95 % confidence" if rounds >= LEAST else "the least and the greatest"


def ratio_cell(found: Known) -> str:
    """For a table of the terminal: green where the ratio is above 1 beyond noise, red below."""
    colour = "dim" if not found.differs_from(1) else "green" if found.median > 1 else "red"
    return f"[{colour}]{found.median:.2f} \\[{found.low:.2f}, {found.high:.2f}][/]"


def known(values: Sequence[float]) -> Known:
    ordered = sorted(values)
    out = _outside(len(ordered))
    return Known(percentile(ordered, 0.5), ordered[out], ordered[-1 - out], len(ordered))


def _outside(count: int) -> int:
    """How many values on either side the interval may leave out."""
    tail, out = 0.0, -1
    while out + 1 < count:
        tail += math.comb(count, out + 1) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            break
        out += 1
    return max(out, 0)


def ratios(theirs: Sequence[float], ours: Sequence[float], better: str) -> list[float]:
    """How many times better ours is, round by round."""
    pairs = zip(theirs, ours) if better == "less" else zip(ours, theirs)
    return [a / b for a, b in pairs if b > 0]
