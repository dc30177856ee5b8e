"""What rules bring the stock Open MPI: tries all algorithms of coll/tuned, writes a file, measures with and without it.

Usage: bench/run tune-openmpi -n 8 --rules RULES.conf [-o PAGE.md] [--mpi PREFIX] [--only bcast,scan]
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omnes.bench import host
from omnes.bench.job import Job, JobSpec, WrongResult
from omnes.bench.session import with_jobs
from omnes.bench.timing import ANSWER_SECONDS, Cell, Samples, ratio, take_turns
from omnes.exporting import openmpi
from omnes.launching import mpi
from omnes.launching.cpus import usable_cores
from omnes.terminal import units
from omnes.tuning.search import LEAST_GAIN

OPERATIONS = [
    *("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
    *("reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
]
SIZES = (8, 128, 2048, 16384, 131072)
BETWEEN = (32, 512, 6000, 50_000)  # not tuned, but measured at the end
SEGMENT = 32768  # tried for parts of at least two of them
SECONDS = 0.15  # for each that is left at last
FINALISTS = 2  # beside Open MPI's own choice
USE = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


@dataclass(frozen=True)
class Variant:
    algorithm: openmpi.Algorithm
    segment: int = 0

    def variables(self, operation: str) -> dict[str, str]:
        prefix = f"OMPI_MCA_coll_tuned_{operation}_algorithm"
        return {prefix: str(self.algorithm.number), f"{prefix}_segmentsize": str(self.segment)}

    def __str__(self) -> str:
        return self.algorithm.name + (f", segments of {units.format_bytes(self.segment)}" if self.segment else "")


@dataclass
class Won:
    operation: str
    bytes: int
    variant: Variant


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", type=int, required=True, help="ranks")
    arguments.add_argument("--rules", type=Path, required=True)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--mpi", help="where Open MPI lies; without, the one that is found")
    arguments.add_argument("--only", help="operations, separated by commas")
    given = arguments.parse_args()
    chosen = mpi.at(given.mpi, os.environ) if given.mpi else mpi.find(None, os.environ)
    if chosen is None or chosen.family != "ompi":
        sys.exit("no Open MPI found: name its folder with --mpi")
    operations = given.only.split(",") if given.only else OPERATIONS
    won = tune(chosen, given.n, operations)
    won = confirmed(won, chosen, given.n)
    of_cell = {(one.operation, one.bytes): (one.variant.algorithm, one.variant.segment) for one in won}
    given.rules.write_text(openmpi.measured(of_cell, SIZES, given.n, chosen.name))
    measured = compare(chosen, given.n, operations, given.rules.resolve())
    page = "\n".join(report(won, measured, chosen, given.n)) + "\n"
    given.output.write_text(page) if given.output else print(page)
    return 0


def variants(operation: str, p: int) -> list[Variant]:
    """Without those that would change the order of operands that do not commute."""
    known = [*openmpi.COUNTERPARTS[operation].values()]
    if p == 2 and operation in openmpi.PAIRS:
        known.append(openmpi.PAIRS[operation])
    kept = {one.number: one for one in known if not one.reorders}
    return [Variant(one) for one in kept.values()] + [Variant(one, SEGMENT) for one in kept.values() if one.segmented]


def cells(operations: list[str], sizes: Sequence[int]) -> list[Cell]:
    return [Cell(name, size, "double") for name in operations for size in ((0,) if name == "barrier" else sizes)]


def bound(p: int) -> bool:
    return p <= usable_cores()


def all_forced(chosen: mpi.Mpi, of: dict[str, list[Variant]]) -> list[JobSpec]:
    """Open MPI's own choice; and the i-th job runs the i-th variant of every operation."""
    specs = [JobSpec("own choice", chosen)]
    for turn in range(max(map(len, of.values()), default=0)):
        forced = [of_one[turn].variables(operation) for operation, of_one in of.items() if turn < len(of_one)]
        variables = {name: text for one in (USE, *forced) for name, text in one.items()}
        specs.append(JobSpec(f"variant {turn}", chosen, variables=variables))
    return specs


def tune(chosen: mpi.Mpi, p: int, operations: list[str]) -> list[Won]:
    of = {operation: variants(operation, p) for operation in operations}
    won = []

    def one(cell: Cell, jobs: Sequence[Job]) -> None:
        own, *others = jobs
        own.ask(f"check {cell}", ANSWER_SECONDS)
        able = [(own, None)] + [
            (job, variant)
            for job, variant in zip(others, of[cell.operation])
            if (not variant.segment or 2 * variant.segment <= cell.bytes) and right(job, cell)
        ]
        first, _ = take_turns([(cell, job) for job, _ in able], 0)
        order = sorted(range(1, len(able)), key=lambda i: first[i].median)[:FINALISTS]
        final = [able[0], *(able[i] for i in order)]
        samples, _ = take_turns([(cell, job) for job, _ in final], SECONDS * len(final), LEAST_GAIN / 2)
        best = min(range(len(final)), key=lambda i: samples[i].median)
        variant = final[best][1]
        if variant and ratio(samples[0], samples[best]).interval[0] > 1 + LEAST_GAIN:
            won.append(Won(cell.operation, cell.bytes, variant))

    with_jobs(all_forced(chosen, of), cells(operations, SIZES), p, bound(p), "all algorithms", one)
    return won


