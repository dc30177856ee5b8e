"""Options that several commands have alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from omnes.cluster import bytes_per_second
from omnes.errors import UsageError
from omnes.placement.patterns import HELP, MAX_RANKS
from omnes.terminal.files import Output

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = click.Path(path_type=Path)  # to read, by files.read()
OUTPUT = Output()


class Real(click.FloatRange):
    """Not nan, which no comparison refuses."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"'{value}' is no number", param, ctx)
        return found


def number(least: int) -> click.IntRange:
    """Of ranks, or of what there cannot be more of."""
    return click.IntRange(least, MAX_RANKS)


def costs_file(what_for: str = "") -> Option:
    return click.option(
        "--costs",
        "path",
        type=FILE,
        metavar="FILE",
        help=f"Made by omnes measure{what_for}.  [default: OMNES_MACHINE, yours, or one from the literature]",
    )


def rate(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Checks one of a link."""
    if text is not None:
        bytes_per_second(text)
    return text


def seconds(default: float, what_for: str, least: float = 0.05) -> Option:
    return click.option(
        "--time",
        "seconds",
        type=Real(least),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=what_for,
    )


def sizes(default: str | None, what: str = "Bytes of one part.") -> Option:
    return click.option(
        "-b", "--bytes", "sizes", default=default, show_default=default is not None, metavar="SIZES", help=what
    )


def output(what: str, required: bool = False) -> Option:
    return click.option("-o", "--output", type=OUTPUT, required=required, metavar="FILE", help=what)


variants = click.option(
    "--variant",
    "variants",
    multiple=True,
    metavar="NAME:VARIABLE=VALUE...",
    help="Also omnes with these settings. May be repeated.",
)

one_mpi = click.option("--mpi", "place", metavar="PREFIX", help="This MPI instead of the first one found.")

bind = click.option("--bind/--no-bind", default=None, help="Bind ranks to cores.  [default: when they fit]")


def nodes(default: str, usual: str | None = None) -> Option:
    return click.option("--nodes", default=usual, metavar="WHERE", help=f"{HELP}  [default: {default}]")


def _to_file(form: str, what: str) -> Option:
    parameter = f"to_{form}"
    kind = Output(allow_dash=True)
    return click.option(f"--{form}", parameter, type=kind, metavar="[=FILE]", help=what, callback=_one_target)


def _one_target(context: click.Context, parameter: click.Parameter, file: Path | None) -> Path | None:
    other = context.params.get("to_csv" if parameter.name == "to_json" else "to_json")
    if file is not None and file == other:
        raise UsageError("--json and --csv have the same target: give a file for one of them, --csv=FILE")
    return file


json_only = _to_file("json", "Print the result for scripts.")


def for_scripts(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is printed, as JSON and as comma-separated values: where no file is named, instead of the text."""
    return _to_file("json", "Print the result for scripts.")(_to_file("csv", "Print the figures as a table.")(command))
