"""omnes against its peers, from the records of a campaign: ratios of cells, and geometric means of ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnes.bench import limits
from omnes.bench.job import Spread
from omnes.bench.measure import Cell, ratio
from omnes.bench.records import Key, Measured, Records

BEST = "the best peer"


@dataclass(frozen=True)
class Table:
    """One plan with so many ranks: its cells, in order, who was measured, and what the machine allows."""

    plan: str
    ranks: int
    spread: Spread
    cells: Mapping[Cell, Measured]
    peers: tuple[str, ...]
    omnes: tuple[str, ...]
    limits: Mapping[str, float]
    machine: Mapping[str, Any]

    @property
    def title(self) -> str:
        bound = next(iter(self.cells.values())).bound
        links = f" with links of {self.spread.bandwidth}" if self.spread.bandwidth else ""
        where = f" on {self.spread.hosts} hosts{links}" if self.spread.hosts > 1 else ""
        return f"{self.plan}: {self.ranks} ranks{where}, {'each bound to a core' if bound else 'not bound'}"

    def least(self, cell: Cell) -> float | None:
        """Seconds that the machine needs for the cell; None where its limits were not measured."""
        if not self.limits:
            return None
        return limits.least(cell, self.ranks, self.limits, self.machine["caches"], self.machine["cores"])


def tables(records: Records) -> Iterator[Table]:
    kinds = {name: peer["omnes"] for name, peer in records.campaign["peers"].items()}
    for plan, ranks in dict.fromkeys((key.plan, key.ranks) for key in records.cells):
        cells = {key.cell: of for key, of in records.cells.items() if key == Key(plan, ranks, key.cell)}
        seen = {name for of in cells.values() for name in (*of.samples, *of.failed)}
        names = {flag: tuple(name for name in kinds if name in seen and kinds[name] == flag) for flag in (False, True)}
        facts = records.campaign.get("plans", {}).get(plan, {})
        found = records.limits.get((plan, ranks), {})
        spread = Spread(facts.get("hosts", 1), bandwidth=facts.get("bandwidth"))
        yield Table(plan, ranks, spread, cells, names[False], names[True], found, records.campaign.get("machine", {}))


def best_peer(table: Table, measured: Measured) -> str | None:
    """The fastest in this cell."""
    there = [name for name in table.peers if name in measured.samples]
    return min(there, key=lambda name: measured.samples[name].median, default=None)


def against(measured: Measured, peer: str | None, ours: str) -> float | None:
    """How many times faster ours is than the peer; None where one of them was not measured."""
    if peer not in measured.samples or ours not in measured.samples:
        return None
    return ratio(measured.samples[peer], measured.samples[ours]).median


def ratios(table: Table, peer: str, ours: str) -> dict[Cell, float]:
    """Of all cells where both were measured; the peer may be BEST."""
    found = {}
    for cell, measured in table.cells.items():
        value = against(measured, best_peer(table, measured) if peer == BEST else peer, ours)
        if value is not None:
            found[cell] = value
    return found
