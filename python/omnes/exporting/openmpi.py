"""Rules for Open MPI's coll/tuned: the classic file of numbers (4.1, 5), and the JSON file that 6 reads.

Numbers and names are those of `ompi_info --param coll tuned --level 9`. Sizes are of all parts together where an
operation has one for each rank (ompi/mca/coll/tuned/coll_tuned_decision_dynamic.c). Rule files say nothing of
reduction operations, so algorithms that change the order of operands wait for the promise that all commute.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnes.algorithms.selection import Decisions, Span, ranges, steps
from omnes.exporting.counterparts import Notes, counterpart


@dataclass(frozen=True)
class Algorithm:
    number: int
    name: str
    segmented: bool = False
    reorders: bool = False  # operands of a reduction, without a look at the operation


@dataclass(frozen=True)
class Row:
    """Starts at so many bytes; no algorithm: the host's own choice."""

    bytes: int
    algorithm: Algorithm | None
    segment: int
    why: str


Groups = list[tuple[int, tuple[Row, ...]]]  # by the first number of ranks
_DEFAULT = Algorithm(0, "ignore")

# The numbers of coll_tuned's collectives.
_IDS = {
    "allgather": 0,
    "allgatherv": 1,
    "allreduce": 2,
    "alltoall": 3,
    "alltoallv": 4,
    "barrier": 6,
    "bcast": 7,
    "exscan": 8,
    "gather": 9,
    "reduce": 11,
    "reduce_scatter": 12,
    "reduce_scatter_block": 13,
    "scan": 14,
    "scatter": 15,
}
_TOTAL = ("allgather", "alltoall", "gather", "scatter", "reduce_scatter", "reduce_scatter_block")
_WITHOUT_SIZE = ("alltoallv", "barrier")  # the rule for 0 bytes is for all

