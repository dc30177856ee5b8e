"""How much slower what omnes chooses is than the best that it could choose, by the model's own predictions.

How: of each operation and placement every candidate is predicted at every size. With many ranks that takes long, so
there what was slow on half as many nodes and with half as many ranks on each is not tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from omnes import _core
from omnes.errors import OmnesError
from omnes.launching import cpus
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.terminal import units

# That the model predicts and whose parts all ranks know.
OPERATIONS = tuple(
    name
    for name in _core.operations()
    if not name.startswith("neighbor") and name not in ("gatherv", "scatterv", "alltoallv", "alltoallw")
)
_PART_FOR_EACH = ("gather", "scatter", "allgather", "allgatherv", "alltoall", "reduce_scatter_block", "reduce_scatter")
_MAX_BYTES = 1 << 30  # that a rank's parts may take together
_ALL_TRIED = 128  # ranks up to which every candidate is tried
_SLOW = 2.0  # so many times the best is slow, at a size and both sizes beside it
_NO_ALGORITHM = ("host", "model")


@dataclass(frozen=True)
class PredictedCase:
    operation: str
    ranks: Ranks
    bytes: int
    choice: str
    why: str
    costs: dict[str, float]  # seconds of all that were tried
    unable: frozenset[str] = frozenset()  # what cannot do it

    @property
    def best(self) -> str:
        """The choice, where nothing is faster."""
        return min(self.costs, key=lambda name: (self.costs[name], name != self.choice))

    @property
    def regret(self) -> float:
        return self.costs[self.choice] / self.costs[self.best]

    @property
    def record(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "ranks": self.ranks.count,
            "nodes": self.ranks.nodes,
            "cyclic": self.ranks.cyclic,
            "bytes": self.bytes,
            "choice": self.choice,
            "why": self.why,
            "predicted": self.costs[self.choice],
            "best": self.best,
            "best_predicted": self.costs[self.best],
            "regret": self.regret,
            "tried": len(self.costs),
        }


def cases(
    operations: Sequence[str],
    groups: Sequence[Ranks],
    sizes: Sequence[int],
    machine: MachineCosts,
    table: str = "",
    advance: Callable[[], None] = lambda: None,
    also: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[PredictedCase]:
    """Of all these. table: a file, or "off"; empty: the environment's. also: further candidates, by operation."""
    spelt: dict[str, list[str]] = {operation: list(also.get(operation, ())) for operation in operations}
    for rule in _core.rules(table):
        if rule["operation"] in spelt and rule["use"] not in _NO_ALGORITHM:
            spelt[rule["operation"]].append(rule["use"])
    ordered = sorted(groups, key=lambda ranks: (ranks.count, ranks.per_node, ranks.cyclic))

    def of_operation(operation: str) -> list[PredictedCase]:
        found: dict[Ranks, list[PredictedCase]] = {}
        for ranks in ordered:
            mine = [size for size in sizes if size * _parts(operation, ranks) <= _MAX_BYTES]
            if operation == "barrier":
                mine = mine[:1]
            found[ranks] = _cases(operation, ranks, mine, machine, spelt[operation], table, found)
            advance()
        return [case for ranks in found for case in found[ranks]]

    with ThreadPoolExecutor(cpus.usable_cpus()) as workers:
        return [case for part in workers.map(of_operation, operations) for case in part]


def _parts(operation: str, ranks: Ranks) -> int:
    return ranks.count if operation in _PART_FOR_EACH else 1


def _cases(
    operation: str,
    ranks: Ranks,
    sizes: Sequence[int],
    machine: MachineCosts,
    spelt: Sequence[str],
    table: str,
    before: Mapping[Ranks, Sequence[PredictedCase]],
) -> list[PredictedCase]:
    chosen = {size: prediction.chosen(operation, ranks, size, table=table, machine=machine.text) for size in sizes}
    tried: dict[str, list[int]] = {}  # by candidate: at which sizes
    for size in sizes:
        likely = _likely(ranks, size, before)
        names = [*_core.candidates(operation, size), *spelt] if likely is None else likely
        for name in dict.fromkeys([chosen[size]["text"], *names]):
            tried.setdefault(name, []).append(size)
    costs: dict[int, dict[str, float]] = {size: {} for size in sizes}
    unable: set[str] = set()
    for name, at in tried.items():
        able, excluded = prediction.costs(operation, [name], ranks, at, machine)
        unable.update(excluded)
        for size, seconds in zip(at, able.get(name, ())):
            costs[size][name] = seconds
    for size in sizes:
        if chosen[size]["text"] not in costs[size]:
            raise OmnesError(f"{operation}, {ranks}: no prediction for {chosen[size]['text']}")
    return [
        PredictedCase(operation, ranks, size, chosen[size]["text"], chosen[size]["why"], costs[size], frozenset(unable))
        for size in sizes
    ]


def _likely(ranks: Ranks, size: int, before: Mapping[Ranks, Sequence[PredictedCase]]) -> list[str] | None:
    """What was not slow with fewer ranks; None: anything may be fast."""
    if ranks.count <= _ALL_TRIED:
        return None
    fewer = {  # half as many nodes, or half as many ranks on each
        Ranks(ranks.count // 2, ranks.per_node, ranks.cyclic),
        Ranks(ranks.count // 2, ranks.per_node // 2, ranks.cyclic and ranks.per_node > 2),
    }
    names: dict[str, None] = {}
    for one in fewer & before.keys():
        near = sorted(before[one], key=lambda case: abs(case.bytes.bit_length() - size.bit_length()))[:3]
        for case in near:
            most = _SLOW * case.costs[case.best]
            names.update(dict.fromkeys(name for name, seconds in case.costs.items() if seconds <= most))
    return list(names) or None


def groups(nodes: Sequence[int], per_node: Sequence[int], orders: Sequence[bool]) -> list[Ranks]:
    """Of a rank on each node both orders are the same."""
    return [
        Ranks(count * each, each, cyclic)
        for count in nodes
        for each in per_node
        for cyclic in orders
        if count * each > 1 and not (cyclic and each == 1 and False in orders)
    ]


def worst(found: Sequence[PredictedCase]) -> PredictedCase:
    return max(found, key=lambda case: case.regret)


def mean(found: Sequence[PredictedCase]) -> float:
    return units.geometric_mean(case.regret for case in found) or 1.0
