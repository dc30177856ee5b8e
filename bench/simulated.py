"""The simulated table: omnes's own choice against SMPI's four selectors on a fat tree, block and cyclic placement.

Usage: bench/run simulated [-n 64,256,1024] [-b SIZES] [-o NAME] [--page]
Simulates what NAME.jsonl lacks (omnes simulate; interrupted, it goes on there), and writes the page NAME.md. The same
on every machine: minutes for 64 ranks, an hour for 256, more for 1024, of which what would take days is left out.
--page: writes the page of what NAME.jsonl has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from omnes.simulation import smpi
from omnes.terminal import files
from omnes.terminal.units import format_bytes, format_us, geometric_mean, parse_counts, parse_sizes

PLATFORM = "fat-tree:64x16:leaf=8"
MEMORY, PATIENCE = "4G", 1200  # bytes of a cell's data; seconds without an answer
MANY = 512  # ranks, for which operations are simulated up to so many bytes
FOR_MANY = {
    262144: ("gather", "scatter"),
    16384: ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter"),
    1024: ("allgather", "reduce_scatter"),
    8: ("alltoall",),
}
BEHIND = 0.999  # simulated clocks round

Key = tuple[str, int]  # operation, bytes
Times = dict[Key, dict[str, float | None]]  # of each contender; None: it failed


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", "--ranks", default="64,256,1024")
    arguments.add_argument("-b", "--sizes", default="8,1K,16K,256K,4M")
    arguments.add_argument("-o", "--output", type=Path, default=Path("bench/results/simulated"))
    arguments.add_argument("--page", action="store_true", help="simulate nothing")
    given = arguments.parse_args()
    results = given.output.with_suffix(".jsonl")
    if not given.page:
        for count in parse_counts(given.ranks):
            simulate(count, given.sizes, results)
    lines = page(results, parse_counts(given.ranks), parse_sizes(given.sizes))
    given.output.with_suffix(".md").write_text("\n".join(lines) + "\n")
    return 0


def simulate(ranks: int, sizes: str, results: Path) -> None:
    where = ["-n", str(ranks), "--nodes", "block,cyclic", "--platform", PLATFORM]
    limits = ["--memory", MEMORY, "--patience", str(PATIENCE), "-o", str(results)]
    for most, operations in FOR_MANY.items() if ranks >= MANY else [(max(parse_sizes(sizes)), ())]:
        if small := ",".join(str(size) for size in parse_sizes(sizes) if size <= most):
            words = [*operations, "-b", small, *where, *limits]
            subprocess.run([sys.executable, "-m", "omnes", "simulate", *words], check=True)


def read(path: Path) -> dict[tuple[int, str], Times]:
    """By ranks and placement; of omnes what came last."""
    tables: dict[tuple[int, str], Times] = defaultdict(lambda: defaultdict(dict))
    for line in files.read(files.packed(path)).splitlines():
        one = json.loads(line)
        times = tables[one["ranks"], one["placement"]][one["operation"], one["bytes"]]
        times[one["contender"]] = one.get("seconds")
    return tables


def best(times: dict[str, float | None]) -> tuple[float, str] | None:
    found = [(seconds, name) for name in smpi.SELECTORS if (seconds := times.get(name)) is not None]
    return min(found) if found else None


def ratio(times: dict[str, float | None]) -> float | None:
    rival, own = best(times), times.get("omnes")
    return rival[0] / own if rival and own else None


def mean(ratios: list[float]) -> str:
    value = geometric_mean(ratios)
    return "-" if value is None else f"{value:.2f}"


def page(path: Path, ranks: list[int], sizes: list[int]) -> list[str]:
    tables = {key: times for key, times in sorted(read(path).items()) if key[0] in ranks}
    everything = [r for times in tables.values() for t in times.values() if (r := ratio(t)) is not None]
    behind = sum(r < BEHIND for r in everything)
    lines = [
        "# omnes and SMPI's selectors on a simulated cluster",
        "",
        f"Made by `bench/run simulated`: `{PLATFORM}`, 16 ranks on a host, simulated by SimGrid's SMPI "
        "([docs/simulation.md](../../docs/simulation.md)). A ratio is the time of the fastest of "
        f"{', '.join(smpi.SELECTORS)} over that of omnes as it chooses by itself: above 1, omnes is faster; beside it "
        f"omnes's time in µs. `-`: no result: data of more than {MEMORY}, nothing for {PATIENCE} s, or not tried.",
        "",
        f"**{len(everything)} cells: geometric mean {mean(everything)}, omnes slower in {behind}.**",
    ]
    for (count, placement), times in tables.items():
        lines += ["", f"## {count} ranks, {placement} placement", ""]
        lines += table(times, sizes)
    return lines + slower(tables) + missing(tables)


def table(times: Times, sizes: list[int]) -> list[str]:
    lines = ["| | " + " | ".join(map(format_bytes, sizes)) + " | mean |", "|---" * (len(sizes) + 2) + "|"]
    all_ratios = []
    for operation in dict.fromkeys(operation for operation, _ in times):
        cells, ratios = [], []
        for size in sizes if operation != "barrier" else [0, *[-1] * (len(sizes) - 1)]:
            one = times.get((operation, size), {})
            factor, own = ratio(one), one.get("omnes")
            if factor is not None:
                ratios.append(factor)
            shown = "-" if factor is None else f"**{factor:.2f}**" if factor < BEHIND else f"{factor:.2f}"
            cells.append("" if size < 0 else shown + (f" ({format_us(own)})" if own else ""))
        lines.append(f"| {operation} | {' | '.join(cells)} | {mean(ratios)} |")
        all_ratios += ratios
    return [*lines, f"| **all** |{' |' * len(sizes)} **{mean(all_ratios)}** |"]


def slower(tables: dict[tuple[int, str], Times]) -> list[str]:
    rows = []
    for (count, placement), times in tables.items():
        for (operation, size), one in times.items():
            factor, rival, own = ratio(one), best(one), one.get("omnes")
            if rival and own and factor is not None and factor < BEHIND:
                where = f"{operation} {format_bytes(size)}, {count} {placement}"
                rows.append(f"| {where} | {format_us(own)} | {rival[1]} | {format_us(rival[0])} | {factor:.2f} |")
    if not rows:
        return []
    head = ["", "## Where omnes is slower", "", "| cell | omnes µs | best | its µs | ratio |", "|---|---|---|---|---|"]
    return head + rows


def missing(tables: dict[tuple[int, str], Times]) -> list[str]:
    rows = []
    for (count, placement), times in tables.items():
        for (operation, size), one in times.items():
            absent = [name for name in ("omnes", *smpi.SELECTORS) if one.get(name) is None]
            if absent:
                rows.append(f"* {operation} {format_bytes(size)}, {count} {placement}: {', '.join(absent)}")
    return ["", "## Without a time, or with a wrong result", "", *rows] if rows else []


if __name__ == "__main__":
    sys.exit(main())
