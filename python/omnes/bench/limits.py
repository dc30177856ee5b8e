"""The physical limits of this machine, and how fast they let a cell be.

The limit of a cell is what cannot be left out: one rank learns of another's data, and each rank that receives writes
what it receives. So it is one hand-over of a cache line, and one copy of what the busiest rank receives, at the speed
of the level of memory that holds its buffers. Ranks that share a core copy one after another. Where, besides, each
waits for data of all, every rank has to get the core in every call: then, instead of the hand-over, it is what it takes
as many processes to learn that all have come. (In other operations ranks may be calls ahead of each other.)
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator, Mapping

from omnes import programs
from omnes.bench.parts import buffer_bytes, parts
from omnes.bench.timing import Cell
from omnes.errors import OmnesError
from omnes.launching import cpus
from omnes.terminal.units import format_seconds, parse_bytes

Limits = Mapping[str, float]

_NAMES = {
    "handover": "a cache line from one core to the next",
    "handover_far": "a cache line from the first core to the last",
    "yield": "yield to another process on the core",
    "meet": "as many processes as ranks wait for each other, yielding",
    "futex": "wake a process on another core",
    "futex_same_core": "wake a process on the same core",
    "copy_l1": "copy within L1",
    "copy_l2": "copy within L2",
    "copy_l3": "copy within L3",
    "copy_memory": "copy in memory",
    "read_fixed": "process_vm_readv of 8 bytes",
    "read_copy": "process_vm_readv, each byte",
}
_EACH_WAITS_FOR_ALL = (
    "barrier",
    "allreduce",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce_scatter",
    "reduce_scatter_block",
)
_RATES = tuple(name for name in _NAMES if "copy" in name)
_ONLY_ROOT_RECEIVES = ("reduce", "gather", "gatherv")
_SECONDS = 60.0  # a second when nothing else runs


def measure(ranks: int) -> Limits:
    """Seconds, and bytes per second, on the first core, the one beside it and the last one; "meet" is for that many
    ranks on all of them."""
    ours = cpus.one_of_each_core()
    words = [
        str(programs.build("limits", None)),
        *(str(cpu) for cpu in (ours[0], ours[min(1, len(ours) - 1)], ours[-1])),
        str(ranks),
    ]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
        return json.loads(answer.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as fault:
        raise OmnesError(f"cannot measure this machine's limits: {str(fault).splitlines()[0]}") from None


def rows(limits: Limits) -> Iterator[tuple[str, str]]:
    """What each limit is called, and its value."""
    for name, words in _NAMES.items():
        value = limits.get(name)
        if value is None:  # of an earlier campaign
            continue
        if not value:
            yield words, "not allowed"
        else:
            yield words, f"{value / 1e9:.3g} GB/s" if name in _RATES else format_seconds(value)


def least(cell: Cell, ranks: int, limits: Limits, caches: Mapping[str, str], cores: int) -> float:
    """Seconds that the cell takes at least."""
    _, received = parts(cell.operation, ranks)
    from_others = received if received < ranks else ranks - 1
    copied = from_others * cell.bytes / limits[_level(cell, ranks, caches)]
    in_turn = math.ceil(ranks / cores)
    copies = 1 if cell.operation in _ONLY_ROOT_RECEIVES else in_turn
    crowded = in_turn > 1 and cell.operation in _EACH_WAITS_FOR_ALL
    return limits["meet" if crowded and "meet" in limits else "handover"] + copies * copied


def _level(cell: Cell, ranks: int, caches: Mapping[str, str]) -> str:
    """The first level of memory that holds the buffers of the busiest rank."""
    used = buffer_bytes(cell.operation, ranks, cell.bytes)
    if cell.buffers == "warm":
        for level in ("L1", "L2", "L3"):
            if level in caches and used <= parse_bytes(caches[level]):
                return f"copy_{level.lower()}"
    return "copy_memory"
