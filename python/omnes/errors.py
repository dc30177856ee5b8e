"""The one kind of error that the command reports: one line on stderr and a non-zero exit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click


class OmnesError(click.ClickException):
    """What was wrong and, where it helps, what is valid."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"omnes: {self.format_message()}", file=file, err=file is None)


@contextmanager
def from_core() -> Iterator[None]:
    """What the core refuses becomes an error that the command reports."""
    try:
        yield
    except ValueError as error:
        raise OmnesError(str(error)) from None
