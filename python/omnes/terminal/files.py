"""The files that people name: read whole, if they have an end; written whole; looked at before the work."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from omnes.errors import OmnesError, said

MOST_BYTES = 1 << 28  # of a file that is read whole: a campaign's samples, by far the longest, take some millions


def read(path: Path) -> str:
    """The text of a regular file; of others, such as /dev/zero or a pipe, nobody knows where they end."""
    try:
        # Not to wait for a pipe's writer.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), encoding="utf-8") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise OmnesError(f"cannot read {path}: not a regular file")
            if facts.st_size > MOST_BYTES:
                raise OmnesError(f"cannot read {path}: longer than {MOST_BYTES} bytes")
            return file.read(MOST_BYTES)
    except (OSError, ValueError) as fault:  # also what is no text, and a name with a zero in it
        raise OmnesError(f"cannot read {path}: {said(fault)}") from None


@contextmanager
def expecting(path: Path, what: str) -> Iterator[None]:
    """While a file's content is taken apart: what is missing or of another kind is an error of one line."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise OmnesError(f"{path} is {what}") from None


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as fault:
        raise OmnesError(f"cannot write {path}: {said(fault)}") from None


def require_place(path: Path) -> None:
    """Looks whether a file could be written, before there is anything to write."""
    try:
        if not path.parent.is_dir():
            raise OmnesError(f"cannot write {path}: no folder {path.parent}")
        if path.is_dir():
            raise OmnesError(f"cannot write {path}: it is a folder")
        allowed = os.access(path if path.exists() else path.parent, os.W_OK)
    except (OSError, ValueError) as fault:
        raise OmnesError(f"cannot write {path}: {said(fault)}") from None
    if not allowed:
        raise OmnesError(f"cannot write {path}: not allowed, or on a file system that is read-only")


class Output(click.Path):
    """A file to write, as an option. What cannot be written is said before the command begins to work."""

    def __init__(self, allow_dash: bool = False) -> None:
        super().__init__(path_type=Path, allow_dash=allow_dash)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(value)
        if not (self.allow_dash and str(path) == "-"):
            require_place(path)
        return path
