"""Predictions against simulations: every algorithm by omnes predict, and in SimGrid's SMPI with plain links.

Usage: bench/run predicted [-n 16,64] [-b SIZES] [-o NAME] [--page]
Simulates what NAME.jsonl lacks (omnes simulate; interrupted, it goes on there), and writes the page NAME.md. The same
on every machine, in minutes. --page: writes the page of what NAME.jsonl has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lab.plain_links import machine_file
from lab.predictions import Predicted
from omnes.models.prediction import MachineCosts, Ranks, predict
from omnes.simulation.cells import SHAPES
from omnes.terminal import files
from omnes.terminal.units import format_bytes, format_us, parse_counts, percentile

# One switch, so that two links are between any two hosts.
PER_HOST = 4
WORK, LINK, BANDWIDTH = 300e-9, 500e-9, 12.5e9
MEMORY_LATENCY, MEMORY_BANDWIDTH = 200e-9, 10e9
PLATFORM = (
    f"fat-tree:16x{PER_HOST}:leaf=16,bw={BANDWIDTH / 1e9:g}G,lat={LINK * 1e9:g}ns,overhead={WORK * 1e9:g}ns,"
    f"memory-bw={MEMORY_BANDWIDTH / 1e9:g}G,memory-lat={MEMORY_LATENCY * 1e9:g}ns"
)
PLAIN = (
    "network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0",
    "network/crosstraffic:0", "network/TCP-gamma:0",
)  # fmt: skip
MACHINE = machine_file("simulated", PER_HOST, WORK, MEMORY_LATENCY, MEMORY_BANDWIDTH, 2 * LINK, BANDWIDTH)

OPERATIONS = tuple(SHAPES)


@dataclass(frozen=True)
class Row(Predicted):
    """Measured is what was simulated."""

    ranks: int


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", "--ranks", default="16,64")
    arguments.add_argument("-b", "--sizes", default="8,1K,16K,128K")
    arguments.add_argument("-o", "--output", type=Path, default=Path("bench/results/predicted"))
    arguments.add_argument("--only", default=",".join(OPERATIONS), help="operations, separated by commas")
    arguments.add_argument("--page", action="store_true", help="simulate nothing")
    given = arguments.parse_args()
    results = given.output.with_suffix(".jsonl")
    if not given.page:
        simulate(given.only.split(","), parse_counts(given.ranks), given.sizes, results)
    given.output.with_suffix(".md").write_text("\n".join(page(rows(results))) + "\n")
    return 0


def simulate(operations: list[str], ranks: list[int], sizes: str, results: Path) -> None:
    words = [
        *operations,
        "-n",
        ",".join(map(str, ranks)),
        "--nodes",
        f"x{PER_HOST}",
        "--platform",
        PLATFORM,
        "-b",
        sizes,
    ]
    words += ["--algorithm", "all", "--selector", "none", "-o", str(results)]
    for setting in PLAIN:
        words += ["--cfg", setting]
    subprocess.run([sys.executable, "-m", "omnes", "simulate", *words], check=True, stdout=subprocess.DEVNULL)


def rows(results: Path) -> list[Row]:
    machine = MachineCosts(MACHINE)
    found = {}
    for line in files.read(files.packed(results)).splitlines():
        one = json.loads(line)
        name, _, choice = one["contender"].partition(" ")
        if choice and "seconds" in one:
            where = (one["operation"], choice, one["ranks"], one["bytes"])
            expected = predict(*where[:2], Ranks(one["ranks"], PER_HOST), [one["bytes"]], machine)[0]["seconds"]
            found[where] = Row(*where[:2], one["bytes"], one["seconds"], expected, one["ranks"])
    return sorted(found.values(), key=lambda row: (OPERATIONS.index(row.operation), row.name, row.ranks, row.size))


def summary(of: list[Row]) -> str:
    errors = [row.error for row in of]
    worst = max(of, key=lambda row: row.factor)
    return (
        f"{len(of)} | {100 * percentile(errors, 0.5):.1f} % | {100 * percentile(errors, 0.9):.0f} % | "
        f"{worst.ratio:.2f}, {worst.operation}/{worst.name} {format_bytes(worst.size)}, {worst.ranks} ranks"
    )


def page(everything: list[Row]) -> list[str]:
    lines = [
        "# Predictions against simulations",
        "",
        f"Made by `bench/run predicted`: every algorithm, by `omnes predict` ([docs/models.md](../../docs/models.md)) "
        "and run in SimGrid's SMPI ([docs/simulation.md](../../docs/simulation.md)) "
        f"on `{PLATFORM}`, {PER_HOST} ranks on a host, "
        f"with the network model CM02, its factors 1. Error: |predicted / simulated - 1|.",
        "",
        "| | cells | median error | 90th percentile | worst, predicted / simulated |",
        "|---|---|---|---|---|",
        f"| **all** | {summary(everything)} |",
    ]
    for key in ("operation", "size", "ranks"):
        for value in dict.fromkeys(getattr(row, key) for row in everything):
            shown = {"size": f"{value} B", "ranks": f"{value} ranks"}.get(key, value)
            lines.append(f"| {shown} | {summary([row for row in everything if getattr(row, key) == value])} |")
    sizes = sorted({(row.ranks, row.size) for row in everything})
    lines += [
        "",
        "predicted / simulated, and in brackets µs simulated:",
        "",
        "| | " + " | ".join(f"{ranks} ranks, {format_bytes(size)}" for ranks, size in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for name in dict.fromkeys((row.operation, row.name) for row in everything):
        cells = {
            (row.ranks, row.size): f"{row.ratio:.2f} ({format_us(row.measured)})"
            for row in everything
            if (row.operation, row.name) == name
        }
        lines.append(f"| {'/'.join(name)} | " + " | ".join(cells.get(size, "") for size in sizes) + " |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
