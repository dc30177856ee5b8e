"""What a call costs before any data move: instructions, cache lines and time of calls that wait for nobody, on the
stock MPI and under omnes; what statistics add; and, where ranks share CPUs, how often they switch in a call.

Usage: bench/run overhead [-o PAGE.md] [--mpi PREFIX] [--together 8 16]
       bench/run overhead --lines OPERATION [-o PAGE.md] [--mpi PREFIX]
Instructions are counted by single steps, on x86-64 only; run it with nothing else beside. --lines tells of one
operation which functions its lines of code belong to, and what its lines of data are; what others do meanwhile changes
neither.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import own_program, touched
from lab.listing import listing
from lab.mapped import Maps
from omnes.bench import host, limits
from omnes.errors import OmnesError
from omnes.launching import cpus, mpi
from omnes.terminal import units

PROGRAM = Path(__file__).with_suffix(".c")
ALONE = ("bcast", "scatter", "reduce", "gather", "scatterv", "gatherv")
SIDES = ("stock", "omnes", "omnes, other sizes")
OF_THE_HOST = ("send", "recv", "wait", "test")
TOGETHER = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "alltoall")
LISTED = (*dict.fromkeys((*ALONE, *OF_THE_HOST, *TOGETHER)), "nothing")
TIMES = 5
CALLS = "2000"
COUNTED = ("bcast", "allreduce")
# The next 84 are not of the sample (src/runtime/sample.hpp): one that is, is slow when stepped, and so are later ones.
CALLS_BEFORE = "220000"
CALLS_IN_A_LOOP = "3000000"
SECONDS = 120.0
MAX_TOUCHED = 64 << 20  # bytes that are touched between two calls, so that it does not take too long


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--mpi", help="where it lies; without, the one that is found")
    arguments.add_argument(
        "--together", type=int, nargs="*", default=[8, 16], metavar="N", help="ranks that share CPUs"
    )
    arguments.add_argument(
        "--lines", choices=LISTED, metavar="OPERATION", help=f"only what one call touches: {', '.join(LISTED)}"
    )
    given = arguments.parse_args()
    chosen = mpi.named_or_first(given.mpi, os.environ)
    program = own_program.compiled(PROGRAM, chosen)
    here = host.describe()
    lines = [
        f"# What a call {'touches' if given.lines else 'costs by itself'}",
        "",
        f"{datetime.date.today()}: {here['processor']}, {here['cores']} cores, {chosen.name}. 8 bytes. "
        "Made by `bench/run overhead`.",
        *(one_call(chosen, program, given.lines) if given.lines else alone(chosen, program)),
    ]
    for ranks in () if given.lines else given.together:
        lines += together(chosen, program, ranks, limits.measure(ranks))
    page = "\n".join(lines) + "\n"
    given.output.write_text(page) if given.output else print(page, end="")
    return 0


def alone(chosen: mpi.Mpi, program: Path) -> Iterator[str]:
    measured = {operation: measure(chosen, program, operation) for operation in ALONE}
    yield from (
        "",
        "## Calls that wait for nobody",
        "",
        "2 ranks, bound to cores; rank 0 only sends, into queues that have room. Instructions of a call up to the "
        "first store into memory that ranks share, and of the whole call, counted by single steps (median of 100 "
        "calls); nanoseconds of the whole call, each after a barrier "
        f"(mean of the middle half of {CALLS} calls, median of {TIMES} jobs).",
        "",
        "Other sizes: 8 to 56 bytes, and never those of the call before.",
        "",
        *heading("instructions to the first store", "of the whole call", "ns"),
    )
    for operation, sides in measured.items():
        yield row(operation, (side.middle(what) for what in ("to_store", "instructions", "ns") for side in sides))
    yield from cold(measured)
    yield from of_the_host(chosen, program)
    yield from counted(chosen, program)


def cold(measured: dict[str, list[Side]]) -> Iterator[str]:
    yield from (
        "",
        "## Calls that find nothing in the caches",
        "",
        f"The same calls. Distinct cache lines ({touched.LINE} bytes) that a call touches, of code and of data, and "
        "pages (4 KiB), of code + of data; by its instructions, not by the kernel.",
        "",
        *heading("lines of code", "lines of data", "pages"),
    )
    for operation, sides in measured.items():
        calls = [side.call for side in sides]
        pages = [f"{len(call.code_pages)} + {len(call.data_pages)}" for call in calls]
        yield row(operation, [*(len(call.code) for call in calls), *(len(call.data) for call in calls), *pages])
    memory = {size: units.format_bytes(size) for size in touched_between()}
    if not memory:
        return
    yield from (
        "",
        f"Nanoseconds of a call before which each rank has written to each line of {' or '.join(memory.values())} of "
        f"memory, twice its {' or '.join(touched_between().values())} cache; each call is timed alone, after a barrier "
        f"(mean of the middle half, median of {TIMES} jobs).",
        "",
        *heading(*(f"ns after {size}" for size in memory.values())),
    )
    for operation, sides in measured.items():
        yield row(operation, (side.middle(f"ns after {size}") for size in memory for side in sides))


def of_the_host(chosen: mpi.Mpi, program: Path) -> Iterator[str]:
    yield from (
        "",
        "## Calls that are not ours",
        "",
        "Of no bytes and with nobody, while no operation of omnes is under way. Counted likewise.",
        "",
        "| | instructions, stock | omnes | ns, stock | omnes |",
        "|---|---|---|---|---|",
    )
    for operation in OF_THE_HOST:
        jobs = pairs(chosen, program, ("alone", operation, CALLS), 2)
        yield row(operation, (middle(jobs, what, side) for what in ("instructions", "ns") for side in (0, 1)))


def counted(chosen: mpi.Mpi, program: Path) -> Iterator[str]:
    yield from (
        "",
        "## With statistics",
        "",
        f"Under omnes, without and with `OMNES_STATS`. Instructions of a whole call after {CALLS_BEFORE} others; "
        f"nanoseconds of one of {CALLS_IN_A_LOOP} in a loop (median of {TIMES} jobs, in turn).",
        "",
        "| | instructions, without | with | ns, without | with |",
        "|---|---|---|---|---|",
    )
    with tempfile.TemporaryDirectory() as folder:
        ways: list[dict[str, str]] = [{}, {"OMNES_STATS": folder}]
        for operation in COUNTED:
            stepped = [run(chosen, program, ("alone", operation, CALLS_BEFORE), 2, True, way) for way in ways]
            words = ("together", operation, CALLS_IN_A_LOOP)
            loops = [[run(chosen, program, words, 2, True, way)["seconds"] for way in ways] for _ in range(TIMES)]
            cells = [f"{job['instructions']:.0f}" for job in stepped]
            cells += [f"{statistics.median(side) * 1e9:.1f}" for side in zip(*loops)]
            yield row(operation, cells)


def one_call(chosen: mpi.Mpi, program: Path, operation: str) -> Iterator[str]:
    for name, way, with_omnes in zip(SIDES, ("alone", "alone", "fresh"), (False, True, True)):
        call, maps, _ = traced(chosen, program, (way, operation, CALLS), with_omnes)
        yield from ("", f"## {operation}: {name}", *listing(call, maps))


@dataclass
class Side:
    """What jobs say of an operation on the stock MPI, under omnes, or of other sizes each time."""

    call: touched.Call
    jobs: list[Job]

    def middle(self, what: str) -> float:
        return statistics.median(job[what] for job in self.jobs)


def measure(chosen: mpi.Mpi, program: Path, operation: str) -> list[Side]:
    """As SIDES has them; their jobs in turn."""
    ways = [
        (("alone", operation, CALLS), False),
        (("alone", operation, CALLS), True),
        (("fresh", operation, CALLS), True),
    ]
    sizes = [str(size) for size in touched_between()]
    sides = [Side(call, [job]) for call, _, job in (traced(chosen, program, *way, sizes) for way in ways)]
    for _ in range(TIMES - 1):
        for side, (words, with_omnes) in zip(sides, ways):
            side.jobs.append(run(chosen, program, (*words, "-", *sizes), 2, with_omnes))
    return sides


def traced(
    chosen: mpi.Mpi, program: Path, words: tuple[str, ...], with_omnes: bool, sizes: list[str] | None = None
) -> tuple[touched.Call, Maps, Job]:
    touched.need_decoder()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        job = run(chosen, program, (*words, str(trace), *(sizes or ())), 2, with_omnes)
        found = touched.read(trace)
        return touched.middle(found.calls), Maps(trace.with_suffix(".maps").read_text(), found.thread), job


def touched_between() -> dict[int, str]:
    """Bytes that push all out of a cache, and which one: the second-level, and the third-level unless it is large."""
    caches = host.caches()
    sizes = {2 * caches[level]: level for level in ("L2", "L3") if level in caches}
    return {size: level for size, level in sizes.items() if size <= MAX_TOUCHED}


def heading(*columns: str) -> tuple[str, str]:
    """Each column for all sides; the first of them has its name."""
    names = [f"{column}, {SIDES[0]} | {' | '.join(SIDES[1:])}" for column in columns]
    return f"| | {' | '.join(names)} |", "|---" * (1 + len(SIDES) * len(columns)) + "|"


def row(name: str, cells: Iterable[float | str]) -> str:
    return f"| {name} | {' | '.join(cell if isinstance(cell, str) else f'{cell:.0f}' for cell in cells)} |"


def together(chosen: mpi.Mpi, program: Path, ranks: int, needed: limits.Limits) -> Iterator[str]:
    shared, turn = cpus.usable_cpus(), needed["yield"]
    yield from (
        "",
        f"## {ranks} ranks on {shared} CPUs",
        "",
        "In a loop. Switches to another process in a call, of all ranks together, and their time: a yield to another "
        f"process takes {turn * 1e6:.2f} µs here, on {shared} CPUs at once. Median of {TIMES} jobs. {ranks} processes "
        f"that do nothing but wait for each other, yielding, need {needed['meet'] * 1e6:.1f} µs.",
        "",
        "| | switches, stock | omnes | their time in µs, stock | omnes | µs, stock | omnes | ratio |",
        "|---|---|---|---|---|---|---|---|",
    )
    for operation in TOGETHER:
        jobs = pairs(chosen, program, ("together", operation, "3000"), ranks)
        switches = [middle(jobs, "switches", side) for side in (0, 1)]
        row = [f"{count:.1f}" for count in (*switches, *(count * turn / shared * 1e6 for count in switches))]
        row += [f"{middle(jobs, 'seconds', side) * 1e6:.1f}" for side in (0, 1)]
        ratio = statistics.median(stock["seconds"] / omnes["seconds"] for stock, omnes in jobs)
        yield f"| {operation} | {' | '.join(row)} | {ratio:.2f} |"


Job = dict[str, float]


def middle(jobs: list[tuple[Job, Job]], what: str, side: int) -> float:
    return statistics.median(pair[side][what] for pair in jobs)


def pairs(chosen: mpi.Mpi, program: Path, words: tuple[str, ...], ranks: int) -> list[tuple[Job, Job]]:
    """What jobs say, stock and under omnes in turn."""
    return [(run(chosen, program, words, ranks, False), run(chosen, program, words, ranks, True)) for _ in range(TIMES)]


def run(
    chosen: mpi.Mpi,
    program: Path,
    words: tuple[str, ...],
    ranks: int,
    with_omnes: bool,
    settings: Mapping[str, str] | None = None,
) -> Job:
    what, command = " ".join(words), [str(program), *words]
    try:
        return json.loads(own_program.output(chosen, command, ranks, with_omnes, what, SECONDS, settings))
    except json.JSONDecodeError as fault:
        raise OmnesError(f"{what}: {str(fault).splitlines()[0]}") from None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OmnesError as error:
        sys.exit(f"overhead: {error}")
