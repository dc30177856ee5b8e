"""omnes demo: an unmodified program and a few benchmark cells, on the stock MPI and on omnes."""

from __future__ import annotations

import os
import re
import subprocess

import click
from rich.console import Console
from rich.table import Table

from omnes import cpus, launch, mpi, programs
from omnes.bench import plan, report, session
from omnes.commands.bench import title
from omnes.errors import OmnesError

_SHARING = 4  # ranks per CPU in the oversubscribed part
_REPEATS = 3  # of the program on each side; the fastest counts
_LIMIT_SECONDS = 60


@click.command()
@click.option("--mpi", "place", metavar="PREFIX", help="This MPI instead of the first one found.")
def command(place: str | None) -> None:
    """Run an unmodified example program on the stock MPI and on omnes, then compare single operations. About a minute.

    \b
    omnes demo
    omnes demo --mpi /opt/mpich
    """
    console = Console()
    chosen = mpi.at(place, os.environ) if place else mpi.find(None, os.environ)
    if chosen is None:
        raise OmnesError("no MPI found in PATH or beside this Python; name one: --mpi PREFIX")
    few = max(2, cpus.usable_cores())
    many = _SHARING * few
    console.print(f"MPI: {chosen.name} ({chosen.prefix})")
    console.print(_program(chosen, (few, many), console))
    parts = (
        (few, ["bcast", "reduce", "allreduce", "barrier"], [8, 4096, 65536, 1 << 20]),
        (many, ["bcast", "reduce", "allreduce", "barrier"], [8, 4096]),
    )
    for ranks, operations, sizes in parts:
        bound = ranks <= cpus.usable_cores()
        specs = plan.jobs([chosen], ranks > cpus.usable_cpus(), [])
        todo = session.cells(operations, sizes, "double")
        results, _ = session.run(specs, todo, ranks, bound, 0.8, f"measuring, {ranks} ranks")
        console.print(report.table(specs, results, title(ranks, bound)))
    console.print("Next: run your own program with  omnes run -n N --stats ./app   (omnes --help lists the rest)")


def _program(chosen: mpi.Mpi, counts: tuple[int, ...], console: Console) -> Table:
    """Conjugate gradients: two small Allreduce per iteration, nothing else that omnes touches in the loop."""
    path = str(programs.build("cg", chosen))
    table = Table("program", "ranks", title="An unmodified program: conjugate gradients on a 64 x 64 grid")
    for name in ("stock ms", "omnes ms", "ratio"):
        table.add_column(name, justify="right")
    for ranks in counts:
        times: dict[bool, float] = {False: float("inf"), True: float("inf")}
        answers = set()
        with console.status(f"running cg on {ranks} ranks, stock and omnes in turn"):
            for _ in range(_REPEATS):
                for with_omnes in times:
                    answer, seconds = _run_once(path, chosen, ranks, with_omnes)
                    answers.add(answer)
                    times[with_omnes] = min(times[with_omnes], seconds)
        if len(answers) != 1:
            raise OmnesError(f"cg computed different results: {' / '.join(sorted(answers))}")
        table.add_row(
            "cg",
            str(ranks),
            f"{times[False] * 1e3:.1f}",
            f"{times[True] * 1e3:.1f}",
            f"{times[False] / times[True]:.2f}",
        )
    return table


def _run_once(path: str, chosen: mpi.Mpi, ranks: int, with_omnes: bool) -> tuple[str, float]:
    """What the program computed, and the seconds it took."""
    prepared = launch.prepare([path], ranks, with_omnes=with_omnes, launcher=str(chosen.launcher))
    done = subprocess.run(
        prepared.command,
        env=prepared.full_environment(),
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    match = re.search(r"(\d+ iterations .*), ([\d.]+) seconds", done.stdout)
    if done.returncode != 0 or not match:
        complaint = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise OmnesError(f"the example failed {'on omnes' if with_omnes else 'on the stock MPI'}: {complaint}")
    return match[1], float(match[2])