COUNTERPARTS: dict[str, dict[str, Algorithm]] = {
    "barrier": {
        "linear": Algorithm(1, "linear"),
        "ring": Algorithm(2, "double_ring"),
        "recursive_doubling": Algorithm(3, "recursive_doubling"),
        "dissemination:k=2": Algorithm(4, "bruck"),
        "knomial:k=2": Algorithm(6, "tree"),
    },
    "bcast": {
        "linear": Algorithm(1, "basic_linear"),
        "chain": Algorithm(3, "pipeline", segmented=True),
        "split_binary": Algorithm(4, "split_binary_tree", segmented=True),
        "binary": Algorithm(5, "binary_tree", segmented=True),
        "knomial:k=2": Algorithm(6, "binomial", segmented=True),
        "knomial:k=4": Algorithm(7, "knomial", segmented=True),  # coll_tuned_bcast_knomial_radix is 4
        "scatter_recursive_doubling": Algorithm(8, "scatter_allgather"),
        "scatter_ring": Algorithm(9, "scatter_allgather_ring"),
    },
    "reduce": {
        "linear": Algorithm(1, "linear"),
        "chain": Algorithm(3, "pipeline", segmented=True, reorders=True),
        "pipeline": Algorithm(3, "pipeline", segmented=True, reorders=True),
        "binary": Algorithm(6, "in-order_binary", segmented=True),
        "knomial:k=2": Algorithm(5, "binomial", segmented=True, reorders=True),
        "rabenseifner": Algorithm(7, "rabenseifner"),
    },
    "allreduce": {
        "linear": Algorithm(1, "basic_linear"),
        "knomial": Algorithm(2, "nonoverlapping"),
        "recursive_doubling": Algorithm(3, "recursive_doubling"),
        "ring": Algorithm(4, "ring", reorders=True),
        "ring:segment": Algorithm(5, "segmented_ring", segmented=True, reorders=True),
        "rabenseifner": Algorithm(6, "rabenseifner"),
    },
    "gather": {
        "linear": Algorithm(1, "basic_linear"),
        "knomial:k=2": Algorithm(2, "binomial"),
        "linear_sync": Algorithm(3, "linear_sync"),
    },
    "scatter": {"linear": Algorithm(1, "basic_linear"), "knomial:k=2": Algorithm(2, "binomial")},
    "allgather": {
        "gather_bcast": Algorithm(1, "linear"),
        "bruck:k=2": Algorithm(2, "bruck"),
        "recursive_doubling": Algorithm(3, "recursive_doubling"),
        "ring": Algorithm(4, "ring"),
        "neighbor_exchange": Algorithm(5, "neighbor"),
        "sparbit": Algorithm(7, "sparbit"),
    },
    "allgatherv": {
        "gather_bcast": Algorithm(1, "default"),
        "bruck:k=2": Algorithm(2, "bruck"),
        "ring": Algorithm(3, "ring"),
        "sparbit": Algorithm(6, "sparbit"),
    },
    "alltoall": {
        "linear": Algorithm(1, "linear"),
        "pairwise": Algorithm(2, "pairwise"),
        "bruck:k=2": Algorithm(3, "modified_bruck"),
        "batched": Algorithm(4, "linear_sync"),
    },
    "alltoallv": {"linear": Algorithm(1, "basic_linear"), "pairwise": Algorithm(2, "pairwise")},
    "reduce_scatter": {
        "reduce_then_scatter": Algorithm(1, "non-overlapping"),
        "recursive_halving": Algorithm(2, "recursive_halving", reorders=True),
        "ring": Algorithm(3, "ring", reorders=True),
        "butterfly": Algorithm(4, "butterfly"),
    },
    "reduce_scatter_block": {
        "reduce_then_scatter": Algorithm(1, "basic_linear"),
        "recursive_doubling": Algorithm(2, "recursive_doubling"),
        "recursive_halving": Algorithm(3, "recursive_halving", reorders=True),
        "butterfly": Algorithm(4, "butterfly"),
    },
    "scan": {"linear": Algorithm(1, "linear"), "recursive_doubling": Algorithm(2, "recursive_doubling")},
    "exscan": {"linear": Algorithm(1, "linear"), "recursive_doubling": Algorithm(2, "recursive_doubling")},
}


# With two ranks, what goes straight to each.
PAIRS = {
    "barrier": Algorithm(5, "two_proc"),
    "allgather": Algorithm(6, "two_proc"),
    "allgatherv": Algorithm(5, "two_proc"),
    "alltoall": Algorithm(5, "two_proc"),
}
_DIRECT = ("linear", "all_to_all")


def classic(decisions: Decisions, commuting: bool, notes: Notes) -> str:
    rules = list(_rules(decisions, commuting, notes))  # before its notes are read
    head = [
        f"Made by omnes export from {decisions.source}, for up to {decisions.largest} ranks, "
        f"{decisions.per_node} on a node.",
        "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename=THIS FILE",
        "A rule: bytes from which on it holds, number of the algorithm (0: Open MPI's own choice), fanout, segment.",
        *notes.lines,
    ]
    return _classic_file(head, rules, decisions.largest)


def measured(
    won: Mapping[tuple[str, int], tuple[Algorithm, int]], sizes: Sequence[int], ranks: int, source: str
) -> str:
    """The classic file for one number of ranks: of (operation, bytes of a part) an algorithm and its segment, each up
    to the next of the sizes; elsewhere Open MPI chooses."""
    rules: list[tuple[str, Groups]] = []
    for operation in _IDS:
        scale = ranks if operation in _TOTAL else 1
        starts = (0,) if operation in _WITHOUT_SIZE else (0, *(size for size in sorted(sizes) if size > 0))
        rows = []
        for start in starts:
            algorithm, segment = won.get((operation, start), (None, 0))
            rows.append(Row(start * scale, algorithm, segment, (algorithm or _DEFAULT).name))
        if any(row.algorithm for row in rows):
            rules.append((operation, [(ranks, tuple(rows))]))
    return _classic_file([f"Measured on {source} with {ranks} ranks."], rules, ranks)


