"""omnes against its peers, from the records of a campaign: ratios of cells, and geometric means of ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnes.bench import limits
from omnes.bench.job import Spread
from omnes.bench.records import Measured, Records
from omnes.bench.timing import Cell, Samples, ratio
from omnes.terminal.units import percentile

BEST = "the best peer"
_MPI = ("packages", "prefix")  # what in a peer's file says which MPI it is


@dataclass(frozen=True)
class Times:
    """A cell in all launches. What is said of it is the median of what is said of each."""

    launches: Sequence[Measured]

    @property
    def bound(self) -> bool:
        return self.launches[0].bound

    @property
    def stable(self) -> bool:
        """Whether all medians are known well enough, in each launch."""
        return all(launch.stable for launch in self.launches)

    @property
    def seconds(self) -> float:
        """That it took."""
        return sum(launch.seconds for launch in self.launches)

    @property
    def names(self) -> set[str]:
        return {name for launch in self.launches for name in (*launch.samples, *launch.failed)}

    @property
    def failed(self) -> dict[str, str]:
        """Who failed in some launch, and how, the last time."""
        return {name: what for launch in self.launches for name, what in launch.failed.items()}

    def of(self, name: str) -> float | None:
        """Seconds per call; None where it was measured in no launch."""
        medians = [launch.samples[name].median for launch in self.launches if name in launch.samples]
        return percentile(medians, 0.5) if medians else None

    def against(self, peer: str | None, ours: str) -> float | None:
        """How many times faster ours is than the peer; None where no launch has both."""
        medians = [samples.median for samples in self._ratios(peer, ours)] if peer else []
        return percentile(medians, 0.5) if medians else None

    def between(self, peer: str, ours: str) -> tuple[float, float]:
        """Where the ratio lies with 95 % confidence, in all launches that have both."""
        intervals = [samples.interval for samples in self._ratios(peer, ours)]
        return min(low for low, _ in intervals), max(high for _, high in intervals)

    def _ratios(self, peer: str, ours: str) -> list[Samples]:
        both = [launch.samples for launch in self.launches if peer in launch.samples and ours in launch.samples]
        return [ratio(samples[peer], samples[ours]) for samples in both]


@dataclass(frozen=True)
class Table:
    """One plan with so many ranks: its cells, in order, who was measured, and what the machine allows."""

    plan: str
    ranks: int
    spread: Spread
    cells: Mapping[Cell, Times]
    peers: tuple[str, ...]
    omnes: tuple[str, ...]
    limits: Mapping[str, float]
    machine: Mapping[str, Any]
    stock: Mapping[str, str]  # of each omnes, the peer that is the same MPI without it, where there is one
    real: bool = False  # the hosts are those of a cluster

    @property
    def title(self) -> str:
        bound = next(iter(self.cells.values())).bound
        links = f" with links of {self.spread.bandwidth}" if self.spread.bandwidth else ""
        where = f" on {self.spread.hosts} hosts{links}" if self.spread.hosts > 1 else ""
        if self.real:
            return f"{self.plan}: {self.ranks} ranks{where}, bound as their launcher does"
        return f"{self.plan}: {self.ranks} ranks{where}, {'each bound to a core' if bound else 'not bound'}"

    def least(self, cell: Cell) -> float | None:
        """Seconds that the machine needs for the cell; None where its limits were not measured, or calls vary."""
        if not self.limits or cell.variety:
            return None
        return limits.least(cell, self.ranks, self.limits, self.machine["caches"], self.machine["cores"])


def tables(records: Records) -> Iterator[Table]:
    kinds = {name: peer["omnes"] for name, peer in records.campaign["peers"].items()}
    for plan, ranks in dict.fromkeys((key.plan, key.ranks) for key in records.cells):
        launches: dict[Cell, list[Measured]] = {}
        for key, measured in records.cells.items():
            if (key.plan, key.ranks) == (plan, ranks):
                launches.setdefault(key.cell, []).append(measured)
        cells = {cell: Times(of) for cell, of in launches.items()}
        seen = {name for of in cells.values() for name in of.names}
        names = {flag: tuple(name for name in kinds if name in seen and kinds[name] == flag) for flag in (False, True)}
        facts = records.campaign.get("plans", {}).get(plan, {})
        found = records.limits.get((plan, ranks), {})
        spread = Spread(facts.get("hosts", 1), bandwidth=facts.get("bandwidth"))
        machine = records.campaign.get("machine", {})
        stock = _stock(records.campaign["peers"], *names.values())
        real = "cluster" in records.campaign
        yield Table(plan, ranks, spread, cells, names[False], names[True], found, machine, stock, real)


def _stock(files: Mapping[str, Mapping[str, Any]], peers: Sequence[str], omnes: Sequence[str]) -> dict[str, str]:
    """Of several peers with that MPI the one with the fewest settings."""
    found = {}
    for ours in omnes:
        same = [peer for peer in peers if all(_of_mpi(files[peer], key) == _of_mpi(files[ours], key) for key in _MPI)]
        if same:
            found[ours] = min(same, key=lambda peer: len(files[peer].get("variables", {})))
    return found


def _of_mpi(file: Mapping[str, Any], key: str) -> Any:
    return file.get(key) or None


def best_peer(table: Table, times: Times) -> str | None:
    """The fastest in this cell."""
    found = [(seconds, name) for name in table.peers if (seconds := times.of(name)) is not None]
    return min(found)[1] if found else None


def ratios(table: Table, peer: str, ours: str) -> dict[Cell, float]:
    """Of all cells where both were measured; the peer may be BEST."""
    found = {}
    for cell, times in table.cells.items():
        value = times.against(best_peer(table, times) if peer == BEST else peer, ours)
        if value is not None:
            found[cell] = value
    return found
