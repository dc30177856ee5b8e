"""Finds the fastest of a case's candidates by successive halving, in one job that runs one after the other.

How: all candidates take turns, a few rounds each; the slower half leaves, and so on until a few are left, which are
timed until their medians are known. Only these last samples decide: the candidate that was lucky in the rounds that
selected it gains nothing by that. And as the addresses that a job happens to get make some of the difference, what
seems faster than the present choice has to be so once more, in a job of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from omnes.bench.job import Job
from omnes.bench.records import Measured
from omnes.bench.timing import ANSWER_SECONDS, Cell, Samples, ratio, take_turns
from omnes.tuning.cases import Case

FINALISTS = 3  # the present choice included
WIDTH = 0.015  # of a finalist's confidence interval / median: half of the least gain, so that this can be seen
LEAST_GAIN = 0.03  # faster than the present choice by less is not worth a rule: as much lies between two jobs


class Forced:
    """A job that runs this algorithm, so that several take turns in one job."""

    def __init__(self, job: Job, operation: str, choice: str) -> None:
        self.spec = job.spec
        self.job = job
        self.choice = choice
        self._command = f"choose {operation} {choice}"

    def ask(self, command: str, seconds: float) -> dict[str, Any]:
        self.job.ask(self._command, seconds)
        return self.job.ask(command, seconds)


@dataclass
class Found:
    """What a case's measurements say."""

    case: Case
    default: str
    samples: dict[str, Samples]  # of those that were left at last
    confirmed: dict[str, Samples] = field(default_factory=dict)  # of the winner and the present choice

    @property
    def best(self) -> str:
        return min(self.samples, key=lambda name: self.samples[name].median)

    @property
    def promising(self) -> bool:
        return self.best != self.default and _gain(self.samples, self.default, self.best)[0] > LEAST_GAIN

    @property
    def likely(self) -> str:
        """The choice, if the winner wins again."""
        return self.best if self.promising else self.default

    @property
    def choice(self) -> str:
        """The winner, where it won twice; else the present choice."""
        won = self.best in self.confirmed and _gain(self.confirmed, self.default, self.best)[0] > LEAST_GAIN
        return self.likely if won else self.default

    @property
    def gain(self) -> tuple[float, float]:
        """By what share the winner is faster, at least (with 95 % confidence) and in the median, in the second job."""
        return _gain(self.confirmed, self.default, self.best)

    @property
    def seconds(self) -> dict[str, float]:
        return {name: of.median for name, of in {**self.samples, **self.confirmed}.items()}


def _gain(samples: dict[str, Samples], slow: str, fast: str) -> tuple[float, float]:
    paired = ratio(samples[slow], samples[fast])
    return paired.interval[0] - 1, paired.median - 1


def search(case: Case, names: Sequence[str], job: Job, seconds: float, stay: int = 1) -> Measured:
    """Samples of the finalists; the first of the names is the present choice, which stays to the end, with so many."""
    alive = [Forced(job, case.operation, name) for name in names]
    for lane in alive:
        lane.ask(f"check {case.cell}", ANSWER_SECONDS)
    while len(alive) > FINALISTS + stay - 1:
        samples, _ = take_turns([(case.cell, lane) for lane in alive], 0)  # type: ignore[misc]
        median = {lane.choice: of.median for lane, of in zip(alive, samples)}
        others = sorted(alive[stay:], key=lambda lane: median[lane.choice])
        alive = alive[:stay] + others[: max(FINALISTS - 1, len(others) // 2)]
    return _time(case.cell, alive, seconds)


def confirm(found: Found, job: Job, seconds: float) -> Measured:
    lanes = [Forced(job, found.case.operation, name) for name in (found.default, found.best)]
    return _time(found.case.cell, lanes, seconds)


def _time(cell: Cell, lanes: Sequence[Forced], seconds: float) -> Measured:
    begin = time.monotonic()
    budget = seconds * len(lanes) if len(lanes) > 1 else 0  # alone there is nothing to decide
    samples, stable = take_turns([(cell, lane) for lane in lanes], budget, WIDTH)  # type: ignore[misc]
    by_name = {lane.choice: of for lane, of in zip(lanes, samples)}
    return Measured(lanes[0].job.bound, stable, time.monotonic() - begin, by_name)