def _classic_file(head: Sequence[str], rules: Iterable[tuple[str, Groups]], largest: int) -> str:
    """Above the largest number of ranks Open MPI chooses."""
    blocks = []
    for operation, groups in rules:
        lines = [f"{_IDS[operation]}  # {operation}", f"{len(groups) + 1}  # numbers of ranks"]
        for first, rows in groups:
            lines += [f"{first}  # ranks, or more", f"{len(rows)}  # sizes"]
            for row in rows:
                number = (row.algorithm or _DEFAULT).number
                lines.append(f"{row.bytes} {number} 0 {row.segment}  # {row.why}")
        lines += [f"{largest + 1}  # ranks, or more: not known", "1  # size", "0 0 0 0"]
        blocks.append("\n".join(lines))
    return "\n".join([*(f"# {line}" for line in head), f"{len(blocks)}  # operations", *blocks]) + "\n"


def as_json(decisions: Decisions, commuting: bool, notes: Notes) -> str:
    """First match wins; where nothing matches, Open MPI chooses."""
    collectives: dict[str, list[dict[str, Any]]] = {}
    for operation, groups in _rules(decisions, commuting, notes):
        collectives[operation] = []
        for index, (first, rows) in enumerate(groups):
            last = groups[index + 1][0] - 1 if index + 1 < len(groups) else decisions.largest
            rules = []
            for row, following in zip(rows, [*rows[1:], None]):
                if row.algorithm:
                    most = following.bytes - 1 if following else "inf"
                    rule: dict[str, Any] = {"msg_size_min": row.bytes, "msg_size_max": most, "alg": row.algorithm.name}
                    if row.segment:
                        rule["seg_size"] = row.segment
                    rules.append(rule)
            if rules:
                collectives[operation].append({"comm_size_min": first, "comm_size_max": last, "rules": rules})
    kept = {operation: groups for operation, groups in collectives.items() if groups}
    return json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": kept}, indent=1) + "\n"


def _rules(decisions: Decisions, commuting: bool, notes: Notes) -> Iterator[tuple[str, Groups]]:
    """Operations that have at least one rule, with (first number of ranks, rows)."""
    for operation in _IDS:
        groups: Groups = []
        for first, last, spans in ranges(decisions.of[operation], decisions.largest):
            several = operation in _TOTAL and len(spans) > 1
            pair = {first, min(3, last)} if first == 2 else {first}
            for p in [low for low, _ in steps(first, last)] if several else sorted(pair):
                rows = _rows(operation, p, spans, commuting, notes)
                if not groups or groups[-1][1] != rows:
                    groups.append((p, rows))
        if any(row.algorithm for _, rows in groups for row in rows):
            yield operation, groups


def _rows(operation: str, p: int, spans: tuple[Span, ...], commuting: bool, notes: Notes) -> tuple[Row, ...]:
    rows: list[Row] = []
    for span in spans[:1] if operation in _WITHOUT_SIZE else spans:
        found: Algorithm | None
        if p == 2 and operation in PAIRS and span.choice.algorithm in _DIRECT:
            found = PAIRS[operation]
        else:
            found = counterpart(COUNTERPARTS, operation, span.choice, "Open MPI", notes)
        if found and found.reorders and not commuting:
            notes.left(operation, span.choice, f"Open MPI's {found.name} is only for operations that commute")
            found = None
        elif found and span.choice.segment and not found.segmented:
            notes.without_segments(operation, span.choice, found.name)
        segment = span.choice.segment if found and found.segmented else 0
        first = span.first * p if operation in _TOTAL else span.first
        row = Row(first, found, segment, span.choice.text)
        if not rows or (rows[-1].algorithm, rows[-1].segment) != (row.algorithm, row.segment):
            rows.append(row)
    return tuple(rows)
