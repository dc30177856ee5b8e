"""A benchmark session: starts all jobs, measures all cells with progress shown, ends the jobs whatever happens."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType

from omnes import progress
from omnes.bench.job import Job, JobSpec
from omnes.bench.measure import Cell, Samples, measure
from omnes.bench.report import size
from omnes.units import format_us

OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall")
TYPE_BYTES = {"int": 4, "float": 4, "double": 8}


def cells(operations: Sequence[str], sizes: Sequence[int], type_name: str) -> list[Cell]:
    """A barrier has no size, so it is one cell."""
    return [
        Cell(operation, bytes_, type_name)
        for operation in operations
        for bytes_ in ([0] if operation == "barrier" else sizes)
    ]


def _terminate(number: int, _frame: FrameType | None) -> None:
    """As Ctrl-C: the jobs are ended on the way out."""
    sys.exit(128 + number)


def run(
    specs: Sequence[JobSpec], todo: Sequence[Cell], ranks: int, bind: bool, seconds: float, what: str
) -> tuple[dict[Cell, dict[str, Samples]], dict[str, str]]:
    """Results by cell and job name, and each job's command line."""
    results: dict[Cell, dict[str, Samples]] = {}
    with ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, _terminate))
        shown = stack.enter_context(progress.bar(what))
        task = shown.add_task("starting the jobs", total=len(todo))
        jobs = []
        for spec in specs:
            jobs.append(Job(spec, ranks, bind))
            stack.callback(jobs[-1].close)
        for job in jobs:
            job.wait_until_ready()
        for cell in todo:
            results[cell] = measure(cell, jobs, seconds)
            times = ", ".join(f"{name} {format_us(samples.median)}" for name, samples in results[cell].items())
            shown.update(task, advance=1, description=f"{cell.operation} {size(cell)}: {times} µs")
    return results, {job.spec.name: str(job.launch) for job in jobs}
