"""A benchmark session: starts all jobs, measures all cells with progress shown, ends the jobs whatever happens."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import FrameType

from omnes.bench import variety
from omnes.bench.job import ONE_HOST, Job, JobSpec, Spread
from omnes.bench.parts import PARTS, SIZELESS
from omnes.bench.side_by_side import size
from omnes.bench.timing import Cell, Samples, measure
from omnes.terminal import progress

OPERATIONS = tuple(PARTS)
# Those that give a count for each part.
WITH_COUNTS = tuple(name for name in OPERATIONS if name.endswith(("v", "w"))) + ("reduce_scatter",)
FORMS = ("blocking", "nonblocking", "persistent")
COUNTS = ("equal", "unequal")
TYPE_BYTES = {"int": 4, "float": 4, "double": 8, "double_int": 16}
# Reductions, and the types that each is for: a program's own function, and minima with their places.
REDUCTIONS = {"sum": ("double", "float", "int"), "user": ("double",), "minloc": ("double_int",)}
REDUCING = tuple(name for name in OPERATIONS if "reduce" in name or name.endswith("scan"))
BUFFERS = ("warm", "cold")


def cells(
    operations: Sequence[str],
    sizes: Sequence[int],
    type_name: str,
    counts: Sequence[str] = ("equal",),
    form: str = "blocking",
    reduction: str = "sum",
    buffers: Sequence[str] = ("warm",),
    arrivals: Sequence[str] = ("",),
) -> list[Cell]:
    """A barrier has no size, so it is one cell; only operations with a count for each part can have unequal ones.

    Where nothing but unequal counts, cold buffers, another form or another reduction is asked for, the operations that
    cannot have them are left out.
    """
    return [
        Cell(operation, bytes_, type_name, of_parts, form, reduction, where, pattern)
        for operation in operations
        if reduction == "sum" or operation in REDUCING
        if variety.has_form(operation, form, operation in WITH_COUNTS, operation in REDUCING)
        for bytes_ in ([0] if operation in SIZELESS else sizes)
        for of_parts in counts
        if of_parts == "equal" or operation in WITH_COUNTS or (of_parts == "random" and operation not in SIZELESS)
        for where in buffers
        if where != "cold" or operation not in SIZELESS
        for pattern in arrivals
    ]


def end_on_sigterm(stack: ExitStack) -> None:
    """While the stack lives, SIGTERM ends this process as Ctrl-C does: the jobs are ended on the way out."""

    def terminate(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, terminate))


def run(
    specs: Sequence[JobSpec],
    todo: Sequence[Cell],
    ranks: int,
    bind: bool,
    seconds: float,
    what: str,
    forms: Sequence[str] = ("blocking",),
    spread: Spread = ONE_HOST,
) -> tuple[dict[Cell, dict[str, Samples]], dict[str, str]]:
    """Times by cell (in all these forms) and job name, and each job's command line."""
    results: dict[Cell, dict[str, Samples]] = {}

    def one(cell: Cell, jobs: Sequence[Job]) -> None:
        group = [replace(cell, form=form) for form in forms]
        results.update(measure(group, jobs, seconds))

    return results, with_jobs(specs, todo, ranks, bind, what, one, spread)


def with_jobs(
    specs: Sequence[JobSpec],
    todo: Sequence[Cell],
    ranks: int,
    bind: bool,
    what: str,
    work: Callable[[Cell, Sequence[Job]], None],
    spread: Spread = ONE_HOST,
) -> dict[str, str]:
    """Does the work for each cell while all jobs are alive; returns each job's command line."""
    with ExitStack() as stack:
        end_on_sigterm(stack)
        shown = stack.enter_context(progress.bar(what))
        task = shown.add_task("starting the jobs", total=len(todo))
        jobs: list[Job] = []
        for spec in specs:
            jobs.append(Job(spec, ranks, bind, spread))
            stack.callback(jobs[-1].close)
        for job in jobs:
            job.wait_until_ready()
        for cell in todo:
            shown.update(task, description=f"{cell.operation} {size(cell)}")
            work(cell, jobs)
            shown.update(task, advance=1)
    return {job.spec.name: str(job.launch) for job in jobs}
