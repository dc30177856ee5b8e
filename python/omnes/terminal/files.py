"""The files that people name: read whole, if they have an end; written whole; looked at before the work."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from omnes.errors import OmnesError, said

MAX_BYTES = 1 << 28  # of a file that is read whole: a campaign's samples, by far the longest, take some millions


def read(path: Path) -> str:
    """The text of a regular file, unpacked if its name ends in .gz; of others, such as /dev/zero or a pipe, nobody
    knows where they end."""
    try:
        # Not to wait for a pipe's writer.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise OmnesError(f"cannot read {path}: not a regular file")
            if facts.st_size > MAX_BYTES:
                raise OmnesError(f"cannot read {path}: longer than {MAX_BYTES} bytes")
            with gzip.open(file) if path.suffix == ".gz" else file as content:
                whole = content.read(MAX_BYTES + 1)
            if len(whole) > MAX_BYTES:
                raise OmnesError(f"cannot read {path}: unpacked, longer than {MAX_BYTES} bytes")
            return io.TextIOWrapper(io.BytesIO(whole), encoding="utf-8").read()  # lines end as in any text file
    except (OSError, ValueError, EOFError, zlib.error) as fault:  # also no text, a name with a zero in it, a torn file
        raise OmnesError(f"cannot read {path}: {said(fault)}") from None


def packed(path: Path) -> Path:
    """The file, or its packed twin where only that one is there."""
    twin = path.with_name(f"{path.name}.gz")
    return twin if twin.exists() and not path.exists() else path


def beside(path: Path, ending: str) -> Path:
    """The file of that ending beside lines of JSON, which may be packed."""
    return path.with_name(path.name.removesuffix(".gz")).with_suffix(ending)


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
