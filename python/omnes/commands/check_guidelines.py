"""omnes check-guidelines: operations that take longer than what could replace them, on the stock MPI and on omnes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from omnes.bench import contenders, session
from omnes.bench.job import Job, JobSpec
from omnes.bench.timing import Cell, measure
from omnes.commands.bench import title
from omnes.errors import UsageError, one_of
from omnes.launching import cpus, mpi
from omnes.models import guidelines
from omnes.models.guidelines import TOLERANCE, Verdict
from omnes.terminal import options, output, units


@click.command(name="check-guidelines")
@click.argument("operations", nargs=-1, metavar="[OPERATION]...")
@click.option("-n", "ranks", type=options.number(2), default=2, show_default=True, metavar="N", help="Number of ranks.")
@options.sizes("8,1K,64K", "Of one part.")
@options.one_mpi
@options.bind
@options.seconds(0.2, "Time for a cell.", 0.01)
@click.option(
    "--tolerance",
    type=options.Real(0),
    default=TOLERANCE,
    show_default=True,
    help="Share by which an operation may be slower before it counts.",
)
@options.for_scripts
def command(
    operations: tuple[str, ...],
    ranks: int,
    sizes: str,
    place: str | None,
    bind: bool | None,
    seconds: float,
    tolerance: float,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """Find operations that take longer than others that do the same together, on the stock MPI and on omnes.

    Such as an allreduce that takes longer than a reduce and a broadcast, a broadcast of n bytes that takes longer than
    one of 2n, or one of 2n that takes longer than two of n (Träff, Gropp, Thakur 2010). All operations take turns; a
    violation is one when its 95 % confidence interval says so.

    \b
    omnes check-guidelines -n 2
    omnes check-guidelines allreduce reduce bcast -n 8 -b 8..64K:8 --mpi /opt/mpich
    omnes check-guidelines --json=violations.json
    """
    names = operations or tuple(guidelines.operations())
    for name in names:
        one_of(name, guidelines.operations(), "guideline for")
    parts = units.parse_multiples(sizes, session.TYPE_BYTES["double"], "double")
    chosen = mpi.named_or_first(place, os.environ)
    bound = ranks <= cpus.usable_cores() if bind is None else bind
    specs = contenders.jobs([chosen], cpus.are_shared(ranks), ())
    verdicts = _measure(specs, parts, ranks, bound, seconds, names)
    data = {"mpi": chosen.name, "ranks": ranks, "bound": bound, "tolerance": tolerance}
    records = [_as_data(one, tolerance) for one in verdicts]
    if output.deliver(to_json, {**data, "verdicts": records}, to_csv, records):
        _show(verdicts, specs, tolerance, title(chosen.name, ranks, bound))


def _measure(
    specs: Sequence[JobSpec], parts: Sequence[int], ranks: int, bound: bool, seconds: float, names: Sequence[str]
) -> list[Verdict]:
    verdicts: list[Verdict] = []
    groups = {part: guidelines.of_size(part, ranks, names) for part in parts}
    if not all(groups.values()):
        raise UsageError(f"no guideline is about {', '.join(names)} alone: name the operations of its right side, too")

    def one(all_of_part: Cell, jobs: Sequence[Job]) -> None:
        part = all_of_part.bytes
        results = measure(guidelines.cells_of(groups[part]), jobs, seconds)
        verdicts.extend(guidelines.judge(groups[part], part, results))

    todo = [Cell("all", part, "double") for part in parts]
    session.with_jobs(specs, todo, ranks, bound, f"{ranks} ranks", one)
    return verdicts


def _as_data(one: Verdict, tolerance: float) -> dict[str, Any]:
    return {
        "guideline": one.guideline.text,
        "job": one.job,
        "bytes": one.part,
        "left": one.left,
        "right": one.right,
        "factor": one.factor.median,
        "interval": one.factor.interval,
        "broken": one.broken(tolerance),
    }


def _show(verdicts: Sequence[Verdict], specs: Sequence[JobSpec], tolerance: float, heading: str) -> None:
    """What is broken on one of the jobs, with its factor on all."""
    table = Table(title=heading, caption="µs of the left side; ×: left / right; red: broken")
    table.add_column("guideline", overflow="fold")
    table.add_column("part", justify="right", no_wrap=True)
    for spec in specs:
        for column in (f"{spec.label} µs", "×"):
            table.add_column(column, justify="right", no_wrap=True)
    cases: dict[tuple[str, int], dict[str, Verdict]] = {}
    for one in verdicts:
        cases.setdefault((one.guideline.text, one.part), {})[one.job] = one
    worst = {
        case: max(one.factor.median for one in by_job.values() if one.broken(tolerance))
        for case, by_job in cases.items()
        if any(one.broken(tolerance) for one in by_job.values())
    }
    for case in sorted(worst, key=lambda case: -worst[case]):
        row = [case[0], units.format_bytes(case[1])]
        for spec in specs:
            verdict = cases[case].get(spec.name)
            if verdict is None:
                row += ["-", "-"]
                continue
            factor = f"{verdict.factor.median:.2f}"
            row += [units.format_us(verdict.left), f"[red]{factor}[/]" if verdict.broken(tolerance) else factor]
        table.add_row(*row)
    console = output.console()
    if worst:
        console.print(table)
    for spec in specs:
        mine = [one for one in verdicts if one.job == spec.name]
        broken = [one for one in mine if one.broken(tolerance)]
        least = f", the worst by {max(one.factor.median for one in broken):.2f}" if broken else ""
        console.print(f"{spec.label}: {len(broken)} of {len(mine)} broken{least}", highlight=False)