def confirmed(won: list[Won], chosen: mpi.Mpi, p: int) -> list[Won]:
    """Those that win once more, in other jobs: where ranks share cores, jobs differ."""
    of: dict[str, list[Variant]] = {}
    for one in won:
        if one.variant not in of.setdefault(one.operation, []):
            of[one.operation].append(one.variant)
    at = {Cell(one.operation, one.bytes, "double"): one for one in won}
    kept = []

    def again(cell: Cell, jobs: Sequence[Job]) -> None:
        own, *others = jobs
        both = [own, others[of[cell.operation].index(at[cell].variant)]]
        samples, _ = take_turns([(cell, job) for job in both], 2 * SECONDS, LEAST_GAIN / 2)
        if ratio(*samples).interval[0] > 1 + LEAST_GAIN:
            kept.append(at[cell])

    with_jobs(all_forced(chosen, of), list(at), p, bound(p), "winners again", again)
    return kept


def right(job: Job, cell: Cell) -> bool:
    try:
        job.ask(f"check {cell}", ANSWER_SECONDS)
    except WrongResult as fault:
        print(fault.message, file=sys.stderr)
        return False
    return True


def compare(
    chosen: mpi.Mpi, p: int, operations: list[str], rules: Path
) -> dict[tuple[str, int], tuple[Samples, Samples]]:
    """In jobs of their own: with and without the file."""
    with_file = {**USE, "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(rules)}
    found = {}

    def one(cell: Cell, jobs: Sequence[Job]) -> None:
        for job in jobs:
            job.ask(f"check {cell}", ANSWER_SECONDS)
        samples, _ = take_turns([(cell, job) for job in jobs], 2 * SECONDS, LEAST_GAIN / 2)
        found[cell.operation, cell.bytes] = (samples[0], samples[1])

    specs = [JobSpec("without", chosen), JobSpec("with", chosen, variables=with_file)]
    with_jobs(specs, cells(operations, sorted(SIZES + BETWEEN)), p, bound(p), "with and without rules", one)
    return found


def report(won: list[Won], measured: dict, chosen: mpi.Mpi, p: int) -> list[str]:
    gains = {cell: ratio(*samples).median for cell, samples in measured.items()}

    def mean(values: list[float]) -> str:
        return f"{units.geometric_mean(values):.3f}"

    starts = {(one.operation, one.bytes) for one in won}

    def ruled(operation: str, size: int) -> bool:
        return (operation, max((start for start in SIZES if start <= size), default=0)) in starts

    groups = {
        "with a rule, at sizes that were tuned": [g for at, g in gains.items() if ruled(*at) and at[1] not in BETWEEN],
        "with a rule, between these sizes": [g for at, g in gains.items() if ruled(*at) and at[1] in BETWEEN],
        "without a rule, so alike in both jobs": [g for at, g in gains.items() if not ruled(*at)],
    }
    lines = [
        "# The stock Open MPI with rules of its own algorithms",
        "",
        f"{datetime.date.today()}: {chosen.name} on {host.name()}, {p} ranks. Made by `bench/run tune-openmpi`: every "
        "algorithm of coll/tuned, forced, took turns with Open MPI's own choice; where one was faster by at least "
        f"{100 * LEAST_GAIN:.0f} % with 95 % confidence, and again in other jobs, the rule file says so. Then the same "
        "library with and without that file, in jobs of their own that took turns; without / with:",
        "",
        f"* {len(gains)} cells: geometric mean **{mean(list(gains.values()))}**, "
        f"worst {min(gains.values()):.2f}, best {max(gains.values()):.2f}.",
        *(f"* {len(of_group)} {name}: {mean(of_group)}" for name, of_group in groups.items() if of_group),
        "",
        f"| | {' | '.join(map(str, (0, *sorted(SIZES + BETWEEN))))} | mean |",
        "|---|" + "---|" * (len(SIZES + BETWEEN) + 2),
    ]
    for operation in dict.fromkeys(operation for operation, _ in gains):
        cells = [gains.get((operation, size)) for size in (0, *sorted(SIZES + BETWEEN))]
        shown = [f"{gain:.2f}" if gain else "" for gain in cells]
        lines.append(f"| {operation} | {' | '.join(shown)} | {mean([gain for gain in cells if gain])} |")
    lines += ["", "Rules, each starting at so many bytes of a part, up to the next size that was tuned:", ""]
    lines += [f"* {one.operation}, {one.bytes}: {one.variant}" for one in won]
    return lines


if __name__ == "__main__":
    sys.exit(main())
