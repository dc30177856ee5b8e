"""Measures cells (operation, size, form) on several jobs in turn: A B C, B C A, ... so that all see the same noise.

How: a cell is checked on every job before it is timed. Then rounds: in each round every job runs one batch of calls,
long enough for the clock, short enough to change places often, and as many as the others, for the first calls after a
pause are not like later ones. Cells that are compared with each other (the forms of
one operation) take turns as well. A group of cells ends when all its medians are known well enough, or when its time is
over. The ratio of two jobs is the median of the ratios within rounds: what slows a whole round cancels.

How well a median is known: with 95 % confidence it lies between two of the ordered samples, whatever their distribution
(J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010, theorem 2.1 and its normal
approximation).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from omnes.bench import variety
from omnes.bench.job import Job, WrongResult
from omnes.launching.mpi import Mpi
from omnes.terminal.units import percentile

BATCH_SECONDS = 0.004  # of one batch: some thousand small calls, still many batches in a cell's time
LONGEST_BATCH = 0.016  # seconds, of a slower job that makes as many calls as the fastest
MAX_CALLS = 20000
MIN_ROUNDS = 5
STABLE_ROUNDS = 15  # from here on a cell may end early
STABLE_WIDTH = 0.03  # of the median's confidence interval / median
NORMAL_95 = 1.96  # standard deviations on either side that hold 95 % of a normal distribution
HOPELESS = 20.0  # times the fastest: such a job gets no more than the first rounds
ANSWER_SECONDS = 120.0


@dataclass(frozen=True)
class Cell:
    operation: str
    bytes: int
    type: str
    counts: str = "equal"  # or "unequal": parts of different lengths, as long together; or variety.COUNTS
    form: str = "blocking"  # or one that returns a request: "nonblocking", "persistent"; or variety.FORMS
    reduction: str = "sum"  # or "user", a function of the program; or "minloc"
    buffers: str = "warm"  # or "cold": no call's buffers are in a cache; or variety.TOUCHING
    arrivals: str = ""  # each rank's own time counts; or one of variety.ARRIVALS

    def __str__(self) -> str:
        """As collbench reads it."""
        what = f"{self.operation} {self.bytes} {self.type} {self.counts}"
        return f"{what} {self.form} {self.reduction} {self.buffers}"

    @property
    def unusual(self) -> list[str]:
        """What tells it from the usual cell: double, equal, blocking, sum, warm. A minloc's type is clear."""
        words = [self.type] if self.type != "double" and self.reduction == "sum" else []
        pairs = ((self.counts, "equal"), (self.form, "blocking"), (self.reduction, "sum"), (self.buffers, "warm"))
        return words + [word for word, usual in pairs if word != usual] + [self.arrivals] * bool(self.arrivals)

    @property
    def variety(self) -> str:
        """What is not the same call again and again in it, if anything."""
        return variety.kind(self.operation, self.counts, self.form, self.buffers, self.arrivals)

    @property
    def pauses(self) -> bool:
        """Whether the program does something between calls, outside the time."""
        return self.buffers in variety.TOUCHING or bool(self.arrivals)

    @property
    def sweep(self) -> int:
        """Batches make whole multiples of so many calls."""
        return variety.SWEEP if self.counts in variety.COUNTS else 1


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
        """Half the width of the middle half, as a share of the median."""
        low, high = self.quartiles
        return (high - low) / 2 / self.median if self.median else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the median lies with 95 % confidence; all samples where they are few."""
        ordered = sorted(self.values)
        count = len(ordered)
        reach = NORMAL_95 * math.sqrt(count) / 2
        low, high = math.floor(count / 2 - reach), math.ceil(count / 2 + reach)
        return ordered[max(0, low - 1)], ordered[min(count - 1, high)]

    @property
    def width(self) -> float:
        """Of that interval, as a share of the median."""
        low, high = self.interval
        return (high - low) / self.median if self.median else 0.0


def ratio(slow: Samples, fast: Samples) -> Samples:
    """slow / fast, round by round."""
    return Samples([a / b for a, b in zip(slow.values, fast.values)])


def measure(group: Sequence[Cell], jobs: Sequence[Job], seconds: float) -> dict[Cell, dict[str, Samples]]:
    """Times cells on the jobs whose results are right, where their MPI offers the form."""
    lanes = [(cell, job) for cell in group for job in checked(cell, [job for job in jobs if job.offers(cell.form)])]
    samples, _ = take_turns(lanes, seconds * len(group))
    results: dict[Cell, dict[str, Samples]] = {cell: {} for cell in group}
    for (cell, job), of_lane in zip(lanes, samples):
        results[cell][job.spec.name] = of_lane
    return results


def take_turns(
    lanes: Sequence[tuple[Cell, Job]], seconds: float, width: float = STABLE_WIDTH
) -> tuple[list[Samples], bool]:
    """Samples of each lane, and whether all medians that matter are known to that width."""
    late = _lateness(lanes)
    of_call = [_seconds_of_call(cell, job, late) for cell, job in lanes]
    fastest = min(of_call, default=1.0)
    matters = [seconds < HOPELESS * fastest for seconds in of_call]
    # As many for all as fill the fastest one's batch, but no more than fill the longest one.
    most = _filling(BATCH_SECONDS, fastest)
    calls = [min(most, _filling(LONGEST_BATCH, seconds)) for seconds in of_call]
    samples = [Samples() for _ in lanes]
    order = list(range(len(lanes)))
    deadline = time.monotonic() + seconds
    rounds = 0
    while lanes and (rounds < MIN_ROUNDS or time.monotonic() < deadline):
        for lane in order:
            if rounds < MIN_ROUNDS or matters[lane]:
                samples[lane].values.append(_batch(*lanes[lane], calls[lane], late)["seconds"])
        order = order[1:] + order[:1]
        rounds += 1
        contenders = (of_lane for of_lane, matter in zip(samples, matters) if matter)
        if rounds >= STABLE_ROUNDS and all(of_lane.width < width for of_lane in contenders):
            return samples, True
    return samples, False


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


def _batch(cell: Cell, job: Job, calls: int, late: Mapping[Cell, float]) -> dict[str, float]:
    calls = math.ceil(calls / cell.sweep) * cell.sweep
    warm = 2 + calls // 10
    if not cell.arrivals:
        return job.ask(f"time {cell} {calls} {warm}", ANSWER_SECONDS)
    pattern, _ = variety.pattern_of(cell.arrivals)
    answer = job.ask(f"late {cell} {calls} {warm} {pattern} {1e9 * late[cell]:.0f}", ANSWER_SECONDS)
    return {**answer, "seconds": answer["inside" if cell.arrivals.endswith(variety.INSIDE) else "seconds"]}


def _lateness(lanes: Sequence[tuple[Cell, Job]]) -> dict[Cell, float]:
    """By how many seconds the last rank is late, alike in all jobs: in terms of the fastest one's call."""
    times = {cell: variety.pattern_of(cell.arrivals)[1] for cell, _ in lanes if cell.arrivals}
    usual = {cell: replace(cell, arrivals="") for cell in times}
    alike = dict.fromkeys((usual[cell], job) for cell, job in lanes if times.get(cell))
    own = {(cell, job): _seconds_of_call(cell, job, {}) for cell, job in alike}
    return {
        cell: factor * min((seconds for (of, _), seconds in own.items() if of == usual[cell]), default=0.0)
        for cell, factor in times.items()
    }


def _seconds_of_call(cell: Cell, job: Job, late: Mapping[Cell, float]) -> float:
    """From two trials: the first wakes everything up. With what the program does between calls."""
    calls = 2
    for _ in range(2):
        seconds = max(_batch(cell, job, calls, late)["loop" if cell.pauses else "seconds"], 1e-8)
        calls = _filling(BATCH_SECONDS, seconds)
    return seconds


def _filling(batch: float, seconds: float) -> int:
    return max(2, min(MAX_CALLS, int(batch / seconds)))
