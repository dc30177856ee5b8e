"""Of the time in collectives, what is waiting for late ranks: from when each rank came to the same calls.

Ranks keep when a sample of their blocking calls began and ended, of each kind (operation, size class) on each
communicator; all members keep the same calls (src/runtime/sample.hpp). A rank waits in a call until the last of those
that it needs has come, or until it leaves: of a broadcast or scatter it needs the root, of a scan the ranks before it,
of all others everybody. Neighborhoods are left out, as nobody knows whose neighbors are late. What the sample says of a
kind of calls is taken for all of them.

Ranks of one node have one clock. The clocks of nodes are set by the calls themselves: nobody leaves a call in which
each needs all before the last has come. So each call bounds how much two clocks differ, from both sides; the quickest
ones to within what a message takes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnes.traces.members import parse_members

BINS = 100  # of a timeline
_BY_ROOT = ("bcast", "scatter", "scatterv")
_BY_EARLIER = ("scan", "exscan")
_ALL_NEED_ALL = ("barrier", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw") + (
    "reduce_scatter",
    "reduce_scatter_block",
)

Key = tuple[str, str, int]  # members, operation, bytes


@dataclass
class _Kind:
    """The calls of one kind on one communicator, by member; times in ns of each rank's own clock."""

    key: Key
    ranks: list[int]  # members of which there is a file; all of them, or the kind is left out
    timed: list[dict[int, list[int]]]  # by member: number of the call -> [begin, ns, root, site]
    calls: list[int]

    def common(self) -> list[int]:
        return sorted(set.intersection(*(set(one) for one in self.timed)))


