"""The side-by-side table of what was measured, and the same for scripts with every sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from omnes.bench.job import JobSpec
from omnes.bench.measure import Cell, Samples, ratio
from omnes.units import format_bytes, format_us

Results = Mapping[Cell, Mapping[str, Samples]]


def table(specs: Sequence[JobSpec], results: Results, title: str) -> Table:
    """Operation, size, µs of every job with half the spread of its middle half, and the ratio of each compared pair."""
    compared = [spec for spec in specs if spec.baseline]
    out = Table(
        "operation",
        "size",
        title=title,
        caption="µs per call: median ± half the middle half's width; ratio: stock / omnes",
    )
    for spec in specs:
        out.add_column(f"{spec.name} µs", justify="right")
    for _ in compared:
        out.add_column("ratio", justify="right")
    previous = ""
    for cell, samples in results.items():
        if previous and cell.operation != previous:
            out.add_section()
        row = [cell.operation if cell.operation != previous else "", size(cell)]
        previous = cell.operation
        row += [_time(samples[spec.name]) for spec in specs]
        for spec in compared:
            value = ratio(samples[spec.baseline or ""], samples[spec.name]).median
            row.append(f"[{'green' if value >= 1 else 'red'}]{value:.2f}[/]")
        out.add_row(*row)
    return out


def _time(samples: Samples) -> str:
    low, high = samples.quartiles
    return f"{format_us(samples.median)} [dim]±{(high - low) / 2 / samples.median:.0%}[/]"


def size(cell: Cell) -> str:
    return "" if cell.operation == "barrier" else format_bytes(cell.bytes)


def as_data(specs: Sequence[JobSpec], results: Results, commands: Mapping[str, str], **setting: Any) -> dict[str, Any]:
    """Everything, in seconds."""
    cells = []
    for cell, samples in results.items():
        entry: dict[str, Any] = {
            "operation": cell.operation,
            "bytes": cell.bytes,
            "type": cell.type,
            "jobs": {},
            "ratios": {},
        }
        for spec in specs:
            of_job = samples[spec.name]
            entry["jobs"][spec.name] = {
                "median": of_job.median,
                "quartiles": of_job.quartiles,
                "spread": of_job.spread,
                "samples": of_job.values,
            }
            if spec.baseline:
                entry["ratios"][spec.name] = ratio(samples[spec.baseline], of_job).median
        cells.append(entry)
    jobs = [
        {
            "name": spec.name,
            "mpi": spec.mpi.name,
            "omnes": spec.with_omnes,
            "variables": dict(spec.variables),
            "baseline": spec.baseline,
            "command": commands[spec.name],
        }
        for spec in specs
    ]
    return {
        **setting,
        "unit": "seconds per call; mean over a batch's calls of the slowest rank",
        "jobs": jobs,
        "cells": cells,
    }
