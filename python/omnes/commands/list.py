"""omnes list: the catalogue of algorithms."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from omnes import _core
from omnes.algorithms import catalogue
from omnes.errors import from_core
from omnes.terminal import options, output


@click.command()
@click.argument("operation", metavar="[OPERATION]", required=False)
@click.option(
    "--table",
    metavar="FILE",
    help="List the rules by which omnes chooses instead: the file's, then the compiled-in ones; off: only these.",
)
@options.json_only
def command(operation: str | None, table: str | None, to_json: Path | None) -> None:
    """List the algorithms of all operations, or of one with who described them.

    An algorithm that also serves operations with unequal parts is listed once, with the names of these. At the end:
    how to force one.

    \b
    omnes list
    omnes list allreduce
    omnes list allreduce --table table.toml
    omnes list --json
    """
    algorithms = catalogue.select(operation)
    if table is not None:
        _list_rules(operation, table, to_json)
        return
    if not output.deliver(to_json, algorithms):
        return
    also = _twins(algorithms)
    for name in dict.fromkeys(algorithm["operation"] for algorithm in algorithms):
        own = [entry for entry in algorithms if entry["operation"] == name and _key(entry) in also]
        if own:
            _show(own, also, with_source=operation is not None)
    click.echo(_how_to_force(algorithms, operation))


def _list_rules(operation: str | None, table: str, to_json: Path | None) -> None:
    """In the order in which they are asked, operation by operation."""
    with from_core():
        found = _core.rules(table)
    rules = [rule for name in _core.operations() for rule in found if rule["operation"] == name]
    rules = [rule for rule in rules if operation in (None, rule["operation"])]
    if not output.deliver(to_json, rules):
        return
    shown = Table("use", "by", title="The first rule that fits wins")
    for name, of_one in groupby(rules, lambda rule: rule["operation"]):
        shown.add_row(f"[bold]{name}[/]")
        for rule in of_one:
            shown.add_row(f"  {escape(rule['use'])}", escape(rule["text"]))
    output.console().print(shown)


def _key(algorithm: dict[str, Any]) -> tuple[str, str]:
    return algorithm["operation"], algorithm["name"]


def _twins(algorithms: list[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """For each algorithm, the further operations that it serves; what is such a further entry is left out."""
    known = {_key(algorithm): algorithm for algorithm in algorithms}
    also: dict[tuple[str, str], list[str]] = {}
    for algorithm in algorithms:
        operation, name = _key(algorithm)
        homes = [known.get((home, name)) for home in (_regular(operation), operation.replace("w", "v"))]
        original = next((home for home in homes if home and home["summary"] == algorithm["summary"]), algorithm)
        if original is not algorithm:
            also[_key(original)].append(operation)
        else:
            also[operation, name] = []
    return also


def _regular(operation: str) -> str:
    """The operation with equal parts, which is listed before: gather of gatherv."""
    return "reduce_scatter_block" if operation == "reduce_scatter" else operation.rstrip("vw")


def _show(algorithms: list[dict[str, Any]], also: dict[tuple[str, str], list[str]], with_source: bool) -> None:
    table = Table(
        title=algorithms[0]["operation"], title_justify="left", box=None, padding=(0, 2, 0, 0), show_header=False
    )
    table.add_column(no_wrap=True, min_width=max(len(algorithm["name"]) for algorithm in algorithms) + 2)
    table.add_column(ratio=1)
    for algorithm in algorithms:
        notes = [f"also {', '.join(also[_key(algorithm)])}"] if also[_key(algorithm)] else []
        notes += [f"or {', '.join(algorithm['aliases'])}"] if algorithm.get("aliases") else []
        notes += [f"takes {', '.join(_takes(algorithm))}"] if _takes(algorithm) else []
        notes += [f"only {_restrictions(algorithm)}"] if _restrictions(algorithm) else []
        text = algorithm["summary"] + (f" [dim]({'; '.join(notes)})[/]" if notes else "")
        table.add_row(f"  {algorithm['name']}", text)
        if with_source:
            table.add_row("", f"[dim]from: {algorithm['source']}[/]")
    output.console().print(table)


def _how_to_force(algorithms: list[dict[str, Any]], operation: str | None) -> str:
    """By the environment and on one communicator, with an example that is among these algorithms."""
    if operation is None:
        name, choice = "<operation>", "ALGORITHM[:k=N,segment=BYTES]"
    else:
        example = max(algorithms, key=lambda algorithm: len(_takes(algorithm)))
        parameters = ",".join(_takes(example, with_values=True))
        name, choice = example["operation"], example["name"] + (f":{parameters}" if parameters else "")
    ways = [
        (f"OMNES_{name.upper()}={choice}", "in all forms"),
        (f"OMNES_I{name.upper()}=...", "nonblocking and persistent, before that"),
        (f"omnes_{name}", "info key for MPI_Comm_set_info, before both"),
    ]
    width = max(len(way) for way, _ in ways[1:])
    return "\n".join(["To force one:", *(f"  {way:<{width}}  {where}" for way, where in ways)])


def _takes(algorithm: dict[str, Any], with_values: bool = False) -> list[str]:
    """Its parameters, the radix with its default; or all as they may be given."""
    words = []
    if algorithm["radix"]:
        words.append("k=√p" if algorithm["root_radix"] and not with_values else f"k={algorithm['radix']}")
    if algorithm["hierarchical"]:
        words.append("node=linear" if with_values else "LEVEL=NAME")
    if algorithm["segmented"]:
        words.append("segment=16K" if with_values else "segment")
    return words


def _restrictions(algorithm: dict[str, Any]) -> str:
    words = []
    if algorithm["power_of_two"]:
        words.append("for p a power of two")
    if algorithm.get("even"):
        words.append("for even p")
    if algorithm["operation"] in catalogue.REDUCTIONS and not algorithm["ordered"]:
        words.append("for predefined operations")
    return ", ".join(words)
