"""Several jobs on one machine at once, as tests and build servers start them (jobs.c), on the stock MPI and on omnes.

Usage: bench/run jobs [-n N] [--at-once J[,J...]] [--steps N] [--times N] [--mpi PREFIX] [-o PAGE.md]
Each job is started as its user would, without a word of binding or of other jobs, and computes and combines by turns.
Both sides take turns; the slowest job counts, of all times the median.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import own_program
from omnes.bench import host
from omnes.errors import OmnesError
from omnes.launching import mpi

PROGRAM = Path(__file__).with_suffix(".c")
SIDES = ("stock", "omnes")
SECONDS = 300.0  # of a job, at most
CASES = ((8, 70_000), (64 << 10, 35_000))  # bytes, work of a step: about 100 and 50 µs at 2.8 GHz

Figures = dict[tuple[int, int, str], list[float]]  # bytes, jobs at once, side -> seconds of the slowest job


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", "--ranks", type=int, default=2, metavar="N", help="ranks of each job; 2 by default")
    arguments.add_argument("--at-once", default="1,2,3", metavar="J,...", help="numbers of jobs; 1,2,3 by default")
    arguments.add_argument("--steps", type=int, default=3000, metavar="N", help="of each job; 3000 by default")
    arguments.add_argument("--times", type=int, default=5, metavar="N", help="of each side; 5 by default")
    arguments.add_argument("--mpi", metavar="PREFIX", help="where it lies; without, the one that is found")
    arguments.add_argument("-o", "--output", type=Path, metavar="PAGE.md")
    given = arguments.parse_args()
    numbers = [int(word) if word.isdecimal() else 0 for word in given.at_once.split(",")]
    if min(given.ranks, given.steps, given.times, *numbers) < 1:
        raise OmnesError("-n, --steps, --times take 1 or more; --at-once takes such numbers, such as 1,2,3")
    chosen = mpi.named_or_first(given.mpi, os.environ)
    program = own_program.compiled(PROGRAM, chosen)
    figures: Figures = {}
    for _ in range(given.times):
        for bytes_, work in CASES:
            words = [str(program), str(bytes_), str(work), str(given.steps)]
            for number in numbers:
                for side in random.sample(SIDES, 2):
                    slowest = max(run(chosen, words, given.ranks, side == "omnes", number))
                    figures.setdefault((bytes_, number, side), []).append(slowest)
    page = "\n".join(written(chosen, given.ranks, given.steps, given.times, figures)) + "\n"
    given.output.write_text(page) if given.output else print(page, end="")
    return 0


def run(chosen: mpi.Mpi, words: list[str], ranks: int, with_omnes: bool, number: int) -> list[float]:
    """The seconds of each of so many jobs."""
    side = SIDES[with_omnes]

    def one(_: int) -> float:
        said = own_program.output(chosen, words, ranks, with_omnes, side, SECONDS, as_it_comes=True)
        try:
            return float(said)
        except ValueError:
            raise OmnesError(f"{side}: it printed {said[:60]!r} instead of seconds") from None

    with ThreadPoolExecutor(number) as at_once:
        return list(at_once.map(one, range(number)))


def written(chosen: mpi.Mpi, ranks: int, steps: int, times: int, figures: Figures) -> list[str]:
    here = host.describe()
    rows = []
    for bytes_, number in sorted({(bytes_, number) for bytes_, number, _ in figures}):
        stock, omnes = (statistics.median(figures[bytes_, number, side]) for side in SIDES)
        least, most = (f"{pick(figures[bytes_, number, 'stock']):.2f}" for pick in (min, max))
        rows.append(f"| {bytes_} | {number} | {stock:.2f} | {least} to {most} | {omnes:.2f} | {stock / omnes:.2f} |")
    return [
        "# Several jobs at once",
        "",
        f"{datetime.date.today()}: {here['processor']}, {here['cores']} cores, {chosen.name}. Jobs of {ranks} ranks, "
        f"started at once as they come; in each {steps} times some computation and an allreduce of so many bytes. "
        f"Seconds of the slowest job, the median of {times}. Made by `bench/run jobs`.",
        "",
        "| bytes | jobs at once | stock | least and most | omnes | ratio |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OmnesError as error:
        sys.exit(f"jobs: {error}")
