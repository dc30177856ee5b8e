"""omnes advise: what omnes would gain a program, from one recorded run of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from omnes.errors import OmnesError, UsageError
from omnes.models import advice
from omnes.models.prediction import MachineCosts, Ranks
from omnes.placement import patterns
from omnes.terminal import files, options, output
from omnes.terminal.units import format_bytes, format_seconds
from omnes.traces import shares, statistics

_SHOWN = 12  # kinds of calls


@click.command()
@click.argument("profile", type=options.FILE, metavar="PROFILE")
@options.nodes("as recorded")
@options.costs_file()
@options.for_scripts
def command(profile: Path, nodes: str | None, path: Path | None, to_csv: Path | None, to_json: Path | None) -> None:
    """Say what omnes would gain a program: its collectives' time without waiting for late ranks, as recorded on the
    stock MPI, against what the model predicts for omnes; and what cannot be gained.

    Of a run on omnes: what other algorithms would gain. omnes compare measures what this predicts.

    \b
    omnes run -n 8 --no-omnes --profile app.json ./app
    omnes advise app.json
    omnes advise app.json --costs machine.toml --nodes 2x4
    """
    recorded = statistics.load_profile(profile)
    if "kinds" not in recorded:
        raise OmnesError(
            f"{profile} does not say when ranks came to their calls: record it again with omnes run --profile"
        )
    machine = MachineCosts.load(path)
    with files.expecting(profile, "no profile that omnes run --profile has written"):
        found = advice.advise(recorded, machine, _place(nodes, recorded["ranks"]))
        late = shares.late(recorded)
    rows = [{**asdict(kind), "gain": kind.gain} for kind in sorted(found.kinds, key=lambda one: -one.moving)]
    data = {
        "answer": advice.answer(found),
        "ratio": found.ratio,
        "seconds": found.wall,
        "gain": found.gain,
        "moving": found.moving,
        "waiting": found.waiting,
        "kinds": rows,
        "hints": found.hints,
    }
    if not output.deliver(to_json, data, to_csv, rows):
        return
    console = output.console()
    for line in (advice.answer(found), advice.not_gained(found, late), *found.hints):
        console.print(escape(line), soft_wrap=True, highlight=False)
    if found.kinds:
        console.print(_table(found))
    if not advice.knows_machine(machine):
        console.print("Costs from the literature: those of your machine, by omnes measure, predict better", style="dim")


def _place(nodes: str | None, ranks: int) -> Ranks | None:
    if nodes is None:
        return None
    found = patterns.groups([ranks], patterns.parse(nodes), ranks)
    if len(found) != 1 or found[0].count != ranks:
        raise UsageError(f"--nodes: '{nodes}' are not the {ranks} ranks of the profile")
    return found[0]


def _table(found: advice.Advice) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("operation")
    for head in ("ranks", "bytes", "calls", "moving", "predicted"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("by")
    for kind in sorted(found.kinds, key=lambda one: -one.moving)[:_SHOWN]:
        predicted = "-" if kind.predicted is None else format_seconds(kind.predicted)
        cells = (str(kind.size), format_bytes(kind.bytes), f"{kind.calls:.0f}", format_seconds(kind.moving), predicted)
        table.add_row(kind.operation, *cells, escape(kind.choice))
    return table
