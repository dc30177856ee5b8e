"""Selections for MPICH: its own tree of tests, in JSON, with omnes' choices in front of the default ones.

How: MPICH wants a whole tree, for every operation and form, and stops where it meets a name it does not know. So the
tree starts from the one inside the library that is to read it, names that it lacks are left out, and what an algorithm
cannot do (a reduction that does not commute, ranks that are no power of two) goes to the default branch.

Sizes are tested as bytes of the message for bcast, reduce, allreduce and alltoall, of all parts together for allgather
and reduce_scatter, and not at all for the rest (src/mpi/coll/src/csel.c).
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass
from typing import Any

from omnes.algorithms.selection import Choice, Decisions, Span, ranges, steps
from omnes.errors import OmnesError
from omnes.exporting.counterparts import Notes, counterpart
from omnes.launching.mpi import Mpi

Tree = dict[str, Any]

_AVERAGE = ("bcast", "reduce", "allreduce", "alltoall")
_TOTAL = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")
_MAX_BYTES = (1 << 31) - 1  # a test's number is an int

# What an algorithm asks for: tests, of which each leads on to the next; all else goes to the default branch.
_POWER_OF_TWO = (("comm_size=pow2", "comm_size=any"),)
_COMMUTES = (("is_commutative=yes", "is_commutative=no"),)
_ENOUGH = (("is_op_built_in=yes", "is_op_built_in=no"), ("count=any", "count<pow2"))
_NOT_IN_PLACE = (("is_sendbuf_inplace=no", "is_sendbuf_inplace=yes"),)
_REGULAR = (("is_block_regular=yes", "is_block_regular=no"),)


@dataclass(frozen=True)
class Algorithm:
    name: str
    guards: tuple[tuple[str, str], ...] = ()
    parameters: tuple[str, ...] = ()  # with {k} and {segment}
    segmented: bool = False

    def leaf(self, choice: Choice) -> Tree:
        words = [word.format(k=choice.radix, segment=choice.segment) for word in self.parameters]
        return {f"algorithm={self.name}": {word: {} for word in words}}


def _tree(name: str, kind: str, radix: str = "{k}", segmented: bool = False) -> Algorithm:
    parameters = [f"tree_type={kind}", f"k={radix}", "is_non_blocking=1"]
    if segmented:
        parameters += ["chunk_size={segment}", "recv_pre_posted=0"]
    return Algorithm(f"MPIR_Bcast_intra_{name}", parameters=tuple(parameters), segmented=segmented)


COUNTERPARTS: dict[str, dict[str, Algorithm]] = {
    "barrier": {
        "dissemination": Algorithm("MPIR_Barrier_intra_k_dissemination", parameters=("k={k}",)),
        "recursive_doubling": Algorithm("MPIR_Barrier_intra_recexch", parameters=("k=2", "single_phase_recv=0")),
    },
    "bcast": {
        "knomial:k=2": Algorithm("MPIR_Bcast_intra_binomial"),
        "knomial": _tree("tree", "knomial_1"),
        "knomial:segment": _tree("pipelined_tree", "knomial_1", segmented=True),
        "kary": _tree("tree", "kary"),
        "kary:segment": _tree("pipelined_tree", "kary", segmented=True),
        "binary": _tree("tree", "kary", "2"),
        "binary:segment": _tree("pipelined_tree", "kary", "2", segmented=True),
        "chain": _tree("tree", "kary", "1"),
        "chain:segment": _tree("pipelined_tree", "kary", "1", segmented=True),
        "scatter_recursive_doubling": Algorithm("MPIR_Bcast_intra_scatter_recursive_doubling_allgather", _POWER_OF_TWO),
        "scatter_ring": Algorithm("MPIR_Bcast_intra_scatter_ring_allgather"),
    },
    "reduce": {
        "knomial:k=2": Algorithm("MPIR_Reduce_intra_binomial"),
        "rabenseifner": Algorithm("MPIR_Reduce_intra_reduce_scatter_gather", _ENOUGH),
    },
    "allreduce": {
        "recursive_doubling": Algorithm("MPIR_Allreduce_intra_recursive_doubling"),
        "rabenseifner": Algorithm("MPIR_Allreduce_intra_reduce_scatter_allgather", _ENOUGH),
        "ring": Algorithm("MPIR_Allreduce_intra_ring", _COMMUTES),
        "recursive_multiplying": Algorithm("MPIR_Allreduce_intra_recursive_multiplying", _COMMUTES, ("k={k}",)),
    },
    "gather": {"knomial:k=2": Algorithm("MPIR_Gather_intra_binomial")},
    "scatter": {"knomial:k=2": Algorithm("MPIR_Scatter_intra_binomial")},
    "gatherv": {"linear": Algorithm("MPIR_Gatherv_allcomm_linear")},
    "scatterv": {"linear": Algorithm("MPIR_Scatterv_allcomm_linear")},
    "allgather": {
        "bruck:k=2": Algorithm("MPIR_Allgather_intra_brucks"),
        "bruck": Algorithm("MPIR_Allgather_intra_k_brucks", parameters=("k={k}",)),
        "recursive_doubling": Algorithm("MPIR_Allgather_intra_recursive_doubling", _POWER_OF_TWO),
        "ring": Algorithm("MPIR_Allgather_intra_ring"),
    },
    "allgatherv": {
        "bruck:k=2": Algorithm("MPIR_Allgatherv_intra_brucks"),
        "recursive_doubling": Algorithm("MPIR_Allgatherv_intra_recursive_doubling", _POWER_OF_TWO),
        "ring": Algorithm("MPIR_Allgatherv_intra_ring"),
    },
    "alltoall": {
        "linear": Algorithm("MPIR_Alltoall_intra_scattered", _NOT_IN_PLACE),
        "batched": Algorithm("MPIR_Alltoall_intra_scattered", _NOT_IN_PLACE),
        "pairwise": Algorithm("MPIR_Alltoall_intra_pairwise", _NOT_IN_PLACE),
        "bruck:k=2": Algorithm("MPIR_Alltoall_intra_brucks", _NOT_IN_PLACE),
        "bruck": Algorithm("MPIR_Alltoall_intra_k_brucks", _NOT_IN_PLACE, ("k={k}",)),
    },
    "alltoallv": {
        "linear": Algorithm("MPIR_Alltoallv_intra_scattered", _NOT_IN_PLACE),
        "batched": Algorithm("MPIR_Alltoallv_intra_scattered", _NOT_IN_PLACE),
    },
    "alltoallw": {
        "linear": Algorithm("MPIR_Alltoallw_intra_scattered", _NOT_IN_PLACE),
        "batched": Algorithm("MPIR_Alltoallw_intra_scattered", _NOT_IN_PLACE),
    },
    "reduce_scatter": {
        "pairwise": Algorithm("MPIR_Reduce_scatter_intra_pairwise", _COMMUTES),
        "recursive_halving": Algorithm("MPIR_Reduce_scatter_intra_recursive_halving", _COMMUTES),
        "recursive_doubling": Algorithm("MPIR_Reduce_scatter_intra_recursive_doubling"),
        "butterfly": Algorithm("MPIR_Reduce_scatter_intra_noncommutative", _POWER_OF_TWO + _REGULAR),
    },
    "reduce_scatter_block": {
        "pairwise": Algorithm("MPIR_Reduce_scatter_block_intra_pairwise", _COMMUTES),
        "recursive_halving": Algorithm("MPIR_Reduce_scatter_block_intra_recursive_halving", _COMMUTES),
        "recursive_doubling": Algorithm("MPIR_Reduce_scatter_block_intra_recursive_doubling"),
        "butterfly": Algorithm("MPIR_Reduce_scatter_block_intra_noncommutative", _POWER_OF_TWO),
    },
    "scan": {"recursive_doubling": Algorithm("MPIR_Scan_intra_recursive_doubling")},
    "exscan": {"recursive_doubling": Algorithm("MPIR_Exscan_intra_recursive_doubling")},
}


@dataclass
class Library:
    """The MPICH that is to read the file: its default tree, and the names that it knows."""

    name: str
    tree: Tree
    names: set[str]


def library(of: Mpi) -> Library:
    for path in sorted(of.prefix.glob("lib*/**/libmpi*.so*")):
        content = path.read_bytes()
        for found in re.findall(rb'\{"collective=[^\0]*', content):
            if b'"algorithm=MPIR_Bcast_intra' in found and b'"collective=ibcast"' in found:
                names = re.findall(rb"algorithm=(MPIR_\w+)\0", content)
                return Library(of.name, json.loads(found), {name.decode() for name in names})
    raise OmnesError(f"no MPICH 4 or 5 with its table of selections in {of.prefix}; name one: --mpi PREFIX")


def render(decisions: Decisions, host: Library, notes: Notes) -> str:
    """MPICH's reader takes comments."""
    tree = copy.deepcopy(host.tree)
    for operation in COUNTERPARTS:
        default = tree[f"collective={operation}"]
        within = default.get("comm_type=intra", default)
        branches: Tree = {}
        for first, last, spans in ranges(decisions.of[operation], decisions.largest):
            several = operation in _TOTAL and len(spans) > 1
            for p in [high for _, high in steps(first, last)] if several else [last]:
                branches[f"comm_size<={p}"] = _by_size(operation, p, spans, within, host, notes)
        merged = _without_repetition(branches)
        if any(branch != within for branch in merged.values()):
            inter = {"comm_type=inter": default["comm_type=inter"]} if "comm_type=inter" in default else {}
            ours = {"comm_size<=1": within, **merged, "comm_size=any": within}
            tree[f"collective={operation}"] = {"comm_type=intra": ours, **(inter or {"comm_type=inter": default})}
    head = [
        f"Made by omnes export from {decisions.source}, for up to {decisions.largest} ranks, "
        f"{decisions.per_node} on a node,",
        f"and for {host.name}: another may lack an algorithm, and stop.",
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=THIS FILE MPIR_CVAR_DEVICE_COLLECTIVES=none",
        *notes.lines,
    ]
    return "/* " + "\n   ".join(head) + " */\n" + json.dumps(tree, indent=1) + "\n"


