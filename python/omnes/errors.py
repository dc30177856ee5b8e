"""The one kind of error that the command reports: one line on stderr and a non-zero exit."""

from __future__ import annotations

from typing import IO, Any

import click


class OmnesError(click.ClickException):
    """What was wrong and, where it helps, what is valid."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"omnes: {self.format_message()}", file=file, err=file is None)
