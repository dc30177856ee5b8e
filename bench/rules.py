"""Finds the rules of src/select/default.toml for several nodes whose ranks have a CPU each, among predictions.

Usage: bench/run rules [--nodes 2,3,4,6,8,12,16,64x1,2,3,4,8,32] [--bytes 8..2M:4] [--ranks 1024]
                   [--within 1.3] [OPERATION]...

How: every candidate is predicted in every case (models/quality), beside what the catalogue has also a few compositions.
A rule is a box of numbers of nodes, of ranks on each and of bytes, and what is good in all of it: at most `within`
times the best. The rule that serves most comes first, and so on with the cases that are left (a greedy cover). Where a
choice cannot run, as lanes of unlike nodes, the next rule is asked; so such a case neither helps a rule nor hinders it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from omnes.algorithms import tables
from omnes.models import quality
from omnes.models.prediction import MachineCosts
from omnes.models.quality import PredictedCase
from omnes.terminal import units

MAX_RULES = 30
ENDS = 2  # of an interval


def composed() -> dict[str, list[str]]:
    """What is worth trying beside the catalogue's candidates, by operation."""
    found: dict[str, list[str]] = {name: [] for name in quality.OPERATIONS}
    tops = {
        "bcast": ("postal:k=3", "postal:k=5", "knomial:k=8", "linear"),
        "reduce": ("postal:k=3", "postal:k=5", "knomial", "binary", "rabenseifner"),
        "allreduce": ("recursive_multiplying:k=4", "recursive_multiplying:k=8"),
        "gather": ("linear", "postal:k=5", "knomial:k=4"),
        "scatter": ("linear", "postal:k=5", "knomial:k=4"),
        "allgather": ("recursive_multiplying:k=4",),
        "alltoall": ("bruck", "pairwise"),
        "reduce_scatter_block": ("recursive_halving", "butterfly"),
        "scan": ("binomial", "linear"),
        "exscan": ("binomial", "linear", "doubling_123"),
        "barrier": ("recursive_doubling", "dissemination:k=3", "dissemination:k=8"),
    }
    lanes = {
        "bcast": ("knomial:k=4", "scatter_recursive_doubling"),
        "reduce": ("rabenseifner",),
        "allreduce": ("recursive_doubling", "rabenseifner", "recursive_multiplying:k=4", "ring"),
        "allgather": ("recursive_multiplying:k=4", "bruck", "recursive_doubling", "linear", "ring"),
        "alltoall": ("bruck", "bruck:k=4", "bruck:k=8", "linear", "pairwise"),
        "reduce_scatter_block": ("recursive_halving", "butterfly", "ring", "linear", "pairwise"),
    }
    for operation, names in tops.items():
        found[operation] += [f"hierarchical:top={name}" for name in names]
    for operation, names in lanes.items():
        found[operation] += [f"lanes:node=linear,top={name}" for name in names]
    found["allreduce"] += [
        f"lanes:node=recursive_halving,top={name}" for name in ("recursive_doubling", "rabenseifner")
    ]
    for operation in ("bcast", "reduce"):
        for top in ("chain", "double_tree"):
            found[operation] += [f"hierarchical:top={top},segment={size}" for size in ("8K", "16K", "64K")]
    for operation in ("scan", "exscan"):
        found[operation] += [f"hierarchical:segment={size}" for size in ("16K", "64K")]
        found[operation] += ["hierarchical:node=linear,top=linear,segment=16K", "hierarchical:top=linear,segment=32K"]
    found["allgatherv"] += found["allgather"]
    found["reduce_scatter"] += found["reduce_scatter_block"]
    return found


class Box(NamedTuple):
    """Places of a grid's axes: nodes, ranks on each, bytes; (first, behind the last) of each."""

    nodes: tuple[int, int]
    per_node: tuple[int, int]
    bytes: tuple[int, int]


