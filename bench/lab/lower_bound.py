"""What no algorithm can beat on a simulated machine: the longer one of two times.

Rounds. From one rank all others have to be told, or one by all, which takes as long the other way round. Every rank
that knows begins a message each `overhead`; `2 * overhead + latency` later one more host knows, by the least latency
between hosts, and one more rank, by the latency of memory; on each host at most its ranks. A message counts as both, so
no schedule is faster. Where a rank's data reach SYNCHRONOUS bytes, a message may cost no overhead: one latency remains.
Cuts. What has to get into a set of hosts, or out of it, over the bandwidth of all links on its border in one direction;
and the least latency. The sets are each host, and groups that the machine's links suggest. Messages within a host
cross none: they do not slow each other down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

SYNCHRONOUS = 65536  # smpi/send-is-detached-thresh: above it, SMPI charges a sender nothing
_TICK = 1e-7  # seconds: all latencies and overheads are multiples


@dataclass(frozen=True)
class Links:
    """Cuts: sets of hosts, and how many links there are on the border of each."""

    latency: float  # the least between two hosts
    memory_latency: float
    overhead: float
    bandwidth: float
    cuts: Sequence[tuple[frozenset[int], int]] = field(default_factory=list)


def seconds(links: Links, host: Sequence[int], operation: str, size: int) -> float:
    """The bound of one call, by the host of each rank."""
    p = len(host)
    longest = size * (p if operation in ("gather", "scatter", "allgather", "alltoall", "reduce_scatter") else 1)
    bounds = [_rounds(links, host, 0 if longest >= SYNCHRONOUS else links.overhead)]
    for inside, count in links.cuts:
        ranks = sum(h in inside for h in host)
        if 0 < ranks < p:
            parts = max(_crossing(operation, ranks, p, host[0] in inside))
            bounds.append(links.latency + parts * size / (count * links.bandwidth))
    return max(bounds)


def _crossing(operation: str, s: int, p: int, root_inside: bool) -> tuple[int, int]:
    """Parts that have to get into a set of s ranks, and out of it. The root is rank 0."""
    away = (0, 1) if root_inside else (1, 0)
    others = (0, p - s) if root_inside else (s, 0)  # a part for, or of, each rank on the other side
    return {
        "barrier": (0, 0), "bcast": away, "reduce": away[::-1], "allreduce": (1, 1), "scatter": others,
        "gather": others[::-1], "allgather": (p - s, s), "alltoall": (s * (p - s),) * 2, "reduce_scatter": (s, p - s),
    }[operation]  # fmt: skip


def _rounds(links: Links, host: Sequence[int], overhead: float) -> float:
    p, hosts = len(host), len(set(host))
    per_host = max(host.count(h) for h in set(host))
    if overhead == 0 or p == 1:
        return links.latency if hosts > 1 else links.memory_latency
    gap = round(overhead / _TICK)
    near, far = (2 * gap + round(latency / _TICK) for latency in (links.memory_latency, links.latency))
    begun: list[int] = []  # messages so far, by tick
    told: list[int] = []  # ranks that know anew
    ranks = 0
    for tick in range(far * p):
        before = begun[tick - far] if tick >= far else 0
        knowing = min(hosts, 1 + before)
        now = min(knowing * per_host, 1 + (begun[tick - near] if tick >= near else 0))
        if knowing == hosts and now >= p:
            return tick * _TICK
        told.append(now - ranks)
        ranks = now
        begun.append((begun[-1] if begun else 0) + sum(told[tick::-gap]))
    return math.inf
