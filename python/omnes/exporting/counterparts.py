"""Finds another MPI's algorithm of the same idea, and notes where there is none; what their files have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from omnes.algorithms.selection import Choice, Decisions, ranges, steps


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


@dataclass(frozen=True)
class Rule:
    """What is chosen for `low` to `high` ranks and sizes from `first` on, below `end` (None: for all longer ones)."""

    low: int
    high: int
    first: int
    end: int | None
    unit: int  # bytes by which sizes of all parts together grow with those of one
    choice: Choice


def rules(decisions: Decisions, operation: str, total: Iterable[str], without_size: Iterable[str]) -> Iterator[Rule]:
    """Those of an operation. total: operations whose sizes are of all parts together; without_size: that have none."""
    for first, last, spans in ranges(decisions.of[operation], decisions.largest):
        if operation in without_size:
            spans = spans[:1]
        several = operation in total and len(spans) > 1
        for low, high in steps(first, last) if several else [(first, last)]:
            unit = low if operation in total else 1
            for span, after in zip_longest(spans, spans[1:]):
                yield Rule(low, high, span.first * unit, after.first * unit if after else None, unit, span.choice)


def for_shell(decisions: Decisions, how: str, notes: Notes, lines: Iterable[str]) -> str:
    """Lines for a shell, with comments in front. how: what to do with them."""
    whence = f"Made by omnes export from {decisions.source}, for up to {decisions.largest} ranks, "
    head = [f"{whence}{decisions.per_node} on a node.", f"Before the launch: . THIS FILE{how}", *notes.lines]
    return "\n".join([*(f"# {line}" for line in head), *lines]) + "\n"