def cover(cases: Sequence[PredictedCase], within: float) -> tuple[list[tuple[str, Box]], list[list[int]], int]:
    """Rules, the grid's axes, and how many cases no rule serves."""
    place = [(case.ranks.nodes, case.ranks.per_node, case.bytes) for case in cases]
    axes = [sorted({one[axis] for one in place}) for axis in range(len(Box._fields))]
    shape = tuple(map(len, axes))
    names = sorted({name for case in cases for name in case.costs})
    left = np.zeros((*shape, ENDS), bool)  # the last axis: block, cyclic
    ratio = np.full((len(names), *shape, ENDS), np.nan)
    for case, one in zip(cases, place):
        at = (*(axis.index(value) for axis, value in zip(axes, one)), int(case.ranks.cyclic))
        left[at] = True
        for number, name in enumerate(names):
            if name in case.costs:
                ratio[(number, *at)] = case.costs[name] / case.costs[case.best]
            elif name not in case.unable:
                ratio[(number, *at)] = math.inf  # known to be slow
    boxes = [np.array([(a, b) for a in range(n) for b in range(a + 1, n + 1)]).T for n in shape]

    def sums(values: np.ndarray) -> np.ndarray:
        """Of every box."""
        for axis, (first, behind) in enumerate(boxes):
            padded = np.insert(values.cumsum(axis), 0, 0, axis)
            values = padded.take(behind, axis) - padded.take(first, axis)
        return values

    volume = sums(np.ones(shape))
    rules: list[tuple[str, Box]] = []
    while left.any() and len(rules) < MAX_RULES:
        best, rule = 0.0, None
        for number in range(len(names)):
            good = left & (ratio[number] <= within)
            gain = np.where(good, math.log(within) - np.log(np.where(good, ratio[number], 1)) + 0.05, 0).sum(-1)
            if gain.sum() <= best:
                continue
            bad = (left & (ratio[number] > within)).sum(-1)
            worth = np.where(sums(bad) == 0, sums(gain) + 1e-6 * volume, 0)  # of equal ones the widest
            at = np.unravel_index(worth.argmax(), worth.shape)
            if worth[at] > best and sums(gain)[at] > 0:
                best, rule = worth[at], (number, Box(*((int(b[0][i]), int(b[1][i])) for b, i in zip(boxes, at))))
        if rule is None:
            break
        number, box = rule
        inside = tuple(slice(*ends) for ends in box)
        left[inside] &= ~(ratio[number][inside] <= within)
        rules.append((names[number], box))
    return rules, axes, int(left.sum())


def text(use: str, box: Box, axes: Sequence[Sequence[int]], where: str) -> str:
    """A rule reaches up to the next place of its grid, and from bytes beyond the one before."""
    conditions = [where] if where else []
    for field, axis, (first, behind) in zip(Box._fields, axes, box):
        if field == "bytes":
            if first > 0:
                conditions.append(f"min_bytes = {axis[first - 1] + 1}")
            if behind < len(axis):
                size = units.format_bytes(axis[behind - 1])
                conditions.append(f"max_bytes = {size}" if size.isdecimal() else f'max_bytes = "{size}"')
            continue
        if first > 0 and axis[first] > 1:
            conditions.append(f"min_{field} = {axis[first]}")
        if behind < len(axis):
            conditions.append(f"max_{field} = {axis[behind] - 1}")
    return f'  {{ {", ".join(conditions)}, own_cpus = true, use = "{use}" }},'


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("operations", nargs="*", default=quality.OPERATIONS)
    arguments.add_argument("--nodes", default="2,3,4,6,8,12,16,64x1,2,3,4,8,32")
    arguments.add_argument("--bytes", default="8..2M:4")
    arguments.add_argument("--ranks", type=int, default=1024, help="at most, of all nodes together")
    arguments.add_argument("--within", type=float, default=1.3)
    given = arguments.parse_args()
    nodes, per_node = map(units.parse_sizes, given.nodes.split("x"))
    groups = [ranks for ranks in quality.groups(nodes, per_node, (False, True)) if ranks.count <= given.ranks]
    sizes = units.parse_sizes(given.bytes)
    machine = MachineCosts.load(None)
    for operation in given.operations:
        cases = quality.cases([operation], groups, sizes, machine, tables.OFF, also=composed())
        print(f"{operation} = [")
        alone = [case for case in cases if case.ranks.per_node == 1]
        beside = [case for case in cases if case.ranks.per_node > 1]
        unlike = [
            ("shared_memory = true, consecutive = true", [case for case in beside if not case.ranks.cyclic]),
            ("shared_memory = true", [case for case in beside if case.ranks.cyclic]),
        ]
        together = cover(beside, given.within)
        apart = [cover(mine, given.within) for _, mine in unlike if mine]
        cheaper = together[-1] > 0 or len(together[0]) > sum(len(rules) for rules, _, _ in apart)
        parts = [("max_per_node = 1", alone), *(unlike if cheaper else [("shared_memory = true", beside)])]
        for where, mine in parts:
            rules, axes, left = cover(mine, given.within) if mine else ([], [], 0)
            print("\n".join(text(use, box, axes, where) for use, box in rules))
            if left:
                print(f"  # {left} of {len(mine)} cases are served by none")
        print("]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
