"""omnes compare: what a program gains, by turns on its stock MPI and on omnes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from omnes.bench import by_turns, load
from omnes.bench.by_turns import OMNES, STOCK, Result, Side
from omnes.bench.confidence import LEAST, how_sure, known, ratio_cell
from omnes.bench.contenders import named_settings, refuse_equal
from omnes.commands.run import RunCommand
from omnes.errors import UsageError
from omnes.launching import arguments, cpus, launch
from omnes.terminal import options, output

_TOLERANCE = 1e-6  # sums may be taken in another order


@click.command(cls=RunCommand, options_metavar="[OPTIONS] [MPIRUN OPTIONS] [--] PROGRAM [ARGS]...")
@click.option("-n", "-np", "--np", "ranks", type=options.number(1), metavar="N", help="Number of ranks.")
@click.option(
    "--repeat", "rounds", type=click.IntRange(1, 1000), default=7, show_default=True, metavar="R", help="Runs of each."
)
@click.option(
    "--figure",
    metavar="REGEX",
    help="Compare a number that the program prints, the last that matches, instead of its time from start to end.",
)
@click.option("--higher", is_flag=True, help="The higher the figure the better; else the lower.")
@options.variants
@click.option(
    "--tolerance",
    type=options.Real(min=0),
    default=_TOLERANCE,
    show_default=True,
    metavar="T",
    help="By which numbers in the outputs may differ, as a fraction of them.",
)
@click.option("--timeout", type=options.Real(min=0, min_open=True), metavar="SECONDS", help="Of a run, at most.")
@click.option(
    "--mpirun", "launcher", metavar="PATH", help="This launcher (or MPI prefix) instead of the program's own."
)
@options.for_scripts
@click.pass_context
def command(
    ctx: click.Context,
    ranks: int | None,
    rounds: int,
    figure: str | None,
    higher: bool,
    variants: Sequence[str],
    tolerance: float,
    timeout: float | None,
    launcher: str | None,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """Run a program by turns on its stock MPI and on omnes, and say what it gains.

    All sides run once before anything counts; that run says how much of the time collectives take. The outputs are
    compared: what all runs of the stock MPI print alike has to come out on omnes, too.

    \b
    omnes compare -n 4 ./app input.txt
    omnes compare -n 4 --repeat 15 --figure 'time: ([0-9.]+)' ./app
    omnes compare -n 4 --variant heap:OMNES_HEAP=shared ./app
    """
    split: arguments.Arguments = ctx.obj
    if not split.program:
        raise UsageError("no program given: omnes compare [-n N] [mpirun options] [--] PROGRAM [ARGS]")
    if higher and figure is None:
        raise UsageError("--higher is about a figure: add --figure REGEX")
    task = by_turns.Task(
        split.program,
        ranks,
        split.launcher,
        launcher,
        _pattern(figure),
        "more" if higher else "less",
        timeout,
    )
    sides = [
        Side(STOCK, None),
        Side(OMNES, {}),
        *(Side(*named_settings(text, "variant", UsageError)) for text in variants),
    ]
    refuse_equal([side.name for side in sides], "sides")
    others = load.look()
    with output.console(stderr=True).status("starting") as status:
        results = by_turns.run(task, sides, rounds, tolerance, status.update)
    data = by_turns.as_data(results, task.better, figure is not None)
    data = {"program": list(task.words), "ranks": ranks, **data}
    if not output.deliver(to_json, data, to_csv, data["sides"]):
        return
    console = output.console()
    console.print(_table(results, task))
    for result in results[1:]:
        if result.differs is not None:
            console.print(f"[red]{result.side.name}: the output differs:[/] {escape(result.differs)}", soft_wrap=True)
    if not launch.may_leave_machine(split.launcher, launcher):
        for warning in load.warnings(others, []):
            console.print(f"[yellow]{warning}[/]", soft_wrap=True)
        if ranks is not None and cpus.are_shared(ranks):
            console.print("Ranks share CPUs: on all sides the MPI is told to yield.", style="dim")
    for result in results[1:]:
        console.print(verdict(results[0], result, task.better, figure is not None), soft_wrap=True, highlight=False)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return re.compile(text, re.MULTILINE) if text is not None else None
    except re.error as fault:
        raise UsageError(f"--figure: '{text}' is no regular expression: {fault}") from None


def _table(results: Sequence[Result], task: by_turns.Task) -> Table:
    of_figure = task.figure is not None
    table = Table("", title=escape(" ".join(task.words))[:80])
    for head in ("seconds", *(["figure"] if of_figure else []), "in collectives", "faster"):
        table.add_column(head, justify="right")
    for result in results:
        row = [result.side.name, _interval([run.seconds for run in result.runs])]
        if of_figure:
            row.append(_interval(result.values(True)))
        row.append("-" if result.in_collectives is None else f"{result.in_collectives:.0%}")
        gained = None if result is results[0] else by_turns.gain(results[0], result, task.better, of_figure)
        row.append(ratio_cell(gained) if gained else "")
        table.add_row(*row)
    rounds = len(results[0].runs)
    table.caption = f"medians of {rounds} runs, in brackets: {how_sure(rounds)}"
    return table


def _interval(values: Sequence[float]) -> str:
    found = known(values)
    return f"{found.median:.4g} \\[{found.low:.4g}, {found.high:.4g}]"


def verdict(stock: Result, other: Result, better: str, of_figure: bool) -> str:
    """'omnes: 1.12x faster (1.09 to 1.15), 23 % of the time in collectives before, 12 % after'."""
    found = by_turns.gain(stock, other, better, of_figure)
    span = f"({found.low:.2f} to {found.high:.2f})"
    if not found.sure:
        text = f"{found.median:.2f}x as fast {span}; {LEAST} runs or more say how sure that is"
    elif not found.differs_from(1):
        text = f"no difference beyond noise: {found.median:.2f}x {span}"
    elif found.median > 1:
        text = f"{found.median:.2f}x faster {span}"
    else:
        text = f"{1 / found.median:.2f}x slower ({1 / found.high:.2f} to {1 / found.low:.2f})"
    if stock.in_collectives is not None and other.in_collectives is not None:
        text += f", {stock.in_collectives:.0%} of the time in collectives before, {other.in_collectives:.0%} after"
    if stock.waiting is not None and other.waiting is not None:
        text += f" ({stock.waiting:.0%} and {other.waiting:.0%} waiting for late ranks)"
    return f"{other.side.name}: {text}".replace("%", " %")
