"""omnes verify: proves the catalogue, or a part of it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from omnes import _core
from omnes.algorithms import catalogue, verification
from omnes.errors import OmnesError, UsageError, from_core
from omnes.launching import cpus
from omnes.terminal import files, options, progress, units
from omnes.terminal.output import deliver


@click.command()
@click.argument("what", metavar="[OPERATION[/ALGORITHM]]", required=False)
@click.option(
    "-n", "ranks", default="1..17", show_default=True, metavar="RANGE", help="Numbers of ranks, such as 8 or 1..17,32."
)
@click.option(
    "-j", "--jobs", type=options.number(1), metavar="N", help="Processes to prove with.  [default: the usable CPUs]"
)
@click.option(
    "--schedules",
    "path",
    type=options.FILE,
    metavar="FILE",
    help="Prove what the file holds instead: all ranks' schedules, as omnes draw --rank writes one.",
)
@options.json_only
def command(what: str | None, ranks: str, jobs: int | None, path: Path | None, to_json: Path | None) -> None:
    """Prove that algorithms are correct: all roots, in place and not, several radices and numbers of segments.

    The proof runs all ranks' schedules symbolically: every block ends with what the operation promises, nothing is
    read before it is written, every message is matched, and nothing deadlocks even if every send waits for its
    receiver. A fault is shown at the smallest number of ranks where it appears, and the exit code is 1.

    \b
    omnes verify
    omnes verify allreduce -n 1..33
    omnes verify bcast/knomial -n 64
    omnes verify --schedules mine.txt
    """
    if path is not None:
        if what:
            raise UsageError(f"the file says what to prove: leave out {what}, or --schedules")
        sys.exit(_prove_file(path, to_json))
    algorithms = catalogue.select(what)
    counts = units.parse_counts(ranks)
    outcomes = []
    with progress.bar("proving") as shown:
        task = shown.add_task("", total=len(algorithms) * len(counts))
        for outcome in verification.prove_all(algorithms, counts, jobs or cpus.usable_cpus()):
            outcomes.append(outcome)
            shown.update(task, advance=1, description=f"{outcome.name} p={outcome.p}")
    faults = verification.smallest_faults(outcomes)
    proved = sum(outcome.proved for outcome in outcomes)
    if deliver(to_json, {"proved": proved, "outcomes": [asdict(outcome) for outcome in outcomes]}):
        for fault in faults:
            click.echo(f"{fault.name} fails at {fault.fault}")
        good = len(algorithms) - len(faults)
        click.echo(f"{good} of {len(algorithms)} algorithms proved on {proved} problems, p = {ranks}")
    sys.exit(1 if faults else 0)


def _prove_file(path: Path, to_json: Path | None) -> int:
    """The exit code: whether a fault was found. Lines that begin with # are comments."""
    schedules: list[list[str]] = []
    for line in files.read(path).splitlines():
        if line.partition(" p ")[0] in _core.operations():  # the head of the next rank's
            schedules.append([])
        if line.strip() and not line.startswith("#"):
            if not schedules:
                raise OmnesError(f"{path} begins with '{line}'; expected a schedule's head, such as 'bcast p 4 rank 0'")
            schedules[-1].append(line)
    if not schedules:
        raise OmnesError(f"{path} holds no schedules, such as omnes draw --rank writes")
    with from_core():
        fault = _core.verify_texts(["\n".join([*lines, ""]) for lines in schedules])
    if deliver(to_json, {"proved": fault is None, "ranks": len(schedules), "fault": fault}):
        click.echo(f"{path} fails at {fault}" if fault else f"{path} is proved on {len(schedules)} ranks")
    return 1 if fault else 0
