"""Real programs: what `omnes advise` says that omnes would gain, beside what it gains.

One run on the stock MPI with statistics is the profile. Then the stock MPI and omnes take turns. Some runs on omnes
with statistics say how large a share of the time moves data there.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import click

from applications import HERE, cases_of
from lab.applications import description
from lab.applications.running import OMNES, STOCK, Case, RunFailed, profile, run
from omnes.bench.confidence import known, ratios
from omnes.errors import OmnesError
from omnes.models import advice
from omnes.models.prediction import MachineCosts
from omnes.terminal import options, output, progress, toml_files

_PROFILES = 3  # on omnes


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[PROGRAM]...")
@click.option("-n", "ranks", type=click.IntRange(2), multiple=True, metavar="N", help="Ranks.  [default: 2, 4 and 8]")
@click.option("--times", type=click.IntRange(2), default=7, show_default=True, metavar="N", help="Rounds of a case.")
@click.option("--mpi", "mpis", type=click.Choice(list(description.MPIS)), multiple=True, help="Only this one.")
@options.costs_file()
@click.option("--json", "to_json", type=options.OUTPUT, metavar="FILE", help="Write the figures to a file.")
def main(
    names: tuple[str, ...],
    ranks: tuple[int, ...],
    times: int,
    mpis: tuple[str, ...],
    path: Path | None,
    to_json: Path | None,
) -> None:
    """Compare what omnes advise predicts for real programs with what omnes gains them.

    \b
    bench/run advised scalapack-lu -n 2 --costs machine.toml
    """
    programs = [description.read(one) for one in toml_files.pick(HERE / "programs", list(names), "program")]
    cases = cases_of(programs, mpis, ranks, bool(names))
    if not cases:
        raise OmnesError("nothing to measure: no program is installed (bench/run applications --install)")
    machine = MachineCosts.load(path)
    rows = []
    with progress.Steps("cases") as steps:
        for number, case in enumerate(cases):
            steps.begin(number, len(cases), f"{case.program.name}, {case.ranks} ranks", None)
            try:
                rows.append(_row(case, times, machine))
            except RunFailed as fault:
                click.echo(
                    f"left out: {case.program.name}, {case.mpi.name}, {case.ranks} ranks: {fault.message}", err=True
                )
    output.deliver(to_json, rows)
    click.echo("Times as fast as on the stock MPI; shares of the time in which collectives move data.\n")
    click.echo("| program | MPI | ranks | waiting | predicted | measured | moving, stock | predicted | measured |")
    click.echo(f"|{'---|' * 9}")
    for row in rows:
        is_predicted = row["predicted"] is not None
        click.echo(
            f"| {row['program']} | {row['mpi']} | {row['ranks']} | {row['waiting']:.0%}"
            f" | {format(row['predicted'], '.3f') if is_predicted else '-'}"
            f" | {row['measured']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
            f" | {row['moving']:.2%} | {format(row['moving_predicted'], '.2%') if is_predicted else '-'}"
            f" | {row['moving_measured']:.2%} |"
        )
    _say_errors("Times as fast", rows, "predicted", "measured")
    _say_errors("Shares", rows, "moving_predicted", "moving_measured")


def _say_errors(what: str, rows: list[dict[str, Any]], predicted: str, measured: str) -> None:
    errors = [abs(row[predicted] / row[measured] - 1) for row in rows if row[predicted] is not None]
    if errors:
        middle, most = statistics.median(errors), max(errors)
        click.echo(f"\n{what}: predicted over measured is off by {middle:.1%} in the median, {most:.1%} at most.")


def _row(case: Case, times: int, machine: MachineCosts) -> dict[str, Any]:
    stock = run(case, STOCK).text
    _, report = profile(case, STOCK, stock)
    found = advice.advise(report, machine, None)
    seconds: dict[str, list[float]] = {STOCK: [], OMNES: []}
    for number in range(times):
        for way in (STOCK, OMNES) if number % 2 == 0 else (OMNES, STOCK):
            seconds[way].append(run(case, way, stock).seconds)
    gained = known(ratios(seconds[STOCK], seconds[OMNES], "less"))
    shares = [advice.advise(profile(case, OMNES, stock)[1], machine, None).share for _ in range(_PROFILES)]
    return {
        "program": case.program.name,
        "mpi": case.mpi.name,
        "ranks": case.ranks,
        "waiting": found.waiting / found.wall,
        "moving": found.share,
        "moving_predicted": None if found.share_cpus else found.share_then,
        "moving_measured": statistics.median(shares),
        "predicted": None if found.share_cpus else found.ratio,
        "measured": gained.median,
        "low": gained.low,
        "high": gained.high,
    }


if __name__ == "__main__":
    main()
