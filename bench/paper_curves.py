"""The curves of Luo, Zhang 2017 up to 8192 ranks: theory, omnes predict, SMPI's simulation, and what was measured.

Usage: bench/run paper-curves [-n 16,64,256,1024,4096,8192] [-o NAME] [--page]
Simulates what NAME.jsonl lacks (omnes simulate; interrupted, it goes on there), and writes NAME.svg and the page
NAME.md. The same on every machine: minutes up to 1024 ranks; beyond, minutes for a tree, and far more for the others
(docs/simulation.md). --page: simulates nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

from lab.paper import ALPHA, BANDWIDTH, BYTES, EXCHANGE, GAMMA, MEASURED, THEORY, P
from lab.plain_links import machine_file
from omnes import _core
from omnes.reporting import charts
from omnes.reporting.charts import Series
from omnes.terminal import files
from omnes.terminal.units import format_bytes, format_us, parse_counts

SIZES = (128, BYTES)
PER_NODE = 8
RANKS = tuple(16 << i for i in range(10))

# One machine for both simulations: a latency is two overheads at the ends and four links between, a third each. Each
# host has one link, as fast as PingPong.
WORK, LINK = ALPHA / 3, ALPHA / 12
MEMORY_LATENCY, MEMORY_BANDWIDTH = 100e-9, 10e9
PLATFORM = (
    f"fat-tree:1024x{PER_NODE}:leaf=32,bw={BANDWIDTH / 1e6:.0f}M,lat={LINK * 1e9:g}ns,overhead={WORK * 1e9:g}ns,"
    f"memory-bw={MEMORY_BANDWIDTH / 1e9:.0f}G,memory-lat={MEMORY_LATENCY * 1e9:g}ns"
)
MACHINE = machine_file("paper", PER_NODE, WORK, MEMORY_LATENCY, MEMORY_BANDWIDTH, 4 * LINK, BANDWIDTH)

# The algorithm that theory means.
OPERATIONS = ("bcast", "reduce", "allreduce", "barrier", "allgather")
ALGORITHMS = {name: THEORY[name][0] if name in THEORY else "dissemination" for name in OPERATIONS}
MAX_RANKS = {"allgather": 256}  # that are simulated: beyond, there are too many messages, and p * p parts

Curve = list[tuple[float, float]]  # of seconds, by ranks


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", "--ranks", default="16,64,256,1024,4096,8192")
    arguments.add_argument("-o", "--output", type=Path, default=Path("bench/results/paper-curves"))
    arguments.add_argument("--page", action="store_true", help="simulate nothing")
    given = arguments.parse_args()
    results = given.output.with_suffix(".jsonl")
    for ranks in [] if given.page else parse_counts(given.ranks):
        simulate(ranks, results)
    times = read(results)
    cells = [(operation, size) for operation in ALGORITHMS for size in (SIZES if operation != "barrier" else (0,))]
    curves = {cell: curves_of(*cell, times) for cell in cells}
    panels = [(title(*cell), series(*cell, *curves[cell])) for cell in cells]
    given.output.with_suffix(".svg").write_text(charts.sheet(panels, 3, "ranks"))
    given.output.with_suffix(".md").write_text("\n".join(page(given.output.name, curves)) + "\n")
    return 0


def simulate(ranks: int, results: Path) -> None:
    operations = [one for one in ALGORITHMS if ranks <= MAX_RANKS.get(one, ranks)]
    words = ["-n", str(ranks), "--platform", PLATFORM, "-b", ",".join(map(str, SIZES)), "--selector", "none"]
    for operation in operations:
        words += ["--algorithm", f"{operation}/{ALGORITHMS[operation]}"]
    words += ["--memory", "4G", "--patience", "1800", "-o", str(results)]
    subprocess.run([sys.executable, "-m", "omnes", "simulate", *operations, *words], check=True)


def read(path: Path) -> dict[tuple[str, int, str], Curve]:
    """By operation, bytes and contender; what came last counts."""
    times: dict[tuple[str, int, str], dict[float, float]] = {}
    for line in files.read(files.packed(path)).splitlines():
        one = json.loads(line)
        if "seconds" in one:
            times.setdefault((one["operation"], one["bytes"], one["contender"]), {})[one["ranks"]] = one["seconds"]
    return {key: sorted(found.items()) for key, found in times.items()}


def theory(operation: str, size: int, ranks: int) -> float:
    if operation == "barrier":
        return math.ceil(math.log2(ranks)) * ALPHA
    algorithm, all_to_all = THEORY[operation]
    bandwidth = EXCHANGE[PER_NODE] if all_to_all else BANDWIDTH
    return _core.hockney(operation, algorithm, ranks, size, ALPHA, 1 / bandwidth, GAMMA)


def curves_of(operation: str, size: int, times: dict[tuple[str, int, str], Curve]) -> tuple[Curve, ...]:
    """By theory, predicted, simulated with theory's algorithm, and with what omnes chooses."""
    algorithm = ALGORITHMS[operation]
    own: Curve = [(p, theory(operation, size, p)) for p in RANKS]
    predicted = [_core.predict(operation, algorithm, p, [size], MACHINE, PER_NODE)[0]["seconds"] for p in RANKS]
    simulated = [times.get((operation, size, contender), []) for contender in (f"omnes {algorithm}", "omnes")]
    return own, list(zip(RANKS, predicted)), *simulated


