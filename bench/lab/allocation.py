"""The hosts that a cluster's user has: of a job of Slurm, of a file, or named; and how many ranks go on each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from omnes import _core
from omnes.errors import OmnesError, UsageError, from_core
from omnes.terminal import files


@dataclass(frozen=True)
class Allocation:
    hosts: tuple[str, ...]
    each: int  # ranks on a host

    @property
    def numbers(self) -> list[int]:
        """Of hosts to measure with: 1, 2, 4 and so on, and all; with one rank there is nothing to measure."""
        doubled = [1 << i for i in range(len(self.hosts).bit_length()) if 1 << i < len(self.hosts)]
        return [number for number in (*doubled, len(self.hosts)) if number * self.each > 1]


def find(named: str | None, file: Path | None, each: int | None, environment: Mapping[str, str]) -> Allocation:
    """each: what the user says; else as many as every host has slots for."""
    if named and file:
        raise UsageError("--hosts and --hostfile both say which hosts there are: give one of them")
    if named:
        slots = _sum(_of_list(named))
    elif file:
        slots = _sum(_of_file(file))
    elif "SLURM_JOB_NODELIST" in environment:
        slots = _of_slurm(environment)
    else:
        raise OmnesError(
            "no hosts: run this in a job of Slurm (sbatch, salloc), or name them: --hosts n1,n2 or --hostfile FILE"
        )
    if not slots:
        raise OmnesError(f"{named or file} names no host")
    found = Allocation(tuple(slots), each or min(slots.values()))
    if not found.numbers:
        raise OmnesError(f"one rank on {found.hosts[0]} has nothing to measure: give more hosts, or --per-host 2")
    return found


def _sum(entries: Iterator[tuple[str, int]]) -> dict[str, int]:
    slots: dict[str, int] = {}
    for name, count in entries:
        slots[name] = slots.get(name, 0) + count
    return slots


def _of_list(text: str) -> Iterator[tuple[str, int]]:
    """n1,n2 or n[1-4]:2"""
    for word in re.findall(r"(?:[^,\[]|\[[^\]]*\]?)+", text):
        names, colon, slots = word.partition(":")
        if colon and not (slots.isdecimal() and int(slots)):
            raise UsageError(f"'{word}' is no host: write NAME or NAME:SLOTS")
        with from_core():
            yield from ((name, int(slots or 1)) for name in _core.expand_hostlist(names))


def _of_file(file: Path) -> Iterator[tuple[str, int]]:
    """A host a line, as launchers and resource managers write them: NAME, NAME:SLOTS or NAME slots=SLOTS, or a name
    once for each slot."""
    for line in files.read(file).splitlines():
        if words := line.partition("#")[0].split():
            slots = [word.partition("=")[2] for word in words[1:] if word.startswith("slots=")]
            yield from _of_list(f"{words[0]}:{slots[0]}" if slots else words[0])


def _of_slurm(environment: Mapping[str, str]) -> dict[str, int]:
    """SLURM_TASKS_PER_NODE is like 2(x3),1."""
    with from_core():
        names = _core.expand_hostlist(environment["SLURM_JOB_NODELIST"])
    slots: list[int] = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", environment.get("SLURM_TASKS_PER_NODE", "")):
        slots += [int(count)] * int(times or 1)
    return dict(zip(names, slots if len(slots) == len(names) else [1] * len(names)))
