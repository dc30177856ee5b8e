"""omnes run: starts an unmodified MPI program with the right library preloaded."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from omnes import _core
from omnes.errors import UsageError, from_core
from omnes.launching import arguments, launch, linkage, shims
from omnes.terminal import files, options, spellings

# What is told at the end (omnes.traces) is loaded then, and only if something is: programs start sooner.


class RunCommand(click.Command):
    """Separates the launcher's options and the program from omnes' own options before click parses the latter."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            args = ["--help"]
        own = [(name, getattr(param, "is_flag", False)) for param in self.params for name in param.opts]
        takes = {name: 0 if is_flag or name in spellings.TO_FILES else 1 for name, is_flag in own}
        takes.update({name: 0 for name in ctx.help_option_names})
        split = arguments.split(args, takes)
        ctx.obj = split
        return super().parse_args(ctx, spellings.current(self.name or "", split.own))


@click.command(cls=RunCommand, options_metavar="[OPTIONS] [MPIRUN OPTIONS] [--] PROGRAM [ARGS]...")
@click.option("-n", "-np", "--np", "ranks", type=options.number(1), metavar="N", help="Number of ranks.")
@click.option(
    "--stats",
    "with_stats",
    is_flag=True,
    help="Say at the end where the time went: collectives, late ranks, the rest of MPI; which algorithms ran.",
)
@click.option("--by-site", is_flag=True, help="Also by where in the program calls are made: function and line.")
@click.option("--stats-json", type=files.Output(allow_dash=True), metavar="FILE", hidden=True)
@options.for_scripts
@click.option(
    "--profile",
    type=files.Output(),
    metavar="FILE",
    help="Record what the program calls, and how its ranks wait for each other: for omnes advise, report, tune, map.",
)
@click.option(
    "--record",
    type=files.Output(),
    metavar="FILE",
    help="Record every collective call, in order: for omnes bench --replay. Packed if the name ends in .gz.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Name ranks that call different collectives or do not come, and buffers that are changed while in use.",
)
@click.option("--check-results", is_flag=True, help="The same, and compare all results with those of the MPI.")
@click.option(
    "--no-omnes", is_flag=True, help="The same launch on the stock MPI, for comparison; with --stats omnes only counts."
)
@click.option(
    "--mpirun",
    "launcher",
    metavar="PATH",
    help="This launcher (or MPI prefix) instead of the one that belongs to the program.",
)
@click.option("--lenient", is_flag=True, hidden=True, help="What is of no known MPI runs without omnes.")
@click.option("--verbose", is_flag=True, help="Show what is launched and why, then launch it.")
@click.option("--dry-run", is_flag=True, help="Show it, and launch nothing.")
@click.pass_context
def command(
    ctx: click.Context,
    ranks: int | None,
    with_stats: bool,
    by_site: bool,
    stats_json: Path | None,
    to_csv: Path | None,
    to_json: Path | None,
    profile: Path | None,
    record: Path | None,
    check: bool,
    check_results: bool,
    no_omnes: bool,
    launcher: str | None,
    lenient: bool,
    verbose: bool,
    dry_run: bool,
) -> None:
    """Run an MPI program with its collectives on omnes.

    Finds which MPI the program uses and that MPI's launcher, preloads the library that fits, and passes on signals
    and the exit code. Options that omnes does not know go to the launcher. Put -- before the program where the two
    could be confused. The command may begin with the launcher, whose options follow then: mpirun, mpiexec, srun, ...
    Of a command that is no MPI program, as a job script or make check, all that it starts by them runs on omnes.

    \b
    omnes run -n 8 ./app input.txt
    omnes run -n 4 --stats python solver.py
    omnes run -n 4 --stats --by-site --json=stats.json ./app
    omnes run -n 4 --no-omnes --profile stock.json ./app   then: omnes advise stock.json
    omnes run -n 8 --profile app.json ./app          then: omnes tune --from-profile app.json -o table.toml
    omnes run -n 4 --record app.trace ./app          then: omnes bench --replay app.trace
    omnes run -n 4 --check ./app                     when it hangs, or its ranks may disagree
    omnes run -n 8 --map-by core -- ./app -n 100
    omnes run mpirun -n 8 --map-by core ./app        omnes before the command as it was
    omnes run --stats ./job.sh                       all that a script starts by mpirun, mpiexec, srun
    OMNES_BCAST=knomial:k=4 omnes run -n 8 ./app     an algorithm forced in all forms of MPI_Bcast
    OMNES_IBCAST=chain omnes run -n 8 ./app          only in those that do not block
    """
    split: arguments.Arguments = ctx.obj
    if not split.program:
        raise UsageError("no program given: omnes run [-n N] [mpirun options] [--] PROGRAM [ARGS]")
    with_stats = with_stats or (by_site and not (to_json or to_csv or profile))
    want_report = with_stats or any(file is not None for file in (stats_json, to_json, to_csv, profile))
    if record and no_omnes:
        raise UsageError("--no-omnes runs without omnes, which records the calls: drop --record")
    if (check or check_results) and no_omnes:
        raise UsageError("--no-omnes runs without omnes, which checks the calls: drop " + _check_option(check_results))
    found = linkage.inspect_command(split.program, os.environ)
    if not (ranks or launcher or split.launcher) and shims.starts_launchers(split.program, found, os.environ):
        files_named = {
            "--record": record,
            "--profile": profile,
            "--json": to_json,
            "--csv": to_csv,
            "--stats-json": stats_json,
        }
        flags = {
            "--stats": with_stats,
            "--by-site": by_site,
            "--check": check,
            "--check-results": check_results,
            "--no-omnes": no_omnes,
            "--verbose": verbose,
        }
        sys.exit(
            _run_what_it_starts(
                split.program, found, files_named, [name for name, given in flags.items() if given], dry_run
            )
        )
    place = launch.meeting_place(split.launcher, launcher)
    with tempfile.TemporaryDirectory(prefix=".omnes-stats-", dir=place) as folder:
        prepared = launch.prepare(
            split.program,
            ranks,
            split.launcher,
            want_report or not no_omnes,
            launcher,
            {**_variables(folder, want_report, record is not None, no_omnes, by_site), **_checks(check, check_results)},
            notices=None if want_report else folder,
            yields=not no_omnes,
            found=found,
            lenient=lenient,
        )
        for line in [*([] if no_omnes else _checked_settings()), *prepared.warnings]:
            click.echo(f"omnes: {line}", err=True)
        if verbose or dry_run:
            click.echo("\n".join(launch.describe(prepared)), err=not dry_run)
        if dry_run:
            return
        code = launch.run(prepared)
        if want_report:
            _report(Path(folder), with_stats, split.program, stats_json, profile, to_json, to_csv)
        if record:
            _write_trace(Path(folder), record, split.program)
        if not want_report and any(Path(folder).iterdir()):
            _tell_notices(Path(folder))
    sys.exit(code)


