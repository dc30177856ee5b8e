"""Real programs, unmodified: the stock MPI against omnes; README.md beside this file says how to use it."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from lab.applications import applications_page, description, installing, measuring
from lab.applications.running import STOCK, WAYS, Case
from omnes.bench import host
from omnes.errors import OmnesError
from omnes.terminal import files, progress, toml_files

HERE = Path(__file__).resolve().parent
RANKS = (2, 4, 8)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[PROGRAM]...")
@click.option("-n", "ranks", type=click.IntRange(1), multiple=True, metavar="N", help="Ranks.  [default: 2, 4 and 8]")
@click.option("--times", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Rounds of a case.")
@click.option("--mpi", "mpis", type=click.Choice(list(description.MPIS)), multiple=True, help="Only this one.")
@click.option(
    "--way",
    "ways",
    type=click.Choice([way for way in WAYS if way != STOCK]),
    multiple=True,
    help="Only so, and the stock MPI.  [default: all]",
)
@click.option(
    "--install", is_flag=True, help="Bring what is missing: packages by apt, sources by git. Measures nothing."
)
@click.option("--results", metavar="FILE", help="Without its ending.  [default: today's in bench/results]")
@click.option("--page", "only_page", is_flag=True, help="Write the page anew from what was measured.")
@click.option("--list", "only_list", is_flag=True, help="Say which programs there are.")
def main(
    names: tuple[str, ...],
    ranks: tuple[int, ...],
    times: int,
    mpis: tuple[str, ...],
    ways: tuple[str, ...],
    install: bool,
    results: str | None,
    only_page: bool,
    only_list: bool,
) -> None:
    """Measure real MPI programs, as bench/programs describes them: the stock MPI, omnes, omnes with a shared heap.

    A program is the name of a file there, or the path of another one; without names it is all that are installed. What
    was measured is kept: the same command goes on where it was interrupted.

    \b
    bench/run applications --install lammps scalapack-lu
    bench/run applications lammps scalapack-lu -n 2 --times 10
    bench/run applications --page --results bench/results/NAME
    """
    programs = [description.read(path) for path in toml_files.pick(HERE / "programs", list(names), "program")]
    if only_list:
        for program in programs:
            click.echo(f"{program.name:<16} {', '.join(program.mpi):<16} {' '.join(program.why.split())}")
        return
    if install:
        bring(programs, mpis, True, bool(names))
        return
    default = HERE / "results" / f"{datetime.date.today()}-{host.name()}-applications"
    path = Path(f"{results or default}.jsonl")
    records = measuring.Records(files.packed(path) if only_page else path)
    if only_page and not records.campaign:
        raise OmnesError(f"no results in {records.path}; name some: --results FILE, without its ending")
    if not only_page:
        cases = cases_of(programs, mpis, ranks, bool(names))
        if not cases:
            raise OmnesError("nothing to measure: no program is installed (--install), or none runs with so many ranks")
        click.echo(f"== results: {records.path}", err=True)
        with progress.Steps("cases") as steps:
            measuring.measure(cases, times, records, steps.begin, (STOCK, *ways) if ways else tuple(WAYS))
    everything = {path.stem: description.read(path) for path in toml_files.pick(HERE / "programs", [], "program")}
    everything.update((program.name, program) for program in programs)
    click.echo(applications_page.write(records, list(everything.values())))


def cases_of(programs, mpis, ranks, named):
    """Each program that is there, by the numbers of ranks that it runs with."""
    return [
        Case(program, name, mpi, count, inputs)
        for program, name, mpi, inputs in bring(programs, mpis, False, named)
        for count in ranks or RANKS
        if program.runs_with(count)
    ]


def bring(programs, mpis, install, named):
    """What is there, or is brought; what is missing is an error where it was named, else it is left out and said."""
    found = []
    for program in programs:
        for name in mpis or description.MPIS:
            if name not in program.mpi:
                continue
            try:
                mpi = installing.system_mpi(name, install)
                inputs = installing.bring(program, name, mpi, install)
            except OmnesError as fault:
                if named:
                    raise
                click.echo(f"left out: {fault.message}", err=True)
                continue
            found.append((program, name, mpi, inputs))
    return found


if __name__ == "__main__":
    main()
