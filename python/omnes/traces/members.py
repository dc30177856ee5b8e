"""Ranks of MPI_COMM_WORLD as profiles write them, in runs of equal steps."""

from __future__ import annotations

from omnes.placement import patterns


def parse_members(text: str) -> list[int]:
    """'0-7,16,20-60:8' -> 0 .. 7, 16, 20, 28 .. 60."""
    members: list[int] = []
    for run in text.split(","):
        ends, _, step = run.partition(":")
        first, _, last = ends.partition("-")
        by = int(step or 1)
        ranks = range(int(first), int(last or first) + (1 if by > 0 else -1), by)
        if len(ranks) > patterns.MAX_RANKS:
            raise ValueError(f"'{run}' are more ranks than there can be")
        members += ranks
    return members
