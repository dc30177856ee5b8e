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
    """List the algorithms of all operations or of one.

    \b
    omnes list
    omnes list allreduce
    omnes list --json
    """
    algorithms = catalogue.select(operation)
    if as_json:
        click.echo(json.dumps(algorithms, indent=2))
        return
    table = Table("operation", "algorithm", "what it does", "takes", "restrictions", "described by")
    previous = ""
    for algorithm in algorithms:
        if previous and algorithm["operation"] != previous:
            table.add_section()
        first = algorithm["operation"] if algorithm["operation"] != previous else ""
        previous = algorithm["operation"]
        table.add_row(first, algorithm["name"], algorithm["summary"], _takes(algorithm), _restrictions(algorithm), algorithm["source"])
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
        words.append("p a power of two")
    if algorithm["operation"] in catalogue.REDUCTIONS and not algorithm["ordered"]:
        words.append("commutative")
    return ", ".join(words)
