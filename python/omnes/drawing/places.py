"""Machines and jobs as boxes: CPUs in caches in memories in sockets, ranks in nodes below switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnes import topology, units
from omnes.drawing.boxes import Box


def machine(described: dict[str, Any]) -> Box:
    """Levels that part nothing share a box; CPUs that may not be used are dashed."""
    usable = set(described["cpus"])
    levels = described["levels"]

    def inside(cpus: Sequence[int], level: int) -> list[Box]:
        if level == len(levels):
            return [Box(str(cpu), style="" if cpu in usable else "off", hover=f"CPU {cpu}") for cpu in cpus]
        parts = [(number, part) for number, part in enumerate(levels[level]["cpus"]) if set(part) <= set(cpus)]
        made = [box(levels[level], number, inside(part, level + 1)) for number, part in parts]
        alone = set(cpus).difference(*(part for _, part in parts))  # of a level that not all CPUs have
        return made + (inside(sorted(alone), level + 1) if alone else [])

    def box(level: dict[str, Any], number: int, content: list[Box]) -> Box:
        size = f" {units.format_bytes(level['bytes'])}" if level["bytes"] else ""
        label = f"{level['name']} {number}{size}" if len(level["cpus"]) > 1 else f"{level['name']}{size}"
        return _merged(Box(label, content))

    return inside(sorted({cpu for level in levels for part in level["cpus"] for cpu in part}), 0)[0]


def job(described: dict[str, Any]) -> Box:
    """The deeper a rank's colour, the more levels it leads on."""
    leads = [0] * described["p"]
    for level in described["groups"]:
        for group in level["groups"]:
            leads[group[0]] += 1
    levels = described["levels"][::-1]

    def inside(ranks: Sequence[int], level: int) -> list[Box]:
        if level == len(levels):
            return [leaf(rank) for rank in ranks]
        parts: dict[int, list[int]] = {}
        for rank in ranks:
            parts.setdefault(levels[level]["units"][rank], []).append(rank)
        name = levels[level]["name"]
        return [
            Box(described["nodes"][part[0]] if name == "node" else f"{name} {number}", inside(part, level + 1))
            for number, part in parts.items()
        ]

    def leaf(rank: int) -> Box:
        own = " ".join(f"G{i + 1}{topology.members(group)}" for i, group in enumerate(groups[rank]))
        style = f"lead{min(leads[rank], 5)}" if leads[rank] else ""
        return Box(str(rank), style=style, hover=f"rank {rank} on {described['nodes'][rank]}: {own}")

    groups: list[list[list[int]]] = [[] for _ in range(described["p"])]
    for level in described["groups"]:
        for group in level["groups"]:
            for rank in group:
                groups[rank].append(group)
    return Box("all", inside(range(described["p"]), 0))


def _merged(box: Box) -> Box:
    """A box that holds just one, which holds more: one box with both names."""
    if len(box.inside) == 1 and box.inside[0].inside:
        return Box(f"{box.label}, {box.inside[0].label}", box.inside[0].inside)
    return box
