"""What is tuned: cases from a grid of sizes or from a program's profile, and each one's candidates, by the model.

A case stands for a range of sizes, which its rule will serve. Of the operations whose ranks do not know each other's
parts, no rule may ask for a size: their cases serve all sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from omnes import _core
from omnes.algorithms import catalogue, tables
from omnes.bench.session import WITH_COUNTS
from omnes.bench.timing import Cell
from omnes.errors import OmnesError
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks

SIZE_UNKNOWN = frozenset(WITH_COUNTS) - {"allgatherv", "reduce_scatter"}
LEAST_SHARE = 0.005  # of a program's collective time: what takes less is not worth tuning
SMALL = 64  # bytes: below, a message takes as long as one of a byte (it fits a descriptor line of the transport)
_ELEMENT = 8  # bytes of the type that is measured


@dataclass(frozen=True)
class Case:
    """An operation on so many ranks, measured with parts of so many bytes, for rules from `low` to `high` bytes."""

    ranks: Ranks
    operation: str
    bytes: int
    low: int
    high: int

    @property
    def cell(self) -> Cell:
        return Cell(self.operation, self.bytes, "double")

    @property
    def knows_size(self) -> bool:
        return self.operation != "barrier" and self.operation not in SIZE_UNKNOWN

    def default(self, host: bool) -> str:
        """What omnes chooses by itself. host: calls may be left to the MPI."""
        size = self.bytes if self.knows_size else 0
        return prediction.chosen(self.operation, self.ranks, size, table=tables.OFF, host=host)["text"]


def tunable() -> list[str]:
    """The operations with more than one algorithm."""
    return [name for name in _core.operations() if len(catalogue.select(name)) > 1]


def of_grid(operations: Iterable[str], groups: Iterable[Ranks], sizes: Sequence[int]) -> list[Case]:
    return [
        Case(ranks, operation, size, 0 if size == min(sizes) <= SMALL else size, size)
        for ranks in groups
        for operation in operations
        for size in ([0] if operation == "barrier" else sorted(sizes))
    ]


def between(left: Case, right: Case) -> Case | None:
    """A case in the middle of two whose choices differ; none where they are as near as a factor of 2."""
    middle = 1 << ((left.high.bit_length() + right.low.bit_length()) // 2 - 1)  # geometrically
    if not left.high < middle < right.low or right.low <= 2 * left.high:
        return None
    return Case(left.ranks, left.operation, middle, middle, middle)


def of_profile(profile: dict[str, Any], operations: Sequence[str]) -> list[Case]:
    """What takes the program most of its time, first. All forms of an operation count, and are tuned as one."""
    found: dict[tuple[int, int, str, int], list[float]] = {}  # seconds, calls, bytes of all calls
    for entry in profile["entries"]:
        key = (entry["size"], entry["nodes"], entry["operation"], entry["bytes"])
        sums = found.setdefault(key, [0.0, 0.0, 0.0])
        for i, more in enumerate((entry["seconds"], entry["calls"], entry["calls"] * entry["mean_bytes"])):
            sums[i] += more
    total = sum(seconds for seconds, _, _ in found.values())
    cases = []
    for (count, nodes, operation, low), (seconds, calls, volume) in sorted(found.items(), key=lambda at: -at[1][0]):
        if operation not in operations or count < 2 or seconds < LEAST_SHARE * total:
            continue
        size = 0 if operation == "barrier" else max(_ELEMENT, round(volume / calls / _ELEMENT) * _ELEMENT)
        cases.append(Case(Ranks(count, -(-count // nodes)), operation, size, low, max(2 * low - 1, 0)))
    if not cases:
        raise OmnesError(f"nothing to tune: the profile has none of {', '.join(operations)} on several ranks")
    return cases


def _composed(case: Case) -> list[str]:
    """For ranks on several nodes, what the compiled-in rules compose: all that could be composed is too much."""
    if case.ranks.nodes == 1:
        return []
    uses = {rule["use"]: None for rule in _core.rules(tables.OFF) if rule["operation"] == case.operation}
    return [use for use in uses if re.match("hierarchical|lanes", use)]


def candidates(case: Case, machine: MachineCosts, most: int, host: bool) -> list[str]:
    """The present choice, the MPI's own where calls may be left to it, and up to so many others that the model holds
    for the fastest at this size or next to it.

    What costs the same to the last digit at all sizes is the same schedule under another name, as on two ranks all
    trees are.
    """
    default = case.default(host)
    named = dict.fromkeys([default, *_core.candidates(case.operation, case.bytes), *_composed(case)])
    names = [name for name in named if name != tables.HOST]
    sizes = sorted({case.bytes // 2, case.bytes, case.bytes * 2})
    costs, _ = prediction.costs(case.operation, names, case.ranks, sizes, machine)
    fastest = [min(at) for at in zip(*costs.values())]
    loss = {name: min(cost / best for cost, best in zip(costs[name], fastest)) for name in costs}
    chosen = list(dict.fromkeys([default, *[tables.HOST] * host]))
    wanted, seen = len(chosen) + most, {tuple(costs.get(default, ()))}
    for name in sorted(loss, key=loss.__getitem__):
        if len(chosen) == wanted:
            break
        if tuple(costs[name]) not in seen:
            chosen.append(name)
            seen.add(tuple(costs[name]))
    return chosen
