"""Settings for UCC's layer over UCX: UCC_TL_UCP_TUNE, a list of operation:sizes:memory:[ranks]:@algorithm, for a shell.

Names are those of `ucc_info -A`; sizes end before their second number, and are of all parts together for allgather,
alltoall and gather (src/utils/ucc_coll_utils.c). UCC serves only MPI's own reduction operations, which commute.
"""

from __future__ import annotations

from omnes.algorithms.selection import Decisions
from omnes.exporting.counterparts import Notes, counterpart, for_shell, rules

_TOTAL = ("allgather", "alltoall", "gather")
_WITHOUT_SIZE = ("barrier", "gatherv", "scatterv", "alltoallv")
# What MPI and UCC call differently.
_NAMES = {"reduce_scatter": "reduce_scatterv", "reduce_scatter_block": "reduce_scatter"}

COUNTERPARTS: dict[str, dict[str, str]] = {
    "barrier": {"knomial": "knomial", "dissemination": "knomial"},
    "bcast": {
        "knomial": "knomial",
        "scatter_recursive_doubling": "sag_knomial",
        "scatter_ring": "sag_knomial",
        "double_tree": "dbt",
    },
    "reduce": {"knomial": "knomial", "rabenseifner": "srg_knomial", "double_tree": "dbt"},
    "allreduce": {
        "recursive_doubling": "knomial",
        "recursive_multiplying": "knomial",
        "rabenseifner": "sra_knomial",
        "ring": "ring",
        "double_tree": "dbt",
    },
    "gather": {"knomial": "knomial"},
    "gatherv": {"linear": "linear"},
    "scatterv": {"linear": "linear"},
    "allgather": {
        "recursive_doubling": "knomial",
        "recursive_multiplying": "knomial",
        "ring": "ring",
        "neighbor_exchange": "neighbor",
        "bruck:k=2": "bruck",
        "sparbit": "sparbit",
        "linear": "linear",
    },
    "allgatherv": {"recursive_doubling": "knomial", "ring": "ring"},
    "alltoall": {"pairwise": "pairwise", "bruck:k=2": "bruck"},
    "alltoallv": {"pairwise": "pairwise"},
    "reduce_scatter": {"ring": "ring"},
    "reduce_scatter_block": {"ring": "ring", "recursive_halving": "knomial"},
}


def render(decisions: Decisions, notes: Notes) -> str:
    tokens = []
    for operation in COUNTERPARTS:
        for rule in rules(decisions, operation, _TOTAL, _WITHOUT_SIZE):
            found: str | None = counterpart(COUNTERPARTS, operation, rule.choice, "UCC", notes)
            if found is not None:
                sizes = f"{rule.first}-{'inf' if rule.end is None else rule.end}"
                tokens.append(f"{_NAMES.get(operation, operation)}:{sizes}:host:[{rule.low}-{rule.high}]:@{found}")
    how = " (with Open MPI also OMPI_MCA_coll_ucc_enable=1 OMPI_MCA_coll_ucc_priority=100)"
    return for_shell(decisions, how, notes, [f"export UCC_TL_UCP_TUNE='{'#'.join(tokens)}'"])
