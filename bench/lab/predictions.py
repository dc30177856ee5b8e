"""Predicted times beside measured ones, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnes.terminal import units


@dataclass(frozen=True)
class Predicted:
    operation: str
    name: str  # of the algorithm
    size: int
    measured: float  # seconds, as the others
    predicted: float

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured

    @property
    def factor(self) -> float:
        return max(self.ratio, 1 / self.ratio)

    @property
    def error(self) -> float:
        return abs(self.ratio - 1)


def summary(rows: Sequence[Predicted]) -> str:
    errors, factors = [row.error for row in rows], [row.factor for row in rows]
    return (
        f"{len(rows)} cells: median error {100 * units.percentile(errors, 0.5):.0f} %, "
        f"90th percentile {100 * units.percentile(errors, 0.9):.0f} %, "
        f"within 2x {100 * sum(f <= 2 for f in factors) / len(factors):.1f} %, "
        f"worst factor {max(factors):.2f}"
    )
