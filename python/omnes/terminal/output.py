"""What commands print: tables as wide as the terminal, or, in a file or a pipe, as wide as they are; JSON; CSV."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from omnes.terminal import files

WIDTH = 80  # columns of prose
_UNBOUNDED = 10_000  # columns, more than any table has: nothing is cut or wrapped


def console(**options: Any) -> Console:
    found = Console(**options)
    return found if found.is_terminal else Console(width=_UNBOUNDED, **options)


def lines(text: str, indent: int) -> list[str]:
    """Prose wrapped and indented. A word is never broken: one that is too long for the indent stands further left."""
    wrapped = [
        line
        for paragraph in text.splitlines()
        for line in textwrap.wrap(paragraph, WIDTH - indent, break_long_words=False, break_on_hyphens=False) or [""]
    ]
    return [" " * max(0, min(indent, WIDTH - len(line))) + line for line in wrapped]


def deliver(
    to_json: Path | None, data: Any, to_csv: Path | None = None, rows: Iterable[Mapping[str, Any]] = ()
) -> bool:
    """Writes what --json and --csv ask for, and says whether the standard output is left for words."""
    given = [file for file in (to_json, to_csv) if file]
    if to_json:
        _write(to_json, json.dumps(data, indent=2) + "\n")
    if to_csv:
        _write(to_csv, as_csv(rows))
    return all(str(file) != "-" for file in given)


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """A column for each figure, of whatever rows have it: job.median; without samples."""
    flat = [dict(_flat(row)) for row in rows]
    text = io.StringIO()
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in flat for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows(flat)
    return text.getvalue()


def _flat(row: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        elif name != "samples":
            words = isinstance(value, (list, tuple))
            yield within + name, " ".join(map(str, value)) if words else value


def _write(file: Path, text: str) -> None:
    click.echo(text, nl=False) if str(file) == "-" else files.write(file, text)
