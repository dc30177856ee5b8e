"""omnes regret: how much slower what omnes chooses is than the best that it could choose, as predicted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from omnes.errors import OmnesError, UsageError, one_of
from omnes.models import quality
from omnes.models.prediction import MachineCosts, Ranks
from omnes.models.quality import PredictedCase
from omnes.placement import patterns
from omnes.terminal import options, output, progress, units


@click.command()
@click.argument("operations", nargs=-1, metavar="[OPERATION]...")
@click.option(
    "--nodes",
    default="2..1024x1..64",
    show_default=True,
    metavar="WHERE",
    help="Nodes, and ranks on each: 64x8, or 2..64x1,8 (2 to 64 doubling, with 1 rank and with 8); of ranks in order "
    "(block), dealt to the nodes ('64x8 cyclic') or, where neither is said, both.",
)
@options.sizes("8..2M:4")
@options.costs_file()
@click.option("--table", default="", metavar="FILE", help="As for omnes explain.")
@click.option(
    "--above", type=options.Real(1), default=1.1, show_default=True, metavar="TIMES", help="List what is slower."
)
@click.option("--most", type=click.IntRange(0), default=40, show_default=True, metavar="N", help="List at most N.")
@options.for_scripts
def command(
    operations: tuple[str, ...],
    nodes: str,
    sizes: str,
    path: Path | None,
    table: str,
    above: float,
    most: int,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """List where another algorithm would be faster than the one that omnes chooses, by its own predictions.

    The regret of a choice is its predicted time over that of the best: of all that `omnes explain` lists, and of what
    the decision table has anywhere for the operation. Above 128 ranks, what was slow with fewer ranks is not tried
    again. All placements take hours; without -b and --nodes, be patient, or name operations.

    \b
    omnes regret scan --nodes 64x8 -b 16K
    omnes regret --nodes 2..16x1..8
    omnes regret bcast reduce --nodes "2..64x8 cyclic" --costs cluster.toml --json
    """
    for name in operations:
        one_of(name, quality.OPERATIONS, "operation that is predicted")
    machine = MachineCosts.load(path)
    groups = _groups(nodes)
    names = operations or quality.OPERATIONS
    with progress.bar("predicting") as shown:
        task = shown.add_task("", total=len(groups) * len(names))
        found = quality.cases(
            names, groups, units.parse_sizes(sizes), machine, table, lambda: shown.update(task, advance=1)
        )
    if not found:
        raise OmnesError(f"no case: the parts of {nodes} ranks would take more than 1G of each rank")
    records = [case.record for case in found]
    if output.deliver(to_json, {"machine": machine.facts["name"], "cases": records}, to_csv, records):
        _show(found, above, most)


def _groups(nodes: str) -> list[Ranks]:
    where = patterns.parse(nodes)
    if not where.alike or not where.nodes or not where.ranks:
        raise UsageError(f"'{nodes}' is no number of nodes and ranks: write 64x8, or 2..64x1,8")
    groups = quality.groups(where.nodes, where.ranks, where.orders or (False, True))
    if not groups or not all(1 < one.count <= patterns.MAX_RANKS for one in groups):
        raise UsageError(f"numbers of ranks are 2 to {patterns.MAX_RANKS}")
    return groups


def _show(found: Sequence[PredictedCase], above: float, most: int) -> None:
    console = Console()
    listed = sorted((case for case in found if case.regret > above), key=lambda case: -case.regret)
    if listed[:most]:
        table = Table(caption="times in µs")
        for column in ("operation", "ranks", "bytes", "chosen", "µs", "best", "µs", "×"):
            table.add_column(column, justify="right" if column in ("bytes", "µs", "×") else "left", overflow="fold")
        for case in listed[:most]:
            table.add_row(
                case.operation,
                str(case.ranks),
                units.format_bytes(case.bytes),
                case.choice,
                units.format_us(case.costs[case.choice]),
                case.best,
                units.format_us(case.costs[case.best]),
                f"{case.regret:.2f}",
            )
        console.print(table)
    summary = Table()
    for column in ("operation", "cases", f"above {above:g}", "worst ×", "geometric mean ×"):
        summary.add_column(column, justify="left" if column == "operation" else "right")
    names = dict.fromkeys(case.operation for case in found)
    for name in [*names, *(["all"] if len(names) > 1 else [])]:
        mine = [case for case in found if name in ("all", case.operation)]
        over = sum(case.regret > above for case in mine)
        summary.add_row(
            name, str(len(mine)), str(over), f"{quality.worst(mine).regret:.2f}", f"{quality.mean(mine):.3f}"
        )
    console.print(summary)
