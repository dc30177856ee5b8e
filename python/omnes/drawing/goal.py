"""Schedules in GOAL, the text that LogGOPSim and ATLAHS simulate (Hoefler, Siebert, Lumsdaine 2009).

Each op becomes one vertex, a send to several ranks one for each. The n-th message from one rank to another has tag 2n,
or 2n + 1 where it is published, so that messages match as their order in the channels says. Copies and reductions take
no time: `calc 0`. A message without data has 1 byte, so that it is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from omnes import _core


def render(algorithm: dict[str, Any], p: int, root: int, radix: int, segments: int, part: int) -> str:
    """All ranks; `part`: bytes of one part."""
    arguments = algorithm["operation"], algorithm["name"], p
    pieces = _core.pieces(*arguments, root, radix, segments)
    lines = [f"num_ranks {p}"]
    for rank in range(p):
        ops = _core.schedule_ops(*arguments, rank, root, radix, segments)
        lines += ["", f"rank {rank} {{", *_vertices(ops, rank, pieces, part), "}"]
    return "\n".join(lines) + "\n"


def _vertices(ops: list[dict[str, Any]], rank: int, pieces: int, part: int) -> Iterator[str]:
    labels: list[list[str]] = []  # of each op
    passed: Counter[tuple[str, int, bool]] = Counter()  # messages to or from a rank
    number = 0
    for op in ops:
        labels.append([])
        sends = op["kind"] == "send"
        for peer in op["peers"] or [None]:
            number += 1
            labels[-1].append(f"l{number}")
            if peer is None:
                yield f"l{number}: calc 0"
                continue
            channel = ("to" if sends else "from", peer, op["published"])
            tag = 2 * passed[channel] + op["published"]
            passed[channel] += 1
            size = max(_bytes(op["a"] if sends else op["dst"], pieces, part), 1)
            yield f"l{number}: {'send' if sends else 'recv'} {size}b {channel[0]} {peer} tag {tag}"
        yield from (f"{own} requires {other}" for own in labels[-1] for dep in op["deps"] for other in labels[dep])


def _bytes(run: dict[str, Any] | None, pieces: int, part: int) -> int:
    """Of a run of blocks, all of the mean length of the pieces of a part: so both ends of a message say the same."""
    return -(-run["count"] * part // pieces) if run else 0
