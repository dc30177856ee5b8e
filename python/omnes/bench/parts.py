"""The operations and how much they move: the parts that a rank sends and receives, and the bytes of its buffers."""

from __future__ import annotations

from typing import Any

from omnes.bench import variety

_ALL, _NEAR = "one for each rank", "one for each neighbor in a ring"
_NEIGHBORS = 2

# What the busiest rank sends and receives.
PARTS: dict[str, tuple[Any, Any]] = {
    "barrier": (0, 0),
    "bcast": (1, 1),
    "reduce": (1, 1),
    "allreduce": (1, 1),
    "gather": (1, _ALL),
    "gatherv": (1, _ALL),
    "scatter": (_ALL, 1),
    "scatterv": (_ALL, 1),
    "allgather": (1, _ALL),
    "allgatherv": (1, _ALL),
    "alltoall": (_ALL, _ALL),
    "alltoallv": (_ALL, _ALL),
    "alltoallw": (_ALL, _ALL),
    "reduce_scatter_block": (_ALL, 1),
    "reduce_scatter": (_ALL, 1),
    "scan": (1, 1),
    "exscan": (1, 1),
    "neighbor_allgather": (1, _NEAR),
    "neighbor_allgatherv": (1, _NEAR),
    "neighbor_alltoall": (_NEAR, _NEAR),
    "neighbor_alltoallv": (_NEAR, _NEAR),
    "neighbor_alltoallw": (_NEAR, _NEAR),
}

SIZELESS = ("barrier", *variety.OPERATIONS)
_NO_PARTS = (0, 0)


def parts(operation: str, ranks: int) -> tuple[int, int]:
    """What the busiest rank sends and receives, as numbers."""
    counts = {_ALL: ranks, _NEAR: _NEIGHBORS}
    sends, receives = PARTS.get(operation, _NO_PARTS)
    return counts.get(sends, sends), counts.get(receives, receives)


def buffer_bytes(operation: str, ranks: int, bytes_of_part: int) -> int:
    """Of both buffers of the busiest rank."""
    return sum(parts(operation, ranks)) * bytes_of_part
