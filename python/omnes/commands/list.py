"""omnes list: the catalogue of algorithms."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from omnes import catalogue


@click.command()
@click.argument("operation", metavar="[OPERATION]", required=False)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
def command(operation: str | None, as_json: bool) -> None:
    """List the algorithms of all operations, or of one with who described them.

    \b
    omnes list
    omnes list allreduce
    omnes list --json
    """
    algorithms = catalogue.select(operation)
    if as_json:
        click.echo(json.dumps(algorithms, indent=2))
        return
    for name in dict.fromkeys(algorithm["operation"] for algorithm in algorithms):
        _show(
            [algorithm for algorithm in algorithms if algorithm["operation"] == name], with_source=operation is not None
        )


def _show(algorithms: list[dict[str, Any]], with_source: bool) -> None:
    table = Table(
        title=algorithms[0]["operation"], title_justify="left", box=None, padding=(0, 2, 0, 0), show_header=False
    )
    table.add_column(no_wrap=True, min_width=max(len(algorithm["name"]) for algorithm in algorithms) + 2)
    table.add_column(ratio=1)
    for algorithm in algorithms:
        notes = [f"takes {_takes(algorithm)}"] if _takes(algorithm) else []
        notes += [f"only {_restrictions(algorithm)}"] if _restrictions(algorithm) else []
        text = algorithm["summary"] + (f" [dim]({'; '.join(notes)})[/]" if notes else "")
        table.add_row(f"  {algorithm['name']}", text)
        if with_source:
            table.add_row("", f"[dim]from: {algorithm['source']}[/]")
    Console().print(table)


def _takes(algorithm: dict[str, Any]) -> str:
    words = []
    if algorithm["radix"]:
        words.append(f"k={algorithm['radix']}")
    if algorithm["segmented"]:
        words.append("segment")
    return ", ".join(words)


def _restrictions(algorithm: dict[str, Any]) -> str:
    words = []
    if algorithm["power_of_two"]:
        words.append("for p a power of two")
    if algorithm["operation"] in catalogue.REDUCTIONS and not algorithm["ordered"]:
        words.append("for commutative operations")
    return ", ".join(words)
