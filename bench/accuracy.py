"""Predictions against measurements: every algorithm, forced, at sizes that omnes measure does not use.

A machine whose CPUs belong to others, too, has faster and slower moments. So each cell takes turns with one that is the
same in all jobs, and the page tells cells of steady moments, when that took as long as it mostly does, from all cells.

Usage: bench/run accuracy MACHINE.toml [-o PAGE.md] [--measured FILE.jsonl] [--hosts 2 --bandwidth 1gbit]
MACHINE.toml: made just before by omnes measure -n 2, or with hosts by
  scripts/emulated-cluster -H 2 --ranks 1 --bandwidth 1gbit -- omnes measure -n 2 -o MACHINE.toml
FILE.jsonl: the times, for omnes report. Two ranks on this machine; with hosts one on each of so many emulated hosts.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.predictions import Predicted, summary
from lab.two_ranks import OPERATIONS, RANKS, SIZES
from omnes import _core
from omnes.bench import timing
from omnes.bench.job import Job, JobSpec, Spread
from omnes.bench.timing import Cell
from omnes.launching import mpi
from omnes.models.prediction import MachineCosts, Ranks, predict
from omnes.terminal import units

# Operations with one algorithm: for cells of up to so many bytes.
REFERENCES = {4096: Cell("neighbor_allgather", 8, "double"), 1 << 30: Cell("neighbor_allgather", 262144, "double")}
STEADY = 1.15  # times the reference's median over all cells, at most

CLOSED_LOOP = 1024  # bytes up to which collbench times calls in a closed loop: then the last rank counts
ONE_WAY = ("scan", "exscan")  # rank 0 waits for nobody: in a closed loop it runs ahead, and hides what a call takes
SECONDS, TIMES = 0.08, 3  # for a cell, and how often: jobs apart, as bad moments last for seconds


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("machine", type=Path)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--measured", type=Path, help="write all times here, for omnes report")
    arguments.add_argument("--only", help="operations, separated by commas")
    arguments.add_argument("--hosts", type=int, default=1, help="emulated, a rank on each")
    arguments.add_argument("--bandwidth", help="of each host's link, such as 1gbit")
    given = arguments.parse_args()
    if given.bandwidth and given.hosts == 1:
        sys.exit("--bandwidth is of links between hosts: give --hosts, too")
    machine = MachineCosts.load(given.machine)
    chosen = mpi.find(None, os.environ)
    if chosen is None:
        sys.exit("no MPI found")
    place = Place(Ranks(RANKS, RANKS), Spread())
    if given.hosts > 1:
        place = Place(Ranks(given.hosts, 1), Spread(given.hosts, bandwidth=given.bandwidth))
    rows = compare(machine, chosen, given.only.split(",") if given.only else OPERATIONS, place)
    if given.measured:
        given.measured.write_text("".join(json.dumps(row.for_report(place.ranks.count)) + "\n" for row in rows))
    page = "\n".join(report(rows, machine, place)) + "\n"
    given.output.write_text(page) if given.output else print(page)
    return 0


@dataclass(frozen=True)
class Place:
    ranks: Ranks
    spread: Spread

    def __str__(self) -> str:
        if self.spread.hosts == 1:
            return str(self.ranks)
        links = f" with links of {self.spread.bandwidth}" if self.spread.bandwidth else ""
        return f"{self.ranks.count} ranks, one on each of {self.spread.hosts} emulated hosts{links}"


@dataclass(frozen=True)
class Row(Predicted):
    reference: Cell
    beside: float  # the reference's time

    def for_report(self, ranks: int) -> dict[str, str | float]:
        return {
            "ranks": ranks,
            "operation": self.operation,
            "choice": self.name,
            "bytes": self.size,
            "seconds": self.measured,
            "predicted": self.predicted,
        }


def compare(machine: MachineCosts, chosen: mpi.Mpi, operations: list[str], place: Place) -> list[Row]:
    """With the i-th algorithm of every operation in one job; when all are through, again. The median counts."""
    names = {
        operation: [a["name"] for a in _core.catalogue() if a["operation"] == operation and able(a, place)]
        for operation in operations
    }
    times: dict[tuple[str, str, int], list[tuple[float, float]]] = defaultdict(list)
    for _ in range(TIMES):
        for turn in range(max(map(len, names.values()))):
            forced = {operation: of[turn] for operation, of in names.items() if turn < len(of)}
            for cell, pair in measured(forced, chosen, place):
                times[cell].append(pair)
    rows = []
    for (operation, name, size), pairs in times.items():
        both = sorted(pairs)[len(pairs) // 2]
        expected = predicted(machine, operation, name, size, place.ranks)
        rows.append(Row(operation, name, size, both[0], expected, reference(size), both[1]))
    return rows


def measured(
    forced: dict[str, str], chosen: mpi.Mpi, place: Place
) -> Iterator[tuple[tuple[str, str, int], tuple[float, float]]]:
    """(operation, algorithm, bytes), (seconds, those of what took turns with it)"""
    variables = {f"OMNES_{operation.upper()}": name for operation, name in forced.items()}
    spec = JobSpec("omnes", chosen, with_omnes=True, variables=variables)
    job = Job(spec, place.ranks.count, bind=place.spread.hosts == 1, spread=place.spread)
    try:
        job.wait_until_ready()
        for operation, name in forced.items():
            for size in (0,) if operation == "barrier" else SIZES:
                turns = [(Cell(operation, size, "double"), job), (reference(size), job)]
                (samples, beside), _ = timing.take_turns(turns, SECONDS)
                yield (operation, name, size), (samples.median, beside.median)
    finally:
        job.close()


def reference(size: int) -> Cell:
    return next(one for most, one in REFERENCES.items() if size <= most)


def able(algorithm: dict, place: Place) -> bool:
    return not _core.why_not(algorithm["operation"], algorithm["name"], place.ranks.count)


def predicted(machine: MachineCosts, operation: str, name: str, size: int, ranks: Ranks) -> float:
    """Until the last rank has returned, as collbench times. Of two ranks either root takes as long."""
    return predict(operation, name, ranks, [size], machine)[0]["seconds"]


def timed(row: Row) -> bool:
    """Whether what was measured is what a call takes."""
    return row.operation not in ONE_WAY or row.size > CLOSED_LOOP


def steady(rows: list[Row]) -> list[Row]:
    usual = {
        reference: units.percentile([row.beside for row in rows if row.reference == reference], 0.5)
        for reference in {row.reference for row in rows}
    }
    return [row for row in rows if 1 / STEADY <= row.beside / usual[row.reference] <= STEADY]


def report(rows: list[Row], machine: MachineCosts, place: Place) -> list[str]:
    everything, rows = rows, [row for row in rows if timed(row)]
    at_rest = steady(rows)
    lines = [
        "# Predictions against measurements",
        "",
        f"{datetime.date.today()}: {machine.facts['source']}; {place}, every algorithm forced. "
        "Made by `bench/run accuracy`; the machine file knows none of these sizes.",
        "",
        f"* Without {len(everything) - len(rows)} of {' and '.join(ONE_WAY)} up to {CLOSED_LOOP} bytes, of which "
        f"rank 0 makes many ahead of rank 1, so that their rate was measured: {summary(rows)}.",
        f"* In steady moments, when what takes turns with the cell was within a factor of {STEADY} of its median: "
        f"{summary(at_rest)}.",
        "",
        "Of steady moments:",
        "",
        "| bytes | median error | worst factor, of |",
        "|---|---|---|",
    ]
    for size in sorted({row.size for row in at_rest}):
        of_size = [row for row in at_rest if row.size == size]
        worst = max(of_size, key=lambda row: row.factor)
        median = units.percentile([row.error for row in of_size], 0.5)
        lines.append(f"| {size} | {100 * median:.0f} % | {worst.ratio:.2f}, {worst.operation}/{worst.name} |")
    lines += [
        "",
        "predicted / measured; in brackets what is not of a steady moment, or a rate:",
        "",
        f"| | {' | '.join(map(str, (0, *SIZES)))} |",
        "|---|" + "---|" * (len(SIZES) + 1),
    ]
    kept = set(at_rest)
    for operation, name in dict.fromkeys((row.operation, row.name) for row in everything):
        cells = {
            row.size: f"{row.ratio:.2f}" if row in kept else f"({row.ratio:.2f})"
            for row in everything
            if (row.operation, row.name) == (operation, name)
        }
        lines.append(f"| {operation}/{name} | {' | '.join(cells.get(size, '') for size in (0, *SIZES))} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
