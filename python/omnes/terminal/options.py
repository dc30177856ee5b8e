"""Options that several commands have alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from omnes.cluster import bytes_per_second
from omnes.models.prediction import MOST_RANKS
from omnes.terminal.files import Output

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = click.Path(path_type=Path)  # to read, by files.read()
OUTPUT = Output()


def number(least: int) -> click.IntRange:
    """Of ranks, or of what there cannot be more of."""
    return click.IntRange(least, MOST_RANKS)


def machine_file(what_for: str = "") -> Option:
    return click.option(
        "--machine",
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


one_mpi = click.option("--mpi", "place", metavar="PREFIX", help="This MPI instead of the first one found.")

bind = click.option("--bind/--no-bind", default=None, help="Bind ranks to cores.  [default: when they fit]")


def to_file(what: str) -> Option:
    return click.option(
        "--json",
        "to_file",
        type=Output(allow_dash=True),
        metavar="FILE",
        help=f"{what}; - for the standard output.",
    )


for_scripts = click.option("--json", "as_json", is_flag=True, help="For scripts.")
