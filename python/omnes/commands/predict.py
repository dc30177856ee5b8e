"""omnes predict: how long algorithms will take, for any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table

from omnes import _core
from omnes.algorithms import catalogue
from omnes.errors import UsageError, from_core
from omnes.models import prediction
from omnes.models.prediction import PARTS, MachineCosts, Ranks
from omnes.terminal import options, output, progress, units


@click.command()
@click.argument("what", metavar="OPERATION[/ALGORITHM[:PARAMETERS]]")
@click.option("-n", "counts", metavar="N", help="Ranks: 64, or 16..8192 (doubling), or 6,48.")
@options.sizes("8,16K,1M")
@options.nodes("the machine's nodes")
@options.costs_file()
@click.option("--table", metavar="FILE", help="Mark with * what omnes would choose with this table; off: with none.")
@click.option("--reduction", default="f64 sum", show_default=True, metavar="'TYPE OP'", help="Of the file of costs.")
@click.option(
    "--model",
    type=click.Choice(["simulation", "hockney"]),
    default="simulation",
    show_default=True,
    help="Hockney: closed formulas with a latency and a bandwidth.",
)
@click.option("--alpha", default="2.37us", show_default=True, metavar="TIME", help="hockney: latency of a message.")
@click.option("--bandwidth", default="3183MB/s", show_default=True, metavar="RATE", help="hockney: rate of a link.")
@click.option("--gamma", default="0.0142ns", show_default=True, metavar="TIME", help="hockney: time to combine a byte.")
@options.for_scripts
def command(
    what: str,
    counts: str | None,
    sizes: str,
    nodes: str | None,
    path: Path | None,
    table: str | None,
    reduction: str,
    model: str,
    alpha: str,
    bandwidth: str,
    gamma: str,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """Predict times, and what the critical path consists of: latency, bandwidth, overhead, reduction, copying.

    Simulates the very schedules that would run, on the machine that a file describes. Without an algorithm: all of
    them, the fastest first. docs/models.md explains the model and how far to trust it.

    \b
    omnes predict allreduce/ring -n 16..8192 -b 16K
    omnes predict bcast/knomial:k=4,segment=64K --nodes 8x8 -b 1M --costs cluster.toml
    omnes predict allreduce -n 64 -b 8,64K --table table.toml
    omnes predict bcast --model hockney --alpha 2.37us --bandwidth 3183MB/s -n 8192 -b 128
    """
    operation, _, choice = what.partition("/")
    catalogue.select(what.partition(":")[0])  # refuses what is no operation, or no algorithm of it
    part_sizes = units.parse_sizes(sizes)
    if model == "hockney":
        machine = MachineCosts.load(None)
        constants = (
            prediction.parse_seconds(alpha),
            1 / prediction.parse_bandwidth(bandwidth),
            prediction.parse_seconds(gamma),
        )
        rows = list(_by_formula(operation, choice, prediction.groups(counts, nodes, machine), part_sizes, constants))
        title = f"α = {alpha}, {bandwidth}, γ = {gamma}/B"
    else:
        machine = MachineCosts.load(path)
        if reduction not in machine.facts["reductions"]:
            known = ", ".join(machine.facts["reductions"])
            raise UsageError(f"--reduction: the file of costs has no {reduction!r}; it has {known}")
        groups = prediction.groups(counts, nodes, machine)
        rows = _simulated(operation, choice, groups, part_sizes, machine, reduction, table)
        title = f"machine: {machine.facts['name']} ({machine.facts['source']})"
    if output.deliver(to_json, {"machine": title, "predictions": rows}, to_csv, rows):
        output.console().print(as_table(operation, rows, title, with_formula=model == "hockney"))


def _by_formula(
    operation: str, choice: str, groups: list[Ranks], sizes: list[int], constants: tuple[float, float, float]
) -> Iterator[dict[str, Any]]:
    rows = [row for row in _core.formulas() if row["operation"] == operation and choice in ("", row["algorithm"])]
    if not rows:
        known = ", ".join(f"{row['operation']}/{row['algorithm']}" for row in _core.formulas())
        raise UsageError(f"no formula for {operation}{'/' if choice else ''}{choice}; there are {known}")
    for ranks in groups:
        for size in sizes:
            for row in rows:
                seconds = _core.hockney(operation, row["algorithm"], ranks.count, size, *constants)
                yield {
                    "algorithm": row["algorithm"],
                    "ranks": ranks.count,
                    "bytes": size,
                    "seconds": seconds,
                    "formula": row["text"],
                }


def _simulated(
    operation: str,
    choice: str,
    groups: list[Ranks],
    sizes: list[int],
    machine: MachineCosts,
    reduction: str,
    table: str | None,
) -> list[dict[str, Any]]:
    """One algorithm: what prevents it is an error. All of them: those that can, the fastest first."""
    names = [choice] if choice else [a["name"] for a in catalogue.select(operation)]
    if choice:
        with from_core():
            _core.parse_choice(operation, choice)
    rows: list[dict[str, Any]] = []
    with progress.bar("predicting") as shown:
        task = shown.add_task("", total=len(groups) * len(names))
        for ranks in groups:
            of_group = []
            chosen = {}
            if table is not None and not choice:
                chosen = {
                    size: prediction.chosen(operation, ranks, size, table=table, machine=machine.text)["text"]
                    for size in sizes
                }
            for name in dict.fromkeys([*names, *chosen.values()]):
                shown.update(task, description=f"{name}, {ranks.count} ranks")
                if choice or not prediction.why_not(operation, name, ranks.count):
                    for one in prediction.predict(operation, name, ranks, sizes, machine, reduction):
                        one.pop("finished", None)
                        row = {"algorithm": name, "ranks": ranks.count, "nodes": ranks.nodes, **one}
                        if chosen:
                            row["chosen"] = chosen[one["bytes"]] == name
                        of_group.append(row)
                shown.update(task, advance=1)
            rows += sorted(of_group, key=lambda row: (sizes.index(row["bytes"]), row["seconds"]))
    return rows


def as_table(operation: str, rows: list[dict[str, Any]], title: str, with_formula: bool) -> Table:
    table = Table(
        title=f"{operation}, {title}",
        caption=None if with_formula else "times in µs",
        box=box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    for column in ("ranks", "bytes"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("algorithm", overflow="fold")
    table.add_column("µs", justify="right", style="bold", no_wrap=True)
    for column in ("formula",) if with_formula else PARTS:
        table.add_column(column, justify="left" if with_formula else "right", no_wrap=not with_formula)
    before: tuple[int, int] | None = None
    for row in rows:
        cell = (row["ranks"], row["bytes"])
        if before is not None and cell != before:
            table.add_section()
        start = ("", "") if cell == before else (str(row["ranks"]), units.format_bytes(row["bytes"]))
        before = cell
        rest = [row["formula"]] if with_formula else [units.format_us(row["path"][part]) for part in PARTS]
        mark = " ~" if row.get("method", "").startswith("continued") else ""
        name = row["algorithm"] + (" *" if row.get("chosen") else "")
        table.add_row(*start, name, units.format_us(row["seconds"]) + mark, *rest)
    if any(row.get("method", "").startswith("continued") for row in rows):
        table.caption = "times in µs; ~: continued from fewer ranks"
    return table
