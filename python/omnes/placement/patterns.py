"""Where ranks lie, from what people write: 8x8 (nodes x ranks), 2x4x8 (switches x nodes x ranks), 5,3,4 (ranks of each
node), or a JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from omnes.errors import OmnesError
from omnes.terminal import files, units

# By the number of factors, from the widest level to the nearest; the last factor is the ranks on a unit of the nearest.
_NAMES = {2: ("node",), 3: ("switch", "node"), 4: ("switch", "node", "numa")}
_MOST_RANKS = 1 << 24
_MOST_UNIT = (1 << 31) - 1  # as the core numbers them


@dataclass(frozen=True)
class Placing:
    """Levels from the nearest to the widest, as _core takes them: (name, unit of each rank)."""

    levels: list[tuple[str, list[int]]]
    bandwidths: list[float]  # GB/s by level, and one more for ranks that share no unit; empty: unknown
    text: str

    @property
    def p(self) -> int:
        return len(self.levels[0][1])

    def nodes(self) -> list[int]:
        """The node of each rank."""
        for name, unit in self.levels:
            if name == "node":
                return unit
        raise OmnesError(f"no level 'node' among {', '.join(name for name, _ in self.levels)}")


def from_pattern(text: str, cyclic: bool) -> Placing:
    """Consecutive ranks on a node, or dealt to the nodes in turns."""
    if "," in text:
        sizes, factors = _numbers(text, ","), ()
    else:
        factors = tuple(_numbers(text, "x"))
        if len(factors) not in _NAMES:
            raise _no_pattern(text)
        per_node = factors[-1] * (factors[-2] if len(factors) == 4 else 1)
        nodes = factors[0] * (factors[1] if len(factors) > 2 else 1)
        sizes = [per_node] * min(nodes, _MOST_RANKS + 1)
    if sum(sizes) > _MOST_RANKS:
        raise OmnesError(f"'{text}' is more than {_MOST_RANKS} ranks")
    node, place = _dealt(sizes) if cyclic else _in_blocks(sizes)
    levels = [("node", node)]
    if len(factors) > 2:
        levels.append(("switch", [n // factors[1] for n in node]))
    if len(factors) == 4:
        levels.insert(0, ("numa", [n * factors[2] + at // factors[3] for n, at in zip(node, place)]))
    return Placing(levels, [], text + (" cyclic" if cyclic else ""))


def from_file(path: Path) -> Placing:
    """{"levels": [{"name": "node", "unit": [0, 0, 1, 1]}, ...], "bandwidths": [8, 1]}, the nearest level first."""
    try:
        content: Any = json.loads(files.read(path))
        levels = [(str(level["name"]), [int(unit) for unit in level["unit"]]) for level in content["levels"]]
        bandwidths = [float(bandwidth) for bandwidth in content.get("bandwidths", [])]
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise OmnesError(
            f'{path} is no placement: expected {{"levels": [{{"name": "node", "unit": [0, 0, 1, 1]}}]}}'
        ) from None
    if not levels or len({len(unit) for _, unit in levels}) != 1 or not levels[0][1]:
        raise OmnesError(f"{path}: expected one or more levels that place the same ranks")
    if not all(0 <= unit <= _MOST_UNIT for _, of_rank in levels for unit in of_rank):
        raise OmnesError(f"{path}: units are numbers from 0 to {_MOST_UNIT}")
    for (nearer, inner), (wider, outer) in zip(levels, levels[1:]):
        if len(set(zip(inner, outer))) != len(set(inner)):
            raise OmnesError(f"{path}: ranks on one unit of '{nearer}' must lie on one unit of '{wider}'")
    return Placing(levels, bandwidths, path.name)


def _numbers(text: str, separator: str) -> list[int]:
    words = text.split(separator)
    if not all(word.isdecimal() and units.whole(word) > 0 for word in words):
        raise _no_pattern(text)
    return [units.whole(word) for word in words]


def _no_pattern(text: str) -> OmnesError:
    return OmnesError(
        f"'{text}' says not where ranks lie: write NODESxRANKS, SWITCHESxNODESxRANKS, "
        "SWITCHESxNODESxNUMASxRANKS, or the ranks of each node such as 8,8,4"
    )


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
