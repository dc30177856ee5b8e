"""Where ranks lie, in the one language of all commands (--nodes): a pattern, or a file.

  8x8                  8 nodes, 8 ranks on each
  x8, 8x               8 ranks on each node; 8 nodes; the number of ranks (-n) says the rest
  2..64x1,8            several cases: 2, 4 ... 64 nodes, with 1 rank and with 8
  2x4x8, 2x4x2x4       switches, nodes, ranks; switches, nodes, NUMA nodes, ranks
  8,8,4                the ranks of each node
  node[01-16]x36       nodes with names
  cyclic               after any of these, or alone: rank after rank on the next node; block, one node after the other,
                       is the default; block,cyclic: two cases
  unbound              for omnes topology: ranks may run on all CPUs of their nodes
A file says it in JSON (from_json), or has a line '<node> [<CPUs>]' for each rank; the core reads that, and names.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from omnes import _core
from omnes.errors import UsageError, from_core, one_of
from omnes.terminal import files, units

MAX_RANKS = 1 << 20
_MAX_PLACED = 1 << 24
_MAX_UNIT = (1 << 31) - 1  # as the core numbers them
_LIST = r"[\d.,:]*\d"
_HELP = "write NODESxRANKS such as 8x8, xRANKS, SWITCHESxNODESxRANKS, RANKS,RANKS,... of each node, or a file"
HELP = "Where ranks lie: 8x8 (nodes x ranks), x8 (on each), 8,8,4, '8x8 cyclic', or a file."


@dataclass(frozen=True)
class Ranks:
    """How many there are, on nodes of so many each: in order, or dealt to them in turns."""

    count: int
    per_node: int
    cyclic: bool = False

    @property
    def nodes(self) -> int:
        return -(-self.count // self.per_node)

    @property
    def node_of_each(self) -> list[int]:
        if self.cyclic:
            return [rank % self.nodes for rank in range(self.count)]
        return [rank // self.per_node for rank in range(self.count)]

    def __str__(self) -> str:
        where = "one node" if self.nodes == 1 else f"{self.nodes} nodes of {self.per_node}"
        return f"{self.count} ranks on {where}{', cyclic' if self.cyclic else ''}"


@dataclass(frozen=True)
class Pattern:
    """What was written: numbers of nodes and of ranks on each, each empty where something else says it."""

    text: str
    nodes: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    switches: int = 0  # that part the nodes; 0: not known
    numas: int = 0  # that part the ranks of a node
    sizes: tuple[int, ...] = ()  # of unequal nodes
    named: str = ""  # a file, or nodes with names
    orders: tuple[bool, ...] = ()  # whether ranks are dealt to the nodes

    @property
    def alike(self) -> bool:
        return not (self.switches or self.sizes or self.named)


def parse(text: str) -> Pattern:
    """Of a text without words: nothing is known."""
    if os.sep in text or (text and Path(text).exists()):
        return Pattern(text, named=text)
    shape, *words = text.split() or [""]
    if shape and not any(char.isdigit() for char in shape) and set(shape.split(",")) <= {"block", "cyclic"}:
        shape, words = "", [shape, *words]
    orders: list[bool] = []
    for word in ",".join(words).split(",") if words else []:
        if word != "unbound":
            orders.append(one_of(word, ("block", "cyclic", "unbound"), "word") == "cyclic")
    order = tuple(dict.fromkeys(orders))
    if not shape:
        return Pattern(text, orders=order)
    if "[" in shape or re.fullmatch(r".*[A-Za-wyz_].*x\d+", shape):
        return Pattern(text, named=text, orders=order)
    if match := re.fullmatch(rf"({_LIST})?x({_LIST})?", shape):
        nodes, ranks = (tuple(units.parse_sizes(one)) if one else () for one in match.groups())
        if (nodes or ranks) and all((*nodes, *ranks)):
            return Pattern(text, nodes, ranks, orders=order)
    factors = [units.whole(word) for word in shape.split("x")] if re.fullmatch(r"\d+(x\d+){2,3}", shape) else []
    if factors and all(factors):
        numas = factors[2] if len(factors) == 4 else 0
        ranks_of_node = factors[-1] * (numas or 1)
        return Pattern(text, (factors[0] * factors[1],), (ranks_of_node,), factors[0], numas, orders=order)
    sizes = tuple(units.whole(word) for word in shape.split(",")) if re.fullmatch(r"\d+(,\d+)+", shape) else ()
    if not sizes or not all(sizes):
        raise UsageError(f"'{shape}' says not where ranks lie: {_HELP}")
    return Pattern(text, sizes=sizes, orders=order)


def groups(counts: Sequence[int], pattern: Pattern, per_node: int) -> list[Ranks]:
    """The cases of nodes with as many ranks each. counts: what -n says; per_node: where nothing says it."""
    if not pattern.alike:
        raise UsageError(f"'{pattern.text}': here all nodes have as many ranks: write NODESxRANKS, or xRANKS")
    if pattern.nodes and pattern.ranks:
        shapes = [(nodes * ranks, ranks) for nodes in pattern.nodes for ranks in pattern.ranks]
        if counts and list(counts) != [product for product, _ in shapes]:
            asked = ", ".join(str(product) for product, _ in shapes)
            given = ",".join(map(str, counts))
            raise UsageError(f"--nodes {pattern.text} are {asked} ranks, but -n is {given}: leave out one of them")
    elif not counts:
        raise UsageError("say how many ranks: -n 64, or --nodes 8x8")
    elif pattern.nodes:
        shapes = [(one, -(-one // nodes)) for one in counts for nodes in pattern.nodes]
    else:
        shapes = [(one, ranks) for one in counts for ranks in pattern.ranks or (per_node,)]
    if not all(1 <= one <= MAX_RANKS and 1 <= ranks <= MAX_RANKS for one, ranks in shapes):
        raise UsageError(f"numbers of ranks are 1 to {MAX_RANKS}")
    return [Ranks(one, ranks, cyclic) for one, ranks in shapes for cyclic in pattern.orders or (False,)]


@dataclass(frozen=True)
class Placing:
    """Levels from the nearest to the widest, as _core takes them: (name, unit of each rank)."""

    levels: list[tuple[str, list[int]]]
    bandwidths: list[float]  # GB/s by level, and one more for ranks that share no unit; empty: unknown
    text: str
    names: tuple[str, ...] = ()  # of the node of each rank, where they have some

    @property
    def p(self) -> int:
        return len(self.levels[0][1])

    def nodes(self) -> list[int]:
        """The node of each rank."""
        for name, unit in self.levels:
            if name == "node":
                return unit
        raise UsageError(f"no level 'node' among {', '.join(name for name, _ in self.levels)}")


def placing(text: str, ranks: int | None = None) -> Placing:
    """One case, rank by rank. ranks: what -n says."""
    pattern = parse(text)
    if len(pattern.orders) > 1 or len(pattern.nodes) > 1 or len(pattern.ranks) > 1:
        raise UsageError(f"'{text}' are several cases: write one")
    if pattern.named:
        found = _named(pattern.named)
    else:
        sizes = _sizes(pattern, ranks)
        if sum(sizes) > _MAX_PLACED:
            raise UsageError(f"'{text}' is more than {_MAX_PLACED} ranks")
        found = _placed(pattern, sizes)
    if ranks is not None and ranks != found.p:
        raise UsageError(f"{found.text} places {found.p} ranks, not {ranks}")
    return found


def _sizes(pattern: Pattern, ranks: int | None) -> list[int]:
    if pattern.sizes:
        return list(pattern.sizes)
    (one,) = groups([ranks] if ranks and not (pattern.nodes and pattern.ranks) else [], _alike(pattern), ranks or 1)
    return [min(one.per_node, one.count - first) for first in range(0, one.count, one.per_node)]


def _alike(pattern: Pattern) -> Pattern:
    return Pattern(pattern.text, pattern.nodes, pattern.ranks, orders=pattern.orders)


def _placed(pattern: Pattern, sizes: list[int]) -> Placing:
    cyclic = True in pattern.orders
    node, place = _dealt(sizes) if cyclic else _in_blocks(sizes)
    levels = [("node", node)]
    if pattern.switches:
        levels.append(("switch", [n // (len(sizes) // pattern.switches) for n in node]))
    if pattern.numas:
        of_numa = sizes[0] // pattern.numas
        levels.insert(0, ("numa", [n * pattern.numas + at // of_numa for n, at in zip(node, place)]))
    return Placing(levels, [], pattern.text)


def _named(text: str) -> Placing:
    if os.sep in text or Path(text).exists():
        content = files.read(Path(text))
        if content.lstrip().startswith("{"):
            return from_json(Path(text), content)
    with from_core():
        job = _core.job(text)
    number = {name: n for n, name in enumerate(dict.fromkeys(job["nodes"]))}
    within: list[tuple[str, list[int]]] = []
    beyond: list[tuple[str, list[int]]] = []
    for level in job["levels"]:
        if level["name"] != "node":
            (beyond if level["name"].startswith("switch") else within).append((level["name"], level["units"]))
    node = ("node", [number[name] for name in job["nodes"]])
    return Placing([*within, node, *beyond], [], text, tuple(job["nodes"]))


def from_json(path: Path, text: str) -> Placing:
    """{"levels": [{"name": "node", "unit": [0, 0, 1, 1]}, ...], "bandwidths": [8, 1]}, the nearest level first."""
    try:
        content: Any = json.loads(text)
        levels = [(str(level["name"]), [int(unit) for unit in level["unit"]]) for level in content["levels"]]
        bandwidths = [float(bandwidth) for bandwidth in content.get("bandwidths", [])]
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise UsageError(
            f'{path} is no placement: expected {{"levels": [{{"name": "node", "unit": [0, 0, 1, 1]}}]}}'
        ) from None
    if not levels or len({len(unit) for _, unit in levels}) != 1 or not levels[0][1]:
        raise UsageError(f"{path}: expected one or more levels that place the same ranks")
    if not all(0 <= unit <= _MAX_UNIT for _, of_rank in levels for unit in of_rank):
        raise UsageError(f"{path}: units are numbers from 0 to {_MAX_UNIT}")
    for (nearer, inner), (wider, outer) in zip(levels, levels[1:]):
        if len(set(zip(inner, outer))) != len(set(inner)):
            raise UsageError(f"{path}: ranks on one unit of '{nearer}' must lie on one unit of '{wider}'")
    return Placing(levels, bandwidths, path.name)


def _in_blocks(sizes: list[int]) -> tuple[list[int], list[int]]:
    node = [n for n, size in enumerate(sizes) for _ in range(size)]
    return node, [at for size in sizes for at in range(size)]


def _dealt(sizes: list[int]) -> tuple[list[int], list[int]]:
    node: list[int] = []
    place: list[int] = []
    for turn in count():
        takes = [n for n, size in enumerate(sizes) if size > turn]
        if not takes:
            return node, place
        node += takes
        place += [turn] * len(takes)
    return node, place
