"""Where commands print their tables: as wide as the terminal, or, in a file or a pipe, as wide as they are."""

from __future__ import annotations

from typing import Any

from rich.console import Console

_UNBOUNDED = 10_000  # columns, more than any table has: nothing is cut or wrapped


def console(**options: Any) -> Console:
    found = Console(**options)
    return found if found.is_terminal else Console(width=_UNBOUNDED, **options)
