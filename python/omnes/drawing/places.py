"""Machines and jobs as boxes: CPUs in caches in memories in sockets, ranks in nodes below switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnes.drawing.boxes import Box
from omnes.placement import jobs

MACHINE_NOTE = "CPUs by the system's numbers; dashed: not to be used"
JOB_NOTE = "ranks; coloured: leads its group, the darker on the more levels"


def machine(described: dict[str, Any]) -> Box:
    """A box for each set of CPUs that share something, named after all that they share."""
    parts = [
        (frozenset(part), _label(level, number))
        for level in described["levels"]
        for number, part in enumerate(level["cpus"])
        if part
    ]
    top = _Part(frozenset().union(*(cpus for cpus, _ in parts)))
    for cpus, label in sorted(parts, key=lambda part: -len(part[0])):
        top.add(cpus, label)
    return top.box(set(described["cpus"]))


class _Part:
    """CPUs with what they share, and the parts of them that share more."""

    def __init__(self, cpus: frozenset[int]) -> None:
        self.cpus = cpus
        self.labels: list[str] = []
        self.parts: list[_Part] = []

    def add(self, cpus: frozenset[int], label: str) -> None:
        if cpus == self.cpus:
            self.labels.append(label)
            return
        home = next((part for part in self.parts if cpus <= part.cpus), None)
        if home is None:
            home = _Part(cpus)
            self.parts.append(home)
        home.add(cpus, label)

    def box(self, usable: set[int]) -> Box:
        alone = sorted(self.cpus.difference(*(part.cpus for part in self.parts)))
        leaves = [Box(str(cpu), style="" if cpu in usable else "off", hover=f"CPU {cpu}") for cpu in alone]
        return Box(", ".join(self.labels), [part.box(usable) for part in self.parts] + leaves)


def _label(level: dict[str, Any], number: int) -> str:
    words = [level["name"]] + [str(number)] * (len(level["cpus"]) > 1)
    size = level["bytes"]
    for suffix, unit in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= unit:
            return " ".join([*words, f"{size / unit:.4g}{suffix}"])
    return " ".join(words)


def job(described: dict[str, Any]) -> Box:
    """Ranks within the levels that the job uses."""
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
        own = " ".join(f"G{i + 1}{jobs.members(group)}" for i, group in enumerate(groups[rank]))
        style = f"lead{min(leads[rank], 5)}" if leads[rank] else ""
        return Box(str(rank), style=style, hover=f"rank {rank} on {described['nodes'][rank]}: {own}")

    groups: list[list[list[int]]] = [[] for _ in range(described["p"])]
    for level in described["groups"]:
        for group in level["groups"]:
            for rank in group:
                groups[rank].append(group)
    return Box("all", inside(range(described["p"]), 0))
