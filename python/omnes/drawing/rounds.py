"""The messages of an operation and their rounds: the longest path of messages that must come before.

How: the ops of all ranks form one graph: an op follows its dependencies, and a receive follows the send it matches.
Messages of one channel (an ordered pair of ranks, or one rank's publishes) match in order. An op's depth is the
number of messages on the longest path that leads to it, so a message travels in round depth(send) + 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from omnes import _core
from omnes.errors import OmnesError


@dataclass(frozen=True)
class Message:
    source: int
    target: int
    round: int  # from 1
    sent: str  # blocks as written by the sender, such as recv[0..2]
    placed: str  # where the receiver puts them
    reduced: bool  # combined with what the receiver has
    published: bool
    send_op: int  # index of the op in the sender's schedule
    recv_op: int


@dataclass
class Drawing:
    operation: str
    algorithm: str
    p: int
    root: int | None  # None where the operation has none
    pieces: int
    messages: list[Message] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        return max((message.round for message in self.messages), default=0)

    @property
    def title(self) -> str:
        root = "" if self.root is None else f", root {self.root}"
        return f"{self.operation}/{self.algorithm}, {self.p} ranks{root}"

    @property
    def summary(self) -> str:
        sends = len({(m.source, m.send_op) for m in self.messages})
        parts = [_count(self.rounds, "round"), _count(len(self.messages), "message")]
        if sends != len(self.messages):
            parts.append(f"from {_count(sends, 'send')}")
        if self.pieces > 1:
            parts.append(f"{self.pieces} blocks per part")
        return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def draw(
    algorithm: dict[str, Any], p: int, root: int | None, radix: int, segments: int, nodes: Sequence[int] = ()
) -> Drawing:
    """The messages of all ranks, by round, then by sender."""
    operation, name = algorithm["operation"], algorithm["name"]
    how: dict[str, Any] = {"root": root or 0, "radix": radix, "segments": segments, "nodes": list(nodes)}
    schedules = [_core.schedule_ops(operation, name, p, rank, **how) for rank in range(p)]
    drawing = Drawing(operation, name, p, root, _core.pieces(operation, name, p, **how))
    depths = [[0] * len(ops) for ops in schedules]
    matches = _match(schedules)
    for rank, index in _in_order(schedules, matches):
        op = schedules[rank][index]
        depth = max((depths[rank][dep] for dep in op["deps"]), default=0)
        if op["kind"] in ("recv", "recv_reduce"):
            source, send_index = matches[rank, index]
            send = schedules[source][send_index]
            depth = max(depth, depths[source][send_index] + 1)
            drawing.messages.append(
                Message(
                    source,
                    rank,
                    depths[source][send_index] + 1,
                    blocks(send["a"]),
                    blocks(op["dst"]),
                    op["kind"] == "recv_reduce",
                    send["published"],
                    send_index,
                    index,
                )
            )
        depths[rank][index] = depth
    drawing.messages.sort(key=lambda m: (m.round, m.source, m.send_op, m.target))
    return drawing


def _match(schedules: list[list[dict[str, Any]]]) -> dict[tuple[int, int], tuple[int, int]]:
    """For each receive (rank, op) the send (rank, op) that it matches."""
    pair: dict[tuple[int, int], list[int]] = defaultdict(list)
    publishes: dict[int, list[int]] = defaultdict(list)
    for rank, ops in enumerate(schedules):
        for index, op in enumerate(ops):
            if op["kind"] == "send" and op["published"]:
                publishes[rank].append(index)
            elif op["kind"] == "send":
                for target in op["peers"]:
                    pair[rank, target].append(index)
    matches = {}
    taken: dict[tuple[int, int, bool], int] = defaultdict(int)
    for rank, ops in enumerate(schedules):
        for index, op in enumerate(ops):
            if op["kind"] not in ("recv", "recv_reduce"):
                continue
            source = op["peers"][0]
            channel = publishes[source] if op["published"] else pair[source, rank]
            place = taken[source, rank, op["published"]]
            if place >= len(channel):
                raise OmnesError(f"rank {rank}, op {index}: no send of rank {source} matches this receive")
            taken[source, rank, op["published"]] += 1
            matches[rank, index] = (source, channel[place])
    return matches


def _in_order(
    schedules: list[list[dict[str, Any]]], matches: dict[tuple[int, int], tuple[int, int]]
) -> Iterable[tuple[int, int]]:
    """All (rank, op) so that dependencies come first, and a send before its receives."""
    graph: TopologicalSorter[tuple[int, int]] = TopologicalSorter()
    for rank, ops in enumerate(schedules):
        for index, op in enumerate(ops):
            graph.add((rank, index), *((rank, dep) for dep in op["deps"]))
            if (rank, index) in matches:
                graph.add((rank, index), matches[rank, index])
    try:
        return list(graph.static_order())
    except CycleError:
        raise OmnesError("the schedules wait for each other in a circle: omnes verify shows where") from None


def blocks(run: dict[str, Any] | None) -> str:
    """'recv[3]' or 'recv[3..5]'; empty for a message without data."""
    if run is None or run["count"] == 0:
        return ""
    last = run["first"] + run["count"] - 1
    return f"{run['buffer']}[{run['first']}]" if run["count"] == 1 else f"{run['buffer']}[{run['first']}..{last}]"
