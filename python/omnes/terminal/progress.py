"""A progress bar on the terminal while a command works; nothing where the error output is no terminal."""

from __future__ import annotations

import math
import sys

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


class Steps:
    """The same for work of hours: says the time left; a line for each step where the error output is no terminal."""

    def __init__(self, what: str) -> None:
        self._bar = bar(what)
        self._task = self._bar.add_task("starting")

    def __enter__(self) -> Steps:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, done: int, total: int, what: object, seconds_left: float | None) -> None:
        left = "" if seconds_left is None else f"{math.ceil(seconds_left / 60)} min left"
        self._bar.update(self._task, completed=done, total=total, description=f"{left}  {what}")
        if self._bar.disable:
            print(f"{done}/{total} {what} {left}", file=sys.stderr, flush=True)