def series(operation: str, size: int, own: Curve, predicted: Curve, simulated: Curve, chosen: Curve) -> list[Series]:
    found = [
        Series("theory (closed formula)", line=own, colour=0),
        Series("omnes predict, the same algorithm", line=predicted, colour=1),
        Series("SMPI, the same algorithm", dots=simulated, colour=2),
        Series("SMPI, what omnes chooses", dots=chosen, colour=3),
    ]
    if size == SIZES[-1] and operation in MEASURED:
        of_8, of_12 = (1e-6 * MEASURED[operation][per_node] for per_node in (8, 12))
        found.append(Series("measured, 8 and 12 on a node", dots=[(P, of_8), (P, of_12)], colour=4))
    return found


def title(operation: str, size: int) -> str:
    return ", ".join([operation, ALGORITHMS[operation], *([f"{format_bytes(size)}B"] if size else [])])


def page(name: str, curves: dict[tuple[str, int], tuple[Curve, ...]]) -> list[str]:
    lines = [
        "# The paper's curves up to 8192 ranks",
        "",
        "Made by `bench/run paper-curves`, which simulates what the file of results lacks; `--page` draws what it has. "
        "Luo, Zhang 2017 measured a cluster of 8192 processes beside closed formulas. Here these stand beside "
        "`omnes predict` ([docs/models.md](../../docs/models.md)) and beside omnes's own code in SimGrid's SMPI "
        "([docs/simulation.md](../../docs/simulation.md)), on one machine with the paper's figures: α = 2.37 µs, a "
        f"third of it work at each end; {PER_NODE} ranks on a host, which has one link of 3183 MB/s. Theory takes 569 "
        "MB/s where all send to all, as the paper does; for Barrier, where it has no formula, ⌈lb p⌉ α. Reductions "
        "take no time in SMPI, nor in this machine.",
        "",
        f"The curves: `{name}.svg`, which `bench/run paper-curves --page` draws.",
        "",
        "## At the most ranks that were simulated",
        "",
        "Microseconds. Measured: the paper's Table 5, 8 and 12 processes on a node.",
        "",
        "| | ranks | theory | omnes predict | SMPI | predict / SMPI | SMPI, omnes's choice | measured |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (operation, size), (own, predicted, simulated, chosen) in curves.items():
        if not simulated:
            continue
        ranks, seconds = simulated[-1]
        model = dict(predicted)[ranks]
        best = format_us(dict(chosen)[ranks]) if ranks in dict(chosen) else "-"
        known = MEASURED.get(operation) if (size, ranks) == (SIZES[-1], P) else None
        measured = " / ".join(str(known[per_node]) for per_node in (8, 12)) if known else "-"
        times = [format_us(time) for time in (dict(own)[ranks], model, seconds)]
        row = [title(operation, size), f"{ranks:.0f}", *times, f"{model / seconds:.2f}", best, measured]
        lines.append(f"| {' | '.join(row)} |")
    limits = ", ".join(f"{operation} {most}" for operation, most in MAX_RANKS.items())
    return [
        *lines,
        "",
        "Bcast of 16 KiB takes several times as long in SMPI as Reduce up the same tree, and as predicted: a parent "
        "sends to all its children at once, and the messages share its link, so that the child with most ranks below "
        "it waits as long as the others; `omnes predict` has a rank's messages leave one after the other. The paper "
        "measured such a difference, which its theory lacks.",
        "",
        f"Ranks that are ever simulated, where it is not all: {limits} (p * p messages). What else has fewer than {P} "
        "was not simulated yet: [what that costs](../../docs/simulation.md).",
    ]


if __name__ == "__main__":
    sys.exit(main())