def _run_what_it_starts(
    words: Sequence[str],
    found: linkage.Program,
    to_files: dict[str, Path | None],
    options: Sequence[str],
    dry_run: bool,
) -> int:
    """A command that is no MPI program: what it starts by mpirun and the like runs on omnes."""
    for name, file in to_files.items():
        if file is not None:
            raise UsageError(
                f"{name} is for one MPI program, and {words[0]} is none, but may start several; "
                f"put omnes run {name}=FILE before the launcher in it"
            )
    if dry_run:
        click.echo(f"{shlex.join(words)}    # each launcher in it: {shlex.join(['omnes', 'run', *options])} ...")
        return 0
    code, used = shims.run(words, options, os.environ)
    if not used and not arguments.is_launcher(words[0]):
        click.echo(
            f"omnes: nothing ran on omnes: {found.looked_at}, and it started no mpirun, mpiexec or srun", err=True
        )
    return code


def _variables(folder: str, report: bool, record: bool, off: bool, by_site: bool) -> dict[str, str]:
    """Switched off, omnes still counts what the MPI does, and how long that takes."""
    found = {"OMNES_STATS": folder, **({"OMNES_STATS_SITES": "1"} if by_site else {})} if report else {}
    return {**found, **({"OMNES_OFF": "1"} if report and off else {}), **({"OMNES_RECORD": folder} if record else {})}


def _check_option(results: bool) -> str:
    return "--check-results" if results else "--check"


def _checks(calls: bool, results: bool) -> dict[str, str]:
    return {"OMNES_CHECK": "results"} if results else {"OMNES_CHECK": "1"} if calls else {}


def _tell_notices(folder: Path) -> None:
    from omnes.traces import statistics

    if (notices := statistics.merge(folder)) and notices["wrong_family"]:
        click.echo(f"omnes: {statistics.wrong_family(notices)}", err=True)


def _write_trace(folder: Path, file: Path, program: Sequence[str]) -> None:
    from omnes.traces import assembly, events

    trace = assembly.merge(folder, program)
    if trace is None:
        click.echo(f"omnes: no trace: {assembly.why_none(folder)}", err=True)
        return
    events.write(file, trace)
    click.echo(f"omnes: {events.summary(trace)}", err=True)


def _checked_settings() -> list[str]:
    """What of the environment is ignored. What MPI_Init would refuse is found before anything is started."""
    with from_core():
        return _core.check_settings()


def _report(
    folder: Path,
    to_terminal: bool,
    program: Sequence[str],
    stats_json: Path | None,
    profile: Path | None,
    to_json: Path | None,
    to_csv: Path | None,
) -> None:
    """Each file begins with what it needs beyond the report."""
    from omnes.terminal import output
    from omnes.traces import statistics

    report = statistics.merge(folder)
    if report is None:
        click.echo("omnes: no rank left statistics: none called MPI_Finalize with omnes loaded", err=True)
        return
    for file, head in ((stats_json, {}), (profile, {**statistics.PROFILE, "program": program})):
        if file:
            text = json.dumps({**head, **report}, indent=2)
            click.echo(text) if str(file) == "-" else files.write(file, text + "\n")
    output.deliver(to_json, report, to_csv, report.get("kinds", []))
    if to_terminal:
        statistics.show(report, output.console(stderr=True))
