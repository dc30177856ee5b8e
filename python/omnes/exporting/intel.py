"""Settings for Intel MPI: I_MPI_ADJUST_<OPERATION>, a list of preset:sizes@ranks, as lines for a shell.

Numbers and the meaning of sizes are those of Intel's Developer Reference, "I_MPI_ADJUST Family Environment Variables".
It does not say which presets keep the order of operands, so those that may not wait for the promise that all commute.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnes.algorithms.selection import Decisions
from omnes.exporting.counterparts import Notes, counterpart, for_shell, rules


@dataclass(frozen=True)
class Preset:
    number: int
    reorders: bool = False


_WITHOUT_SIZE = ("barrier", "gatherv", "scatterv", "alltoallv", "alltoallw")
_TOTAL = ("reduce_scatter",)
_MAX_BYTES = (1 << 31) - 1

COUNTERPARTS: dict[str, dict[str, Preset]] = {
    "barrier": {"dissemination:k=2": Preset(1), "recursive_doubling": Preset(2)},
    "bcast": {
        "knomial:k=2": Preset(1),
        "scatter_recursive_doubling": Preset(2),
        "scatter_ring": Preset(3),
        "knomial": Preset(8),
    },
    "reduce": {
        "knomial:k=2": Preset(2, reorders=True),
        "rabenseifner": Preset(5, reorders=True),
        "knomial": Preset(7, reorders=True),
    },
    "allreduce": {
        "recursive_doubling": Preset(1),
        "rabenseifner": Preset(2, reorders=True),
        "knomial": Preset(3),
        "ring": Preset(8, reorders=True),
    },
    "gather": {"knomial:k=2": Preset(1)},
    "gatherv": {"linear": Preset(1)},
    "scatter": {"knomial:k=2": Preset(1)},
    "scatterv": {"linear": Preset(1)},
    "allgather": {"recursive_doubling": Preset(1), "bruck:k=2": Preset(2), "ring": Preset(3)},
    "allgatherv": {"recursive_doubling": Preset(1), "bruck:k=2": Preset(2), "ring": Preset(3)},
    "alltoall": {"bruck:k=2": Preset(1), "linear": Preset(2), "batched": Preset(2), "pairwise": Preset(3)},
    "alltoallv": {"linear": Preset(1), "batched": Preset(1)},
    "alltoallw": {"linear": Preset(1), "batched": Preset(1)},
    "reduce_scatter": {
        "recursive_halving": Preset(1, reorders=True),
        "pairwise": Preset(2, reorders=True),
        "recursive_doubling": Preset(3),
        "reduce_then_scatter": Preset(4),
    },
}


def render(decisions: Decisions, commuting: bool, notes: Notes) -> str:
    lines = []
    for operation in COUNTERPARTS:
        parts: list[str] = []
        for rule in rules(decisions, operation, _TOTAL, _WITHOUT_SIZE):
            found: Preset | None = counterpart(COUNTERPARTS, operation, rule.choice, "Intel MPI", notes)
            if found and found.reorders and not commuting:
                notes.left(operation, rule.choice, f"preset {found.number} may be only for what commutes")
            elif found:
                end = _MAX_BYTES if rule.end is None else rule.end - rule.unit
                parts.append(f"{found.number}:{rule.first}-{end}@{rule.low}-{rule.high}")
        if parts:
            lines.append(f"export I_MPI_ADJUST_{operation.upper()}='{';'.join(parts)}'")
    return for_shell(decisions, "", notes, lines)
