"""omnes demo: an unmodified program and a few benchmark cells, on the stock MPI and on omnes."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table

from omnes import programs
from omnes.bench import contenders, load, session, side_by_side
from omnes.bench.timing import Samples
from omnes.commands.bench import title
from omnes.errors import OmnesError, UsageError
from omnes.launching import cpus, launch, mpi
from omnes.terminal import options, output

_FEW = 8  # ranks at most where each has a core of its own; on larger machines CPUs are not shared either
_SHARING = 4  # ranks per core in the part where they share
_OPERATIONS = ("bcast", "reduce", "allreduce", "barrier")
_CELL_SECONDS = 0.8
_REPEATS = 3  # of the program on each side; the fastest counts
_LIMIT_SECONDS = 60
_TOLERANCE = 1e-5  # sums may be taken in another order
_NEXT = "Next: run your own program with  omnes run -n N --stats ./app  (omnes --help lists the rest)"


@click.command()
@options.one_mpi
def command(place: str | None) -> None:
    """Run an unmodified example program on the stock MPI and on omnes, then compare single operations. About a minute.

    \b
    omnes demo
    omnes demo --mpi /opt/mpich
    """
    console = output.console()
    chosen = mpi.named_or_first(place, os.environ)
    others = load.look()
    samples: list[Samples] = []
    few = min(max(2, cpus.usable_cores()), _FEW)
    parts: list[tuple[int, tuple[int, ...]]] = [(few, (8, 4096, 65536, 1 << 20))]
    if cpus.usable_cpus() <= _FEW:
        parts.append((_SHARING * few, (8, 4096)))
    counts = [ranks for ranks, _ in parts]
    console.print(f"{chosen.name} in {chosen.prefix}, stock and with omnes preloaded, on {_and(counts)} ranks")
    console.print(_program(chosen, counts, console))
    for ranks, sizes in parts:
        bound = ranks <= cpus.usable_cores()
        specs = contenders.jobs([chosen], cpus.are_shared(ranks), [])
        todo = session.cells(_OPERATIONS, sizes, "double")
        console.print(f"Measuring {len(todo)} cells on {ranks} ranks, both jobs in turn")
        results, _ = session.run(specs, todo, ranks, bound, _CELL_SECONDS, f"{ranks} ranks")
        console.print(side_by_side.table(specs, results, title(chosen.name, ranks, bound)))
        samples += [times for of_cell in results.values() for times in of_cell.values()]
    for warning in load.warnings(others, samples):
        console.print(f"[yellow]{warning}[/]", soft_wrap=True)
    console.print(_NEXT, soft_wrap=True)


def _and(counts: Sequence[int]) -> str:
    return " and ".join(map(str, counts))


def _program(chosen: mpi.Mpi, counts: Sequence[int], console: Console) -> Table:
    """Conjugate gradients: two small Allreduce per iteration, nothing else that omnes touches in the loop.

    Where ranks share CPUs, both sides get the settings that let the MPI yield: some would take minutes without.
    """
    path = str(programs.build("cg", chosen))
    table = Table("program", "ranks", title="conjugate gradients, an unmodified program")
    for name in ("stock ms", "omnes ms", "ratio"):
        table.add_column(name, justify="right")
    for ranks in counts:
        runs: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        with console.status(f"running cg on {ranks} ranks, stock and omnes in turn"):
            for _ in range(_REPEATS):
                for with_omnes, so_far in runs.items():
                    so_far.append(_run_once(path, chosen, ranks, with_omnes))
        norms = [norm for so_far in runs.values() for norm, _ in so_far]
        if max(norms) - min(norms) > _TOLERANCE * max(norms):
            raise UsageError(f"cg on {ranks} ranks computed different results: {min(norms)} and {max(norms)}")
        times = [sorted(seconds for _, seconds in runs[with_omnes]) for with_omnes in (False, True)]
        stock, omnes = (of_side[0] for of_side in times)
        table.add_row("cg", str(ranks), f"{stock * 1e3:.1f}", f"{omnes * 1e3:.1f}", _ratio(*times))
    return table


def _ratio(stock: Sequence[float], omnes: Sequence[float]) -> str:
    """Of the fastest runs, where the second fastest are near: else they may be so by chance. Both ascending."""
    low, high = stock[0] / omnes[:2][-1], stock[:2][-1] / omnes[0]
    return f"{stock[0] / omnes[0]:.2f}" if high <= side_by_side.CARRIES * low else side_by_side.span(low, high)


def _run_once(path: str, chosen: mpi.Mpi, ranks: int, with_omnes: bool) -> tuple[float, float]:
    """The norm of what the program computed, and the seconds it took."""
    where = f"cg on {ranks} ranks {'with omnes' if with_omnes else 'on the stock MPI'}"
    variables = chosen.yielding if cpus.are_shared(ranks) else {}
    prepared = launch.prepare([path], ranks, with_omnes=with_omnes, launcher=str(chosen.launcher), variables=variables)
    try:
        done = subprocess.run(
            prepared.command,
            env=prepared.full_environment(),
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{where} did not end in {_LIMIT_SECONDS} s") from None
    match = re.search(r"norm ([\d.e+]+), ([\d.]+) seconds", done.stdout)
    if done.returncode != 0 or not match:
        complaint = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise OmnesError(f"{where} failed: {complaint}")
    return float(match[1]), float(match[2])
