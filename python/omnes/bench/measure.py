"""Measures cells (operation, size) on several jobs in turn: A B C, B C A, ... so that all see the same noise.

How: a cell is checked on every job before it is timed. Then rounds: in each round every job runs one batch of calls,
long enough for the clock, short enough to change places often. A cell ends when the middle half of every job's times
lies within a few percent of the median, or when its time is over. The ratio of two jobs is the median of the ratios
within rounds: what slows a whole round cancels.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from omnes.bench.job import Job
from omnes.units import percentile

BATCH_SECONDS = 0.004  # of one batch: some thousand small calls, still many batches in a cell's time
MAX_CALLS = 20000
MIN_ROUNDS = 5
STABLE_ROUNDS = 15  # from here on a cell may end early
STABLE_SPREAD = 0.03  # (third quartile - first) / median
ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class Cell:
    operation: str
    bytes: int
    type: str

    def __str__(self) -> str:
        return f"{self.operation} {self.bytes} {self.type}"


@dataclass
class Samples:
    """Seconds per call, one value for each round."""

    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return percentile(self.values, 0.5)

    @property
    def quartiles(self) -> tuple[float, float]:
        return percentile(self.values, 0.25), percentile(self.values, 0.75)

    @property
    def spread(self) -> float:
        low, high = self.quartiles
        return (high - low) / self.median if self.median else 0.0


def ratio(slow: Samples, fast: Samples) -> Samples:
    """slow / fast, round by round."""
    return Samples([a / b for a, b in zip(slow.values, fast.values)])


def measure(cell: Cell, jobs: Sequence[Job], seconds: float) -> dict[str, Samples]:
    """Times a cell on all jobs; raises WrongResult when a job does not compute what MPI promises."""
    for job in jobs:
        job.ask(f"check {cell}", ANSWER_SECONDS)
    calls = {job.spec.name: _calls_for_batch(cell, job) for job in jobs}
    samples = {job.spec.name: Samples() for job in jobs}
    order = list(jobs)
    deadline = time.monotonic() + seconds
    rounds = 0
    while rounds < MIN_ROUNDS or time.monotonic() < deadline:
        for job in order:
            samples[job.spec.name].values.append(_batch(cell, job, calls[job.spec.name]))
        order = order[1:] + order[:1]
        rounds += 1
        if rounds >= STABLE_ROUNDS and all(of_job.spread < STABLE_SPREAD for of_job in samples.values()):
            break
    return samples


def _batch(cell: Cell, job: Job, calls: int) -> float:
    warm = 2 + calls // 10
    return job.ask(f"time {cell} {calls} {warm}", ANSWER_SECONDS)["seconds"]


def _calls_for_batch(cell: Cell, job: Job) -> int:
    """Calls that fill a batch, from two trials: the first wakes everything up."""
    calls = 2
    for _ in range(2):
        seconds = max(_batch(cell, job, calls), 1e-8)
        calls = max(2, min(MAX_CALLS, int(BATCH_SECONDS / seconds)))
    return calls
