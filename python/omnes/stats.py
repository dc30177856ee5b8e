"""Merges the ranks' statistics files into one report and shows it.

Each rank writes DIR/rank-<world rank>.json when it finalises MPI: what omnes ran ("entries"), what it passed to the
host MPI ("passed"), and what else is worth knowing ("notes"). Ranks may differ in calls and times: the report sums them
up, the tables show means.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from omnes.units import format_bytes, format_seconds


def merge(folder: Path) -> dict[str, Any] | None:
    """The report of all ranks that left a file; None when none did."""
    ranks = [json.loads(file.read_text()) for file in sorted(folder.glob("rank-*.json"))]
    if not ranks:
        return None
    return {
        "library": ranks[0]["library"],
        "ranks": ranks[0]["size"],
        "reports": len(ranks),
        "entries": _sum(ranks, "entries", ("operation", "bytes", "algorithm")),
        "passed": _sum(ranks, "passed", ("operation", "reason")),
        "notes": sorted({note for rank in ranks for note in rank["notes"]}),
    }


def _sum(ranks: list[dict[str, Any]], section: str, key_names: tuple[str, ...]) -> list[dict[str, Any]]:
    sums: dict[tuple[Any, ...], dict[str, Any]] = {}
    for rank in ranks:
        for entry in rank[section]:
            key = tuple(entry[name] for name in key_names)
            total = sums.setdefault(key, {**dict(zip(key_names, key)), "ranks": 0, "calls": 0, "seconds": 0.0})
            total["ranks"] += 1
            total["calls"] += entry["calls"]
            total["seconds"] += entry["seconds"]
    return [sums[key] for key in sorted(sums)]


def show(report: dict[str, Any], console: Console) -> None:
    """Tables of what ran and of what was passed on."""
    title = f"Collectives of each of {report['ranks']} ranks ({report['library']})"
    if report["entries"]:
        table = Table("operation", "bytes", "algorithm", title=f"{title}: run by omnes")
        _columns(table)
        for entry in report["entries"]:
            table.add_row(entry["operation"], format_bytes(entry["bytes"]), entry["algorithm"], *_times(entry))
        console.print(table)
    else:
        console.print(f"{title}: none ran by omnes")
    if report["passed"]:
        table = Table("operation", "why", title="Passed to the host MPI")
        _columns(table)
        for entry in report["passed"]:
            table.add_row(entry["operation"], entry["reason"], *_times(entry))
        console.print(table)
    for note in report["notes"]:
        console.print(f"note: {escape(note)}")
    if report["reports"] < report["ranks"]:
        missing = report["ranks"] - report["reports"]
        why = "they ended without MPI_Finalize, or ran where this folder is not shared"
        console.print(f"[yellow]{missing} of {report['ranks']} ranks left no report: {why}[/]")


def _columns(table: Table) -> None:
    for name in ("calls", "mean", "total"):
        table.add_column(name, justify="right")


def _times(entry: dict[str, Any]) -> tuple[str, str, str]:
    mean = entry["seconds"] / entry["calls"] if entry["calls"] else 0.0
    per_rank = entry["calls"] / entry["ranks"]
    calls = f"{per_rank:.0f}" if per_rank == int(per_rank) else f"{per_rank:.1f}"
    return calls, format_seconds(mean), format_seconds(entry["seconds"] / entry["ranks"])
