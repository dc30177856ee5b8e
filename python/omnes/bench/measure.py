"""Measures cells (operation, size, form) on several jobs in turn: A B C, B C A, ... so that all see the same noise.

How: a cell is checked on every job before it is timed. Then rounds: in each round every job runs one batch of calls,
long enough for the clock, short enough to change places often. Cells that are compared with each other (the forms of
one operation) take turns as well. A group of cells ends when the middle half of all its times lies within a few
percent of their median, or when its time is over. The ratio of two jobs is the median of the ratios within rounds:
what slows a whole round cancels.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from omnes.bench.job import Job, WrongResult
from omnes.mpi import Mpi
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
    counts: str = "equal"  # or "unequal": parts of different lengths, as long together
    form: str = "blocking"  # or one that returns a request: "nonblocking", "persistent"

    def __str__(self) -> str:
        """As collbench reads it."""
        return f"{self.operation} {self.bytes} {self.type} {self.counts} {self.form}"


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


def measure(group: Sequence[Cell], jobs: Sequence[Job], seconds: float) -> dict[Cell, dict[str, Samples]]:
    """Times cells on the jobs whose results are right, where their MPI offers the form."""
    lanes = [(cell, job) for cell in group for job in checked(cell, [job for job in jobs if job.offers(cell.form)])]
    calls = [_calls_for_batch(cell, job) for cell, job in lanes]
    samples = [Samples() for _ in lanes]
    order = list(range(len(lanes)))
    deadline = time.monotonic() + seconds * len(group)
    rounds = 0
    while lanes and (rounds < MIN_ROUNDS or time.monotonic() < deadline):
        for lane in order:
            samples[lane].values.append(_batch(*lanes[lane], calls[lane]))
        order = order[1:] + order[:1]
        rounds += 1
        if rounds >= STABLE_ROUNDS and all(of_lane.spread < STABLE_SPREAD for of_lane in samples):
            break
    results: dict[Cell, dict[str, Samples]] = {cell: {} for cell in group}
    for (cell, job), of_lane in zip(lanes, samples):
        results[cell][job.spec.name] = of_lane
    return results


def checked(cell: Cell, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that compute what MPI promises. Raises WrongResult when one does not.

    But where already the stock MPI is wrong, there is nothing to compare with: that is said, and its jobs are left out.
    """
    right: list[Job] = []
    wrong: set[Mpi] = set()
    for job in sorted(jobs, key=lambda job: not job.spec.stock):
        if job.spec.mpi in wrong:
            continue
        try:
            job.ask(f"check {cell}", ANSWER_SECONDS)
            right.append(job)
        except WrongResult as fault:
            if not job.spec.stock:
                raise
            wrong.add(job.spec.mpi)
            print(f"not timed on {job.spec.mpi.name}: {fault}", file=sys.stderr)
    return right


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
