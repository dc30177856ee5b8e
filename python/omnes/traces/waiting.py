"""Of the time in collectives, what is waiting for late ranks: from when each rank came to the same calls.

Ranks keep when a sample of their blocking calls began and ended, of each kind (operation, size class) on each
communicator; all members keep the same calls (src/runtime/sample.hpp). A rank waits in a call until the last of those
that it needs has come, or until it leaves: of a broadcast or scatter it needs the root, of a scan the ranks before it,
of all others everybody. Neighborhoods are left out, as nobody knows whose neighbors are late.

The sample is taken for all calls of a kind, of which the time is known. A few waits may be most of it, of which the
sample has too few or too many; but what moves data takes about as long each time. So moving is what the sample says,
and waiting is the rest.

Ranks of one node have one clock. The clocks of nodes are set by the calls themselves: nobody leaves a call before those
whom it needs have come. So each call bounds how much two clocks differ, from one side or both; the quickest ones to
within what a message takes. Of calls in which parts may be empty it is only likely that all are needed: they count
where no others do.
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
_TO_ROOT = ("gather", "gatherv", "reduce")
_BY_EARLIER = ("scan", "exscan")
_ALL_NEED_ALL = ("barrier", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw") + (
    "reduce_scatter",
    "reduce_scatter_block",
)
_PARTS_DIFFER = ("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter")

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

    def all_take_part(self) -> bool:
        """Whether no rank's part can be empty."""
        _, operation, size = self.key
        return operation == "barrier" or (size > 0 and operation not in _PARTS_DIFFER)

    def weights(self) -> list[float]:
        """By member: how many calls a timed one stands for."""
        kept = max(len(self.common()), 1)
        return [made / kept for made in self.calls]


@dataclass
class Found:
    """Of the timed calls that all members have kept; they stand for the time of all."""

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
    calls_of = [(kind, list(_calls(kind, offset))) for kind in kinds]
    stretch = _stretch(calls_of, by_rank)
    for kind, calls in calls_of:
        _attribute(kind, calls, stretch, found, bins, begun, width)
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


@dataclass
class _Call:
    """By member, in ns of the first rank's clock."""

    begins: Sequence[float]
    ends: Sequence[float]
    waits: list[float]
    latest: int | None
    sites: list[int]

    def moves(self, at: int) -> float:
        return self.ends[at] - self.begins[at] - self.waits[at]


def _calls(kind: _Kind, offset: Mapping[int, int]) -> Iterator[_Call]:
    for number in kind.common():
        calls = [one[number] for one in kind.timed]
        begins = [call[0] + offset[rank] for call, rank in zip(calls, kind.ranks)]
        ends = [begin + call[1] for begin, call in zip(begins, calls)]
        waits, latest = _waits(kind.key[1], begins, ends, calls[0][2])
        yield _Call(begins, ends, waits, latest, [call[3] for call in calls])


Stretch = dict[tuple[int, Key], tuple[float, float]]  # what waiting and moving in timed calls stand for


def _stretch(calls_of: Sequence[tuple[_Kind, Sequence[_Call]]], by_rank: Mapping[int, Mapping[str, Any]]) -> Stretch:
    """Where several communicators have the same members, for all of them together."""
    known: dict[tuple[int, Key], float] = defaultdict(float)
    for rank, one in by_rank.items():
        for entry in (*one["entries"], *one["passed"]):
            if entry["form"] == "blocking" and entry.get("group", -1) >= 0:
                key = (one["groups"][entry["group"]], entry["operation"], entry["bytes"])
                known[rank, key] += entry["seconds"] * 1e9
    sums: dict[tuple[int, Key], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for kind, calls in calls_of:
        weights = kind.weights()
        for call in calls:
            for at, rank in enumerate(kind.ranks):
                of = sums[rank, kind.key]
                of[0] += call.waits[at] * weights[at]
                of[1] += call.moves(at) * weights[at]
    found: Stretch = {}
    for of_rank, (waits, moves) in sums.items():
        seconds = known.get(of_rank, waits + moves)
        if waits > 0 and seconds > moves:
            found[of_rank] = (seconds - moves) / waits, 1.0
        else:
            alike = seconds / (waits + moves) if waits + moves > 0 else 1.0
            found[of_rank] = alike, alike
    return found


def _attribute(
    kind: _Kind,
    calls: Sequence[_Call],
    stretch: Stretch,
    found: Found,
    bins: Mapping[str, Mapping[int, list[float]]],
    begun: float,
    width: float,
) -> None:
    weights = kind.weights()
    for call in calls:
        if call.latest is not None:
            found.late[kind.ranks[call.latest]][0] += weights[call.latest]
        for at, rank in enumerate(kind.ranks):
            of_waits, of_moves = (weights[at] * part for part in stretch[rank, kind.key])
            waited, moved = call.waits[at] * of_waits * 1e-9, call.moves(at) * of_moves * 1e-9
            found.waiting[rank][kind.key] += waited
            found.spent[rank][kind.key] += waited + moved
            if call.latest is not None:
                found.late[kind.ranks[call.latest]][1] += waited
            if call.sites[at]:
                for i, more in enumerate((weights[at], waited + moved, waited)):
                    found.sites[rank, call.sites[at]][i] += more
            come = call.begins[at] + call.waits[at] - begun
            _spread(bins["waiting"][rank], call.begins[at] - begun, call.waits[at], of_waits, width)
            _spread(bins["moving"][rank], come, call.moves(at), of_moves, width)


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
    between_nodes = [kind for kind in kinds if len({node[rank] for rank in kind.ranks}) > 1]
    most: dict[tuple[int, int], float] = defaultdict(lambda: math.inf)  # to be added to the second's, at most
    start = node[min(by_rank)]
    known = {start: 0.0}
    for certain in (True, False):
        for kind in between_nodes:
            if kind.all_take_part() == certain:
                _bound(kind, node, most)
        open_ones = list(known)
        while open_ones:
            one = open_ones.pop()
            for other in set(node.values()) - set(known):
                low, high = -most[other, one], most[one, other]
                if math.isfinite(low) and math.isfinite(high):
                    known[other] = known[one] + (low + high) / 2
                    found.clocks = max(found.clocks, abs(high - low) / 2 * 1e-9)
                    open_ones.append(other)
    return {rank: round(known.get(node[rank], 0.0)) for rank in by_rank}


def _bound(kind: _Kind, node: Mapping[int, int], most: dict[tuple[int, int], float]) -> None:
    """By how much one node's clock is behind another's, at most: who needs others leaves after they have come."""
    operation = kind.key[1]
    if operation not in _BY_ROOT + _TO_ROOT + _ALL_NEED_ALL:
        return
    for number in kind.common():
        calls = [one[number] for one in kind.timed]
        root = [calls[0][2]]
        leaving = root if operation in _TO_ROOT else range(len(calls))
        needed = root if operation in _BY_ROOT else range(len(calls))
        first_end: dict[int, float] = defaultdict(lambda: math.inf)
        last_begin: dict[int, float] = defaultdict(lambda: -math.inf)
        for at in leaving:
            one = node[kind.ranks[at]]
            first_end[one] = min(first_end[one], calls[at][0] + calls[at][1])
        for at in needed:
            one = node[kind.ranks[at]]
            last_begin[one] = max(last_begin[one], calls[at][0])
        for one, end in first_end.items():
            for other, begin in last_begin.items():
                if one != other:
                    most[one, other] = min(most[one, other], end - begin)
