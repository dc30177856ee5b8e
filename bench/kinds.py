"""Kinds of calls that programs make and other benchmarks leave out (kinds.c), on the stock MPI and on omnes.

Usage: bench/run kinds [-n N] [--times N] [--mpi PREFIX] [--up-to SIZE] [-o PAGE.md]
Jobs of both take turns, in random order; of each the lower quartile counts. The page has all kinds, those that gain
least first.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import sys
from collections import defaultdict
from pathlib import Path

from lab import own_program
from omnes.bench import host
from omnes.errors import OmnesError
from omnes.launching import mpi
from omnes.terminal import units

PROGRAM = Path(__file__).with_suffix(".c")
SIDES = ("stock", "omnes")
SECONDS = 300.0  # of a job, at most


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", "--ranks", type=int, default=2, metavar="N", help="ranks; 2 by default")
    arguments.add_argument("--times", type=int, default=8, metavar="N", help="jobs of each side; 8 by default")
    arguments.add_argument("--mpi", metavar="PREFIX", help="where it lies; without, the one that is found")
    arguments.add_argument("--up-to", default="8M", metavar="SIZE", help="bytes of a rank, at most; 8M by default")
    arguments.add_argument("-o", "--output", type=Path, metavar="PAGE.md")
    given = arguments.parse_args()
    if given.ranks < 2 or given.times < 1:
        raise OmnesError("-n takes 2 or more, --times 1 or more")
    longest = str(units.parse_bytes(given.up_to))
    chosen = mpi.named_or_first(given.mpi, os.environ)
    program = own_program.compiled(PROGRAM, chosen)
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))  # kind -> side -> µs
    for _ in range(given.times):
        for side in random.sample(SIDES, 2):
            for kind, microseconds in run(chosen, [str(program), longest], given.ranks, side == "omnes"):
                times[kind][side].append(microseconds)
    page = "\n".join(written(chosen, given.ranks, given.times, times)) + "\n"
    given.output.write_text(page) if given.output else print(page, end="")
    return 0


def run(chosen: mpi.Mpi, words: list[str], ranks: int, with_omnes: bool) -> list[tuple[str, float]]:
    """Each kind with its microseconds."""
    side = SIDES[with_omnes]
    lines = own_program.output(chosen, words, ranks, with_omnes, side, SECONDS).splitlines()
    try:
        return [(kind, float(figure)) for kind, figure in (line.split("\t") for line in lines)]
    except ValueError as fault:
        raise OmnesError(f"{side}: {str(fault).splitlines()[0]}") from None


def written(chosen: mpi.Mpi, ranks: int, jobs: int, times: dict[str, dict[str, list[float]]]) -> list[str]:
    quartiles = {kind: [units.percentile(sides[side], 0.25) for side in SIDES] for kind, sides in times.items()}
    rows = sorted((stock / omnes, kind, stock, omnes) for kind, (stock, omnes) in quartiles.items())
    here = host.describe()
    return [
        "# Kinds of calls",
        "",
        f"{datetime.date.today()}: {here['processor']}, {here['cores']} cores, {chosen.name}, {ranks} ranks. Bytes are "
        f"those of a rank; µs, the lower quartile of {jobs} jobs that took turns. Made by `bench/run kinds`.",
        "",
        f"{len(rows)} kinds, geometric mean {units.geometric_mean(row[0] for row in rows):.2f}; "
        f"{sum(row[0] < 1 for row in rows)} slower.",
        "",
        "| | stock | omnes | ratio |",
        "|---|---|---|---|",
        *(f"| {kind} | {stock:.2f} | {omnes:.2f} | {ratio:.2f} |" for ratio, kind, stock, omnes in rows),
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OmnesError as error:
        sys.exit(f"kinds: {error}")