@dataclass
class Found:
    """Seconds are of the timed calls that all members have kept, each taken as often as it stands for."""

    waiting: dict[int, dict[Key, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    spent: dict[int, dict[Key, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    late: dict[int, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))  # calls, others wait
    sites: dict[tuple[int, int], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0, 0.0]))
    timeline: dict[str, Any] = field(default_factory=dict)
    clocks: float = 0.0  # seconds by which nodes' clocks may be set wrong

    def share(self, rank: int, key: Key) -> float | None:
        """Of the time of such calls, the part that is waiting; None: not known."""
        spent = self.spent[rank].get(key, 0.0)
        return self.waiting[rank][key] / spent if spent > 0 else None


def of_ranks(files: Sequence[Mapping[str, Any]]) -> Found | None:
    """None where no rank says when its calls were."""
    by_rank = {one["rank"]: one for one in files if "begun" in one}
    if not by_rank:
        return None
    kinds = list(_kinds(by_rank))
    found = Found()
    offset = _clocks(by_rank, kinds, found)
    begun = min(one["begun"] + offset[rank] for rank, one in by_rank.items())
    until = max(one["begun"] + offset[rank] + one["seconds"] * 1e9 for rank, one in by_rank.items())
    width = max(1.0, (until - begun) / BINS)
    bins = {what: {rank: [0.0] * BINS for rank in by_rank} for what in ("waiting", "moving")}
    for kind in kinds:
        _attribute(kind, [offset[rank] for rank in kind.ranks], found, bins, begun, width)
    found.timeline = {
        "seconds": (until - begun) * 1e-9,
        "ranks": sorted(by_rank),
        **{
            what: [[round(min(1.0, value / width), 3) for value in rows[rank]] for rank in sorted(by_rank)]
            for what, rows in bins.items()
        },
    }
    return found


def _kinds(by_rank: Mapping[int, Mapping[str, Any]]) -> Iterator[_Kind]:
    found: dict[tuple[str, str, str, int], dict[int, tuple[dict[int, list[int]], int]]] = defaultdict(dict)
    for rank, one in by_rank.items():
        for communicator in one.get("timed", []):
            members = one["groups"][communicator["group"]]
            for kind in communicator["kinds"]:
                key = (communicator["communicator"], members, kind["operation"], kind["bytes"])
                begun = one["begun"]
                calls = {number: [begun + begin, ns, root, site] for number, begin, ns, root, site in kind["timed"]}
                found[key][rank] = calls, kind["calls"]
    for (_, members, operation, size), by_member in found.items():
        ranks = parse_members(members)
        if all(rank in by_member for rank in ranks):
            of_each = [by_member[rank] for rank in ranks]
            timed, made = [timed for timed, _ in of_each], [calls for _, calls in of_each]
            yield _Kind((members, operation, size), ranks, timed, made)


def _attribute(
    kind: _Kind,
    offsets: Sequence[int],
    found: Found,
    bins: Mapping[str, Mapping[int, list[float]]],
    begun: float,
    width: float,
) -> None:
    numbers = kind.common()
    if not numbers:
        return
    for number in numbers:
        calls = [one[number] for one in kind.timed]
        begins = [call[0] + offset for call, offset in zip(calls, offsets)]
        ends = [begin + call[1] for begin, call in zip(begins, calls)]
        waits, latest = _waits(kind.key[1], begins, ends, calls[0][2])
        weights = [made / len(numbers) for made in kind.calls]
        if latest is not None:
            others = sum(wait * weight for wait, weight in zip(waits, weights))
            found.late[kind.ranks[latest]][0] += weights[latest]
            found.late[kind.ranks[latest]][1] += others * 1e-9
        for at, rank in enumerate(kind.ranks):
            spent, waited, weight = ends[at] - begins[at], waits[at], weights[at]
            found.waiting[rank][kind.key] += waited * weight * 1e-9
            found.spent[rank][kind.key] += spent * weight * 1e-9
            if calls[at][3]:
                of_site = found.sites[rank, calls[at][3]]
                for i, more in enumerate((1.0, spent * 1e-9, waited * 1e-9)):
                    of_site[i] += more * weight
            _spread(bins["waiting"][rank], begins[at] - begun, waited, weight, width)
            _spread(bins["moving"][rank], begins[at] + waited - begun, spent - waited, weight, width)


def _waits(operation: str, begins: Sequence[float], ends: Sequence[float], root: int) -> tuple[list[float], int | None]:
    """Each member's ns of waiting, and which one the others wait for; None: nobody knows, or there is but one."""
    if operation.startswith("neighbor_") or len(begins) < 2:
        return [0.0] * len(begins), None
    if operation in _BY_ROOT:
        until, latest = [begins[root]] * len(begins), root
    elif operation in _BY_EARLIER:
        until = [max(begins[: i + 1]) for i in range(len(begins))]
        latest = max(range(len(begins)), key=begins.__getitem__)
    else:
        latest = max(range(len(begins)), key=begins.__getitem__)
        until = [begins[latest]] * len(begins)
    return [max(0.0, min(come, end) - begin) for come, begin, end in zip(until, begins, ends)], latest


def _spread(row: list[float], begin: float, length: float, weight: float, width: float) -> None:
    """Adds a stretch of time to the bins that it covers."""
    at, left = max(0.0, begin), length
    while left > 0:
        i = min(len(row) - 1, int(at / width))
        part = left if i == len(row) - 1 else min(left, (i + 1) * width - at)
        row[i] += max(part, 0.0) * weight
        left -= max(part, 1e-3)
        at += max(part, 1e-3)


def _clocks(by_rank: Mapping[int, Mapping[str, Any]], kinds: Sequence[_Kind], found: Found) -> dict[int, int]:
    """What to add to each rank's clock, in ns, so that all have that of the first rank's node."""
    node = {rank: one.get("node", 0) for rank, one in by_rank.items()}
    low: dict[tuple[int, int], float] = defaultdict(lambda: -math.inf)  # what to add to the second's to get the first's
    high: dict[tuple[int, int], float] = defaultdict(lambda: math.inf)
    for kind in kinds:
        nodes = {node[rank] for rank in kind.ranks}
        if len(nodes) < 2 or kind.key[1] not in _ALL_NEED_ALL:
            continue
        for number in kind.common():
            first_end: dict[int, float] = defaultdict(lambda: math.inf)
            last_begin: dict[int, float] = defaultdict(lambda: -math.inf)
            for rank, timed in zip(kind.ranks, kind.timed):
                begin, ns = timed[number][:2]
                first_end[node[rank]] = min(first_end[node[rank]], begin + ns)
                last_begin[node[rank]] = max(last_begin[node[rank]], begin)
            for one in nodes:
                for other in nodes - {one}:
                    high[one, other] = min(high[one, other], first_end[one] - last_begin[other])
                    low[one, other] = max(low[one, other], last_begin[one] - first_end[other])
    start = node[min(by_rank)]
    known = {start: 0.0}
    open_ones = [start]
    while open_ones:
        one = open_ones.pop()
        for other in set(node.values()) - set(known):
            if math.isfinite(low[one, other]) and math.isfinite(high[one, other]):
                known[other] = known[one] + (low[one, other] + high[one, other]) / 2
                found.clocks = max(found.clocks, abs(high[one, other] - low[one, other]) / 2 * 1e-9)
                open_ones.append(other)
    return {rank: round(known.get(node[rank], 0.0)) for rank in by_rank}
