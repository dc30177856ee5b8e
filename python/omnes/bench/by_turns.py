"""A program run by turns on its stock MPI and on omnes: how long it takes, what it says itself, what it prints.

How: a first run of each side warms the caches of files, and has statistics: the seconds in collectives. Then rounds, in
each of which all sides run once: A B C, B C A, ..., so that all see the same machine. A ratio compares two runs of one
round. The output: lines that all runs of the stock MPI have in common have to be there on omnes, too, with numbers that
differ by no more than a tolerance; what differs between runs of the stock MPI itself, such as times, says nothing.
"""

from __future__ import annotations

import functools
import math
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from omnes.bench.confidence import Known, known, ratios
from omnes.bench.session import end_on_sigterm
from omnes.errors import OmnesError, one_line
from omnes.launching import launch
from omnes.launching.processes import last_words, to_the_end
from omnes.traces import statistics

STOCK, OMNES = "stock", "omnes"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
_PATIENCE = 1.0  # seconds
_HELD = 1 << 26  # characters of a run's output that are compared


@dataclass(frozen=True)
class Side:
    """A way to run the program. variables: what it gets; null: without omnes."""

    name: str
    variables: Mapping[str, str] | None


@dataclass(frozen=True)
class Task:
    words: Sequence[str]
    ranks: int | None
    launcher_options: Sequence[str]
    launcher: str | None
    figure: re.Pattern[str] | None = None
    better: str = "less"
    seconds: float | None = None  # of a run, at most


@dataclass
class Run:
    seconds: float
    text: str
    figure: float | None = None


@dataclass
class Result:
    side: Side
    runs: list[Run] = field(default_factory=list)
    in_collectives: float | None = None  # share of the time of a rank from MPI_Init to MPI_Finalize, in the first run
    waiting: float | None = None  # likewise, for late ranks
    differs: str | None = None  # where its output is not that of the stock MPI

    def values(self, of_figure: bool) -> list[float]:
        return [run.figure if of_figure and run.figure is not None else run.seconds for run in self.runs]


def run(
    task: Task, sides: Sequence[Side], rounds: int, tolerance: float, progress: Callable[[str], None]
) -> list[Result]:
    """Of each side; the first is the stock MPI."""
    results = [Result(side) for side in sides]
    with ExitStack() as stack:
        end_on_sigterm(stack)
        place = launch.meeting_place(task.launcher_options, task.launcher)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".omnes-compare-", dir=place)))
        stdin = _kept_input(folder)
        first = []
        for result in results:
            progress(f"first run, {result.side.name}")
            first.append(_with_statistics(task, result, folder, stdin))
        for number in range(rounds):
            turn = number % len(results)
            for result in (*results[turn:], *results[:turn]):
                progress(f"round {number + 1} of {rounds}, {result.side.name}")
                result.runs.append(_once(task, result.side, folder, stdin))
    common = _common([run.text for run in (first[0], *results[0].runs)])
    for result in results[1:]:
        texts = [run.text for run in result.runs]
        differs = next((line for text in texts if (line := _missing(common, text, tolerance))), None)
        result.differs = None if differs is None else one_line(differs)
    return results


def _kept_input(folder: Path) -> Path | None:
    """What comes on the standard input, for every run anew: nothing from a terminal, or a pipe that stays silent."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    with suppress(OSError):  # it has no descriptor
        if not select.select([sys.stdin.fileno()], [], [], _PATIENCE)[0]:
            return None
    kept = folder / "stdin"
    with kept.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return kept if kept.stat().st_size > 0 else None


def _with_statistics(task: Task, result: Result, folder: Path, stdin: Path | None) -> Run:
    """The stock MPI's collectives are timed by omnes, too, which leaves them all to it."""
    variables = {"OMNES_OFF": "1"} if result.side.variables is None else result.side.variables
    with tempfile.TemporaryDirectory(prefix="stats-", dir=folder) as place:
        watched = Side(result.side.name, {**variables, "OMNES_STATS": place})
        done = _once(task, watched, folder, stdin)
        report = statistics.merge(Path(place))
    if report is not None and report["wrong_family"]:
        raise OmnesError(statistics.wrong_family(report))
    if report is not None and "in_collectives" in report:
        result.in_collectives = report["in_collectives"]["mean"]
        result.waiting = report["waiting"]["mean"]
    return done


