"""omnes report: measurements, predictions, decisions and schedules on one page."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from omnes import _core
from omnes.algorithms import tables
from omnes.algorithms.selection import OPERATIONS, decide
from omnes.errors import OmnesError, from_core, one_of
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.reporting import (
    charts,
    choices,
    machine,
    page,
    pictures,
    predictions,
    program,
    ratios,
    simulated,
    violations,
)
from omnes.terminal import files, options, units
from omnes.terminal.options import FILE, number
from omnes.traces import statistics

_REGULAR = tuple(name for name in OPERATIONS if not name.endswith(("v", "w")) and name != "reduce_scatter")


@click.command()
@options.output("The page: FILE.html.", required=True)
@click.option("--bench", multiple=True, type=FILE, metavar="FILE", help="By bench/run (.jsonl) or omnes bench --json.")
@click.option("--costs", "machine_file", type=FILE, metavar="FILE", help="Made by omnes measure.")
@click.option("--measured", multiple=True, type=FILE, metavar="FILE", help="Times by algorithm, by bench/run accuracy.")
@click.option("--simulate", multiple=True, type=FILE, metavar="FILE", help="By omnes simulate -o or --json.")
@click.option("--guidelines", multiple=True, type=FILE, metavar="FILE", help="By omnes check-guidelines --json.")
@click.option(
    "--profile", "profiles", multiple=True, type=FILE, metavar="FILE", help="Of a program, by omnes run --profile."
)
@click.option("--table", type=FILE, metavar="FILE", help="A decision table.  [default: the compiled-in one]")
@click.option("--only", metavar="OPERATION,...", help="These operations.  [default: all with equal parts]")
@click.option("-n", "ranks", type=number(2), metavar="N", help="Ranks, for curves by size.  [default: 8, or measured]")
@click.option("--scale", "counts", default="2..512", show_default=True, metavar="LIST", help="For curves by ranks.")
@click.option("-b", "--bytes", "size", default="16K", show_default=True, metavar="BYTES", help="For curves by ranks.")
@options.nodes("the machine's nodes")
@click.option("--title", default="omnes report", show_default=True, metavar="TEXT")
def command(
    output: Path,
    bench: tuple[Path, ...],
    machine_file: Path | None,
    measured: tuple[Path, ...],
    simulate: tuple[Path, ...],
    guidelines: tuple[Path, ...],
    profiles: tuple[Path, ...],
    table: Path | None,
    only: str | None,
    ranks: int | None,
    counts: str,
    size: str,
    nodes: str | None,
    title: str,
) -> None:
    """Write one page with all that is known: the machine, ratios to peers, predictions beside measurements and their
    errors, which algorithm runs where, and pictures of schedules and traffic.

    The page needs no network and no other file. What no data are given for is left out; decisions, predictions and
    schedules need none.

    \b
    omnes report -o report.html
    omnes report -o report.html --costs machine.toml --measured measured.jsonl --bench bench/results/NAME.jsonl
    omnes report -o report.html --simulate results.jsonl --only allreduce,bcast --table table.toml
    """
    charts.require()
    operations = _operations(only)
    model = MachineCosts.load(machine_file)
    by_ranks = prediction.groups(counts, nodes, model)
    points = [point for path in measured for point in predictions.read(path)]
    points = [point for point in points if point.operation in operations]
    if measured and not points:
        raise OmnesError(f"no measurement of {', '.join(operations)} in {', '.join(map(str, measured))}")
    by_size = Ranks(ranks or max((point.ranks for point in points), default=8), by_ranks[0].per_node)
    # What reads files comes first, so that a wrong one is told before much is predicted.
    with from_core():
        _core.rules(str(table or tables.OFF))
    measured_ones = [
        *([ratios.section(bench)] if bench else []),
        *([violations.section(guidelines)] if guidelines else []),
    ]
    simulations = [simulated.section(simulate, operations if only else ())] if simulate else []
    with from_core():
        source = table.name if table else "the compiled-in table"
        largest = by_ranks[-1].count
        places = [("all ranks on one node", largest), ("one rank on each node", 1)]
        if 1 < (per_node := by_ranks[0].per_node) < largest:
            places.insert(1, (f"{per_node} ranks on each node", per_node))
        maps = [(where, decide(str(table or ""), source, largest, each, operations)) for where, each in places]
    sections = [
        *_programs(profiles),
        machine.section(model),
        *measured_ones,
        predictions.curves(model, operations, by_size, by_ranks, units.parse_bytes(size), points, str(table or "")),
        *([predictions.errors(model, points)] if points else []),
        *simulations,
        choices.section(maps, operations),
        pictures.section([one for _, one in maps], operations),
    ]
    given = [
        str(path.name) for path in (*bench, machine_file, *measured, *simulate, *guidelines, *profiles, table) if path
    ]
    about = [
        f"Made on {datetime.date.today()} by omnes {_core.__version__} "
        + (f"from {', '.join(given)}." if given else "without measurements: from the compiled-in machine and table.")
    ]
    text = page.render(title, about, sections, operations)
    files.write(output, text)
    click.echo(f"wrote {output}: {', '.join(one.title for one in sections)}")


def _programs(profiles: Sequence[Path]) -> Iterator[page.Section]:
    for place, path in enumerate(profiles, 1):
        recorded = statistics.load_profile(path)
        with files.expecting(path, "no profile that omnes run --profile has written"):
            yield program.section(place, str(path), recorded)


def _operations(only: str | None) -> Sequence[str]:
    names = only.split(",") if only else _REGULAR
    return [one_of(name, OPERATIONS, "operation") for name in names]