def _by_size(operation: str, p: int, spans: tuple[Span, ...], default: Tree, host: Library, notes: Notes) -> Tree:
    test, factor = ("total_msg_size", p) if operation in _TOTAL else ("avg_msg_size", 1)
    branches = [_branch(operation, span.choice, default, host, notes) for span in spans]
    if all(branch == branches[0] for branch in branches):
        return branches[0]
    if operation not in (*_AVERAGE, *_TOTAL):
        for span in spans:
            notes.left(operation, span.choice, "MPICH does not look at the size")
        return default
    result: Tree = {}
    for branch, following in zip(branches, spans[1:]):
        if (end := (following.first - 1) * factor) <= _MAX_BYTES:
            result[f"{test}<={end}"] = branch
    result[f"{test}=any"] = branches[-1]
    return result


def _branch(operation: str, choice: Choice, default: Tree, host: Library, notes: Notes) -> Tree:
    found: Algorithm | None = counterpart(COUNTERPARTS, operation, choice, "MPICH", notes)
    if found is None:
        return default
    if found.name not in host.names:
        notes.left(operation, choice, f"this MPICH has no {found.name}")
        return default
    if choice.segment and not found.segmented:
        notes.without_segments(operation, choice, found.name)
    branch = found.leaf(choice)
    for wanted, otherwise in reversed(found.guards):
        # A test for "any" fits always, so it comes last.
        pairs = [(wanted, branch), (otherwise, default)]
        branch = dict(sorted(pairs, key=lambda pair: pair[0].endswith("=any")))
    return branch


def _without_repetition(branches: Tree) -> Tree:
    """Of neighbours that are alike the last, which has the widest test."""
    kept: list[tuple[str, Tree]] = []
    for test, branch in branches.items():
        if kept and kept[-1][1] == branch:
            kept.pop()
        kept.append((test, branch))
    return dict(kept)
