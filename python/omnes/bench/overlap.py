"""How much of a nonblocking operation hides behind a computation, on several jobs in turn.

How: for each call collbench times the operation alone (I-call and Wait: pure), a computation alone, calibrated to take
about as long, and the operation with the computation between I-call and Wait (total). The overlap is the share of what
can hide, the shorter of the two, that the total does not show:

    100 * (pure + computation - total) / min(pure, computation), between 0 and 100

This is the formula of IMB-NBC (Intel MPI Benchmarks User Guide, "Measuring Communication and Computation Overlap"). A
computation makes no MPI calls, unless tests are spread through it; it may also be a sleep, which leaves the CPU to
others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from omnes.bench.job import Job, JobSpec
from omnes.bench.side_by_side import Labels, Ratios
from omnes.bench.timing import ANSWER_SECONDS, BATCH_SECONDS, MAX_CALLS, MIN_ROUNDS, Cell, Samples, checked, ratio
from omnes.terminal.units import format_us

TIMES = ("pure", "computation", "total")
TRIAL_CALLS = 5
WARM_CALLS = 2


@dataclass
class Overlap:
    """Seconds per call, one value for each round."""

    pure: Samples = field(default_factory=Samples)
    computation: Samples = field(default_factory=Samples)
    total: Samples = field(default_factory=Samples)

    @property
    def percent(self) -> Samples:
        """Of the operation hidden, round by round."""
        rounds = zip(self.pure.values, self.computation.values, self.total.values)
        return Samples([percent(*times) for times in rounds])


def percent(pure: float, computation: float, total: float) -> float:
    return 100.0 * min(1.0, max(0.0, (pure + computation - total) / min(pure, computation)))


def measure(cell: Cell, jobs: Sequence[Job], seconds: float, tests: int, asleep: bool) -> dict[str, Overlap]:
    """Times a nonblocking cell on all jobs whose results are right; asleep: ranks sleep instead of computing."""
    jobs = checked(cell, jobs)
    plans = {job.spec.name: _calibrate(cell, job, tests, asleep) for job in jobs}
    results = {job.spec.name: Overlap() for job in jobs}
    order = list(jobs)
    deadline = time.monotonic() + seconds
    rounds = 0
    while jobs and (rounds < MIN_ROUNDS or time.monotonic() < deadline):
        for job in order:
            times = _batch(cell, job, *plans[job.spec.name], tests, asleep)
            for name in TIMES:
                getattr(results[job.spec.name], name).values.append(times[name])
        order = order[1:] + order[:1]
        rounds += 1
    return results


def _batch(cell: Cell, job: Job, calls: int, units: int, tests: int, asleep: bool) -> dict[str, float]:
    return job.ask(f"overlap{'-asleep' * asleep} {cell} {calls} {WARM_CALLS} {units} {tests}", ANSWER_SECONDS)


def _calibrate(cell: Cell, job: Job, tests: int, asleep: bool) -> tuple[int, int]:
    """Calls that fill a batch, and units of computation (nanoseconds of sleep) that take as long as the operation."""
    unit = 1e-9 if asleep else max(job.ask("unit", ANSWER_SECONDS)["seconds"], 1e-9)
    units = 0
    calls = TRIAL_CALLS
    for _ in range(2):
        pure = max(_batch(cell, job, calls, units, tests, asleep)["pure"], 1e-8)
        units = max(1, round(pure / unit))
        calls = max(2, min(MAX_CALLS, int(BATCH_SECONDS / pure)))
    return calls, units


def table(specs: Sequence[JobSpec], results: dict[Cell, dict[str, Overlap]], title: str) -> Table:
    """One line for each cell and job, with what the compared jobs gain in total time."""
    out = Table(
        "operation",
        "size",
        "job",
        title=title,
        caption="µs per call, medians; total: I-call, computation, Wait; ratio: total, stock / omnes",
    )
    for name in ("pure µs", "comp. µs", "total µs", "overlap %", "ratio"):
        out.add_column(name, justify="right")
    labels = Labels("i")
    ratios = Ratios()
    for cell, of_cell in results.items():
        if labels.new_operation(cell):
            out.add_section()
        row = labels.row(cell)
        for spec in (spec for spec in specs if spec.name in of_cell):
            times = of_cell[spec.name]
            out.add_row(
                *row,
                spec.label,
                *(format_us(getattr(times, name).median) for name in TIMES),
                f"{times.percent.median:.0f}",
                ratios.text(of_cell[spec.baseline].total, times.total) if spec.baseline in of_cell else "",
            )
            row = ["", ""]
    out.caption = "\n".join([str(out.caption), *ratios.explained])
    return out


def _gain(spec: JobSpec, of_cell: dict[str, Overlap]) -> float | None:
    if spec.baseline not in of_cell:
        return None
    return ratio(of_cell[spec.baseline].total, of_cell[spec.name].total).median


def as_data(specs: Sequence[JobSpec], results: dict[Cell, dict[str, Overlap]]) -> list[dict[str, Any]]:
    """The cells, in seconds and percent."""
    cells = []
    for cell, of_cell in results.items():
        jobs = {}
        for spec in (spec for spec in specs if spec.name in of_cell):
            times = of_cell[spec.name]
            jobs[spec.name] = {
                **{name: getattr(times, name).median for name in TIMES},
                "overlap": times.percent.median,
                "samples": {name: getattr(times, name).values for name in TIMES},
            }
        ratios = {spec.name: _gain(spec, of_cell) for spec in specs if spec.name in of_cell and spec.baseline}
        cells.append({**vars(cell), "jobs": jobs, "ratios": ratios})
    return cells
