"""A progress bar on the terminal while a command works; nothing where the error output is no terminal."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def bar(what: str) -> Progress:
    """What is done, how far, for how long, and the description of the latest step."""
    console = Console(stderr=True)
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