def _once(task: Task, side: Side, folder: Path, stdin: Path | None) -> Run:
    started = launch.prepare(
        task.words,
        task.ranks,
        task.launcher_options,
        side.variables is not None,
        task.launcher,
        side.variables,
        yields=True,  # on all sides, or the comparison would be one of that setting
    )
    said = folder / "said"
    with said.open("w+b") as output:
        seconds, code = _to_the_end(task, side, started, output, stdin)
    text = said.read_text("utf-8", errors="surrogateescape")[:_HELD]  # all bytes count, those that are no text, too
    if code != 0:
        raise OmnesError(f"{side.name}: exit code {code}: {last_words(text)}")
    return Run(seconds, text, _figure(task, side, text))


def _to_the_end(
    task: Task, side: Side, started: launch.Launch, output: IO[bytes], stdin: Path | None
) -> tuple[float, int]:
    with (stdin or Path(os.devnull)).open("rb") as given:
        try:
            return to_the_end(started, output, task.seconds, given)
        except subprocess.TimeoutExpired:
            raise OmnesError(f"{side.name}: not done in {task.seconds:g} s, as --timeout says") from None


def _figure(task: Task, side: Side, text: str) -> float | None:
    if task.figure is None:
        return None
    found = list(task.figure.finditer(text))
    if not found:
        raise OmnesError(f"{side.name}: nothing in the output matches --figure '{task.figure.pattern}'")
    try:
        value = _number(found[-1][1 if task.figure.groups else 0])
    except ValueError:
        raise OmnesError(f"--figure: '{found[-1][0]}' is no number; group its digits: 'time: ([0-9.]+)'") from None
    if not 0 < value < math.inf:
        raise OmnesError(f"{side.name}: --figure: '{found[-1][0]}': ratios are of numbers above 0")
    return value


# What was printed.


def _shape(line: str) -> str:
    return _NUMBER.sub("#", line)


def _number(word: str) -> float:
    """Also as Fortran writes it: 1.5D-3."""
    return float(word.lower().replace("d", "e"))


def _values(line: str) -> list[float]:
    return [_number(word) for word in _NUMBER.findall(line)]


def _lines(text: str) -> Counter[str]:
    return Counter(line.rstrip() for line in text.splitlines() if line.strip())


def _common(texts: Sequence[str]) -> Counter[str]:
    """Lines that are in all of them, as often as in that with the fewest."""
    return functools.reduce(Counter.__and__, map(_lines, texts))


def _missing(common: Counter[str], text: str, tolerance: float) -> str | None:
    """The first line that is not there, nor one like it whose numbers are near."""
    lines = _lines(text)
    left = common - lines
    others: dict[str, list[list[float]]] = {}
    for line in (lines - common).elements():
        others.setdefault(_shape(line), []).append(_values(line))
    for line in left.elements():
        like = others.get(_shape(line), [])
        near = next((one for one in like if _are_near(_values(line), one, tolerance)), None)
        if near is None:
            return line
        like.remove(near)
    return None


def _are_near(some: Iterable[float], others: Iterable[float], tolerance: float) -> bool:
    return all(math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * 1e-3) for a, b in zip(some, others))


# What was found.


def gain(stock: Result, other: Result, better: str, of_figure: bool) -> Known:
    """How many times better `other` is, by the program's own figure or by its time from start to end."""
    return known(ratios(stock.values(of_figure), other.values(of_figure), better if of_figure else "less"))


def as_data(results: Sequence[Result], better: str, of_figure: bool) -> dict[str, Any]:
    """In seconds."""
    sides = []
    for result in results:
        entry: dict[str, Any] = {
            "name": result.side.name,
            "seconds": [run.seconds for run in result.runs],
            "in_collectives": result.in_collectives,
            "waiting": result.waiting,
        }
        if of_figure:
            entry["figure"] = [run.figure for run in result.runs]
        if result is not results[0]:
            found = gain(results[0], result, better, of_figure)
            entry |= {"ratio": found.median, "interval": [found.low, found.high], "sure": found.sure}
            entry["output_differs"] = result.differs
        sides.append(entry)
    return {"sides": sides}
