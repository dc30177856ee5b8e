"""Finds another MPI's algorithm of the same idea, and notes where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omnes.algorithms.selection import Choice


@dataclass
class Notes:
    """Where an export cannot say what the table says, and why: each said once."""

    lines: dict[str, None] = field(default_factory=dict)

    def left(self, operation: str, choice: Choice, why: str) -> None:
        self.lines[f"{operation} {choice.text}: {why}; left to its own choice"] = None

    def without_segments(self, operation: str, choice: Choice, name: str) -> None:
        self.lines[f"{operation} {choice.text}: as {name}, without segments"] = None


def counterpart(
    counterparts: dict[str, dict[str, Any]], operation: str, choice: Choice, host: str, notes: Notes
) -> Any | None:
    """The entry for "name:segment" where the choice has segments, else for "name:k=RADIX", else for "name"."""
    of_operation = counterparts.get(operation, {})
    names = [f"{choice.algorithm}:segment"] * bool(choice.segment)
    names += [f"{choice.algorithm}:k={choice.radix}", choice.algorithm]
    found = next((of_operation[name] for name in names if name in of_operation), None)
    if found is None:
        notes.left(operation, choice, f"{host} has no such algorithm")
    elif choice.published:
        notes.left(operation, choice, f"one send reaches all ranks, through memory; {host}'s messages reach one each")
        return None
    return found
