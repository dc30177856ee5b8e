"""omnes's own choice against an oracle: in each cell the fastest of all algorithms that SMPI has by name, and of ours.

Usage: bench/run oracle [-n 64] [--only MACHINES] [--nodes PLACEMENTS] [-o NAME] [--page]
Simulates what NAME.jsonl lacks, one slice after the other: a number of ranks, a machine, a placement. Interrupted, it
goes on there. Then it writes the page NAME.md. A slice of 64 ranks takes minutes, of 256 an hour, of 1024 a day.
After a change of omnes its own choice is simulated again, named algorithms are not: they are what was simulated once.
--page: writes the page of what NAME.jsonl has.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from lab import lower_bound
from omnes import programs
from omnes.simulation import cells, platforms, smpi
from omnes.terminal import files, units
from omnes.terminal.units import format_bytes, format_us

OPERATIONS = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce_scatter", "alltoall",
)  # fmt: skip
SIZES = "8,1K,16K,256K,4M"
PLACEMENTS = ("block", "cyclic", "random")
MEMORY = "1G"  # bytes of a cell's data
PATIENCE = 20  # seconds without an answer

# How good it is to be: against theirs, on average and at worst; against all, in so many of the cells and at worst.
WANTED_MEAN, WANTED_WORST = 1.15, 0.9
WANTED_OF_ALL, WANTED_SHARE, WORST_OF_ALL = 0.95, 0.98, 0.85
WANTED_BOUND = 2.0
MANY = 60  # cells that miss, at most, by machine: the worst

OVERHEAD, LATENCY, BANDWIDTH, MEMORY_LATENCY = 300e-9, 500e-9, 12.5e9, 200e-9  # as platforms have by themselves
# By ranks: hosts, cores of each; hosts below a leaf switch; points of the torus; the dragonfly's groups, chassis,
# routers and hosts of each: SimGrid 3.32 crashes where a chassis has fewer routers than there are groups.
SHAPES = {
    64: (16, 4, 4, (4, 2, 2), (4, 1, 4, 1)),
    256: (32, 8, 8, (4, 4, 2), (4, 1, 4, 2)),
    1024: (64, 16, 8, (4, 4, 4), (4, 2, 4, 2)),
}
TAPER = 4
HOST = 64  # ranks of the machine that is one host


@dataclass(frozen=True)
class Machine:
    name: str
    platform: str
    links: lower_bound.Links


def machines(ranks: int) -> Iterator[Machine]:
    hosts, cores, leaf, torus, dragonfly = SHAPES[ranks]
    links = partial(lower_bound.Links, memory_latency=MEMORY_LATENCY, overhead=OVERHEAD, bandwidth=BANDWIDTH)
    each = [(frozenset([host]), 1) for host in range(hosts)]
    for name, up in (("fat tree", leaf), ("tapered fat tree", leaf // TAPER)):
        switches = [(frozenset(range(first, first + leaf)), up) for first in range(0, hosts, leaf)]
        text = f"fat-tree:{hosts}x{cores}:leaf={leaf},up={up}"
        yield Machine(name, text, links(2 * LATENCY, cuts=[*each, *switches]))
    groups, _, _, below = dragonfly
    of_group = hosts // groups
    cuts = [(frozenset(range(g * of_group, (g + 1) * of_group)), groups - 1) for g in range(groups)]
    for name, shape, latency, own in (
        ("dragonfly", dragonfly, 2 * LATENCY, each + cuts),
        ("torus", torus, LATENCY, list(torus_cuts(torus))),
    ):
        yield Machine(name, f"{name}:{'x'.join(map(str, shape))}:cores={cores}", links(latency, cuts=own))
    if ranks == HOST:
        text = f"fat-tree:1x{HOST}:memory-bw=20G,memory-lat=100ns,overhead=100ns"
        yield Machine("one fast host", text, lower_bound.Links(0, 100e-9, 100e-9, BANDWIDTH))


def torus_cuts(shape: tuple[int, ...]) -> Iterator[tuple[frozenset[int], int]]:
    """Each host, and along each dimension the slabs of neighbouring layers."""
    points = [point[::-1] for point in product(*map(range, reversed(shape)))]  # the first dimension runs fastest
    for number in range(len(points)):
        yield frozenset([number]), 2 * len(shape)
    for d, n in enumerate(shape):
        for first, width in product(range(n), range(1, n)):
            layers = {(first + i) % n for i in range(width)}
            inside = frozenset(number for number, point in enumerate(points) if point[d] in layers)
            yield inside, 2 * len(points) // n


Outcome = float | str | None  # seconds, or why there are none; None: not simulated


@dataclass
class Cell:
    cell: cells.SimulatedCell
    automatic: float | None
    theirs: tuple[float, str] | None  # the fastest
    ours: tuple[float, str] | None
    bound: float

    @property
    def best(self) -> tuple[float, str] | None:
        own = (self.automatic, "automatic") if self.automatic else None
        return min(filter(None, (self.theirs, self.ours, own)), default=None)

    def against(self, rival: tuple[float, str] | None) -> float | None:
        return rival[0] / self.automatic if rival and self.automatic else None

    def misses(self) -> bool:
        theirs, everybody = self.against(self.theirs), self.against(self.best)
        return (theirs is not None and theirs < WANTED_WORST) or (everybody is not None and everybody < WANTED_OF_ALL)


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-n", "--ranks", default="64")
    arguments.add_argument("-b", "--sizes", default=SIZES)
    arguments.add_argument("--only", default="", help="machines, separated by commas")
    arguments.add_argument("--nodes", default=",".join(PLACEMENTS), help="placements, separated by commas")
    arguments.add_argument("--operations", default=",".join(OPERATIONS))
    arguments.add_argument("-o", "--output", type=Path, default=Path("bench/results/oracle"))
    arguments.add_argument("--page", action="store_true", help="simulate nothing")
    given = arguments.parse_args()
    file = given.output.with_suffix(".jsonl")
    if not given.page:
        smpi.require()
        operations, sizes = given.operations.split(","), units.parse_sizes(given.sizes)
        slices = [(r, m, p) for r in units.parse_counts(given.ranks) for m in machines(r) for p in placements(m)]
        for ranks, machine, placement in slices:
            if placement in given.nodes.split(",") and machine.name in (given.only or machine.name).split(","):
                simulate(machine, planned(ranks, machine, placement, operations, sizes), file)
    given.output.with_suffix(".md").write_text("\n".join(page(file)) + "\n")
    return 0


def placements(machine: Machine) -> tuple[str, ...]:
    """On one host all are one."""
    return PLACEMENTS if len(platforms.parse(machine.platform).hosts) > 1 else PLACEMENTS[:1]


def planned(
    ranks: int, machine: Machine, placement: str, operations: list[str], sizes: list[int]
) -> list[cells.SimulatedCell]:
    ppn = platforms.parse(machine.platform).cores
    return [
        cells.SimulatedCell(operation, size, ranks, ppn, placement)
        for operation in operations
        for size in ([0] if operation == "barrier" else sizes)
    ]


def simulate(machine: Machine, all_cells: list[cells.SimulatedCell], file: Path) -> None:
    todo = [cell for cell in all_cells if cell.memory() <= units.parse_bytes(MEMORY)]
    one = todo[0]
    where = smpi.Machine(platforms.parse(machine.platform), one.ranks, one.ppn, one.placement)
    source = programs.source("simbench")
    binary = {with_omnes: smpi.compiled(source, with_omnes) for with_omnes in (True, False)}
    operations = list(dict.fromkeys(cell.operation for cell in todo))
    own, *ours = cells.contenders(operations, one.ranks, [], ["all"], [])
    contenders = [own, *(replace(contender, name=contender.name.replace("omnes", "ours")) for contender in ours)]
    for operation in operations:
        for name in smpi.named(binary[False], where, operation):
            settings = (f"smpi/{operation}:{name}",)
            contenders.append(cells.Contender(f"simgrid {name}", False, settings=settings, operations=(operation,)))
    results = cells.Results(machine.platform, file, smpi.build())
    for number, contender in enumerate(contenders, 1):
        patiently(binary[contender.with_omnes], where, contender, contender.takes_part_in(todo), results)
        if sys.stderr.isatty():
            what = f"{one.ranks} ranks, {machine.name}, {one.placement}: {number} of {len(contenders)}"
            print(f"\r\033[K{what}", end="", file=sys.stderr)


def patiently(
    binary: Path, where: smpi.Machine, contender: cells.Contender, own: list[cells.SimulatedCell],
    results: cells.Results,
) -> None:  # fmt: skip
    """Where nothing is heard of a cell for a second time, the operation's longer ones are not tried. All this may have
    been stopped for a while."""
    silent = None
    while True:
        for cell in cells.simulate(binary, where, contender, own, results, PATIENCE):
            if "said nothing" in str(results.of[cell, contender.name]):
                break
        else:
            return
        if cell != silent:
            silent = cell
            del results.of[cell, contender.name]
            continue
        for longer in own:
            if longer.operation == cell.operation and longer.bytes > cell.bytes:
                results.add(longer, contender.name, f"not tried, as nothing was heard of {cell.bytes} bytes")


def read(file: Path) -> dict[tuple[str, cells.SimulatedCell], dict[str, Outcome]]:
    """By platform and cell, of each contender; of omnes what came last."""
    found: dict[tuple[str, cells.SimulatedCell], dict[str, Outcome]] = defaultdict(dict)
    for line in files.read(files.packed(file)).splitlines():
        one = json.loads(line)
        cell = cells.SimulatedCell.of(one)
        found[one["platform"], cell][one["contender"]] = one.get("seconds", one.get("failed"))
    return found


def fastest(outcomes: dict[str, Outcome], prefix: str) -> tuple[float, str] | None:
    times = [(o, name) for name, o in outcomes.items() if isinstance(o, float) and name.startswith(prefix)]
    return min(times, default=None)


def judged(machine: Machine, cell: cells.SimulatedCell, outcomes: dict[str, Outcome]) -> Cell:
    own = outcomes.get("omnes")
    host = platforms.host_numbers(cell.ranks, cell.ppn, cell.placement)
    bound = lower_bound.seconds(machine.links, host, cell.operation, cell.bytes)
    theirs, ours = fastest(outcomes, "simgrid "), fastest(outcomes, "ours ")
    return Cell(cell, own if isinstance(own, float) else None, theirs, ours, bound)


def page(file: Path) -> list[str]:
    found = read(file)
    lines = [
        "# omnes's own choice and an oracle",
        "",
        "Made by `bench/run oracle` ([docs/simulation.md](../../docs/simulation.md#an-oracle)), simulated by SimGrid's "
        "SMPI. *Theirs*: the fastest algorithm that SMPI has by name, its selectors among them. *All*: the fastest of "
        "these, of omnes's by name as they come, and of what omnes chooses. Ratios are its time over that of omnes as "
        "it chooses by itself; *bound*: omnes's time over what no algorithm can beat. "
        f"Wanted: theirs {WANTED_MEAN} in the mean and {WANTED_WORST} at worst; all {WANTED_OF_ALL} in "
        f"{WANTED_SHARE:.0%} of the cells and {WORST_OF_ALL} at worst; bound {WANTED_BOUND:g} in the median.",
        "",
        "| ranks | machine | placement | cells | theirs: mean | cells below "
        f"{WANTED_WORST} | all: cells from {WANTED_OF_ALL} | worst | bound: median |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    misses, remarks, below, everything = [], [], 0, 0
    for ranks in SHAPES:
        for machine in machines(ranks):
            here = {cell: of for (text, cell), of in found.items() if text == machine.platform and cell.ranks == ranks}
            rows = [judged(machine, cell, outcomes) for cell, outcomes in here.items()]
            for placement in placements(machine):
                if some := [row for row in rows if row.cell.placement == placement and row.automatic]:
                    lines.append(f"| {ranks} | {machine.name} | {placement} | {summary(some)} |")
            misses += listed(ranks, machine, rows)
            remarks += absent(ranks, machine, here)
            everything += sum(len(of) for of in here.values())
            below += sum(
                isinstance(o, float) and o < row.bound * (1 - 1e-6) for row in rows for o in here[row.cell].values()
            )
    lines += ["", f"{everything} simulations; {below} took less than their bound."]
    lines[-1] += " Machines and placements that are not listed were not simulated."
    return [*lines, *misses, *remarks]


def summary(rows: list[Cell]) -> str:
    theirs = [r for row in rows if (r := row.against(row.theirs)) is not None]
    everybody = [r for row in rows if (r := row.against(row.best)) is not None]
    behind = sum(r < WANTED_WORST for r in theirs)
    share = sum(r >= WANTED_OF_ALL for r in everybody) / len(everybody)
    bound = units.percentile([row.automatic / row.bound for row in rows if row.automatic], 0.5)
    mean = units.geometric_mean(theirs) or 0
    return f"{len(rows)} | {mean:.2f} | {behind} | {share:.0%} | {min(everybody):.2f} | {bound:.2f}"


def listed(ranks: int, machine: Machine, rows: list[Cell]) -> list[str]:
    missing = sorted((row for row in rows if row.misses()), key=lambda row: row.against(row.best) or 0)
    if not missing:
        return []
    some = f" The {MANY} worst:" if len(missing) > MANY else ""
    head = ["", f"## {ranks} ranks, {machine.name}: cells that miss", ""]
    head.append(f"`{machine.platform}`, {len(missing)} of {len(rows)}.{some}")
    table = ["", "| cell | µs | fastest | its µs | ratio |", "|---|---|---|---|---|"]
    for row in missing[:MANY]:
        cell, best = row.cell, row.best
        assert best and row.automatic
        where = f"{cell.operation} {format_bytes(cell.bytes)}, {cell.placement}"
        ratio = best[0] / row.automatic
        table.append(f"| {where} | {format_us(row.automatic)} | {best[1]} | {format_us(best[0])} | {ratio:.2f} |")
    return head + table


def absent(ranks: int, machine: Machine, here: dict[cells.SimulatedCell, dict[str, Outcome]]) -> list[str]:
    """Cells that are too large, and contenders that failed."""
    if not here:
        return []
    lines = []
    for placement in placements(machine):
        some = {cell: of for cell, of in here.items() if cell.placement == placement}
        if not some:
            continue
        too_large = [
            f"{cell.operation} {format_bytes(cell.bytes)}"
            for cell in planned(ranks, machine, placement, list(OPERATIONS), sorted({c.bytes for c in some if c.bytes}))
            if cell not in some and cell.memory() > units.parse_bytes(MEMORY)
        ]
        failed = defaultdict(list)
        for cell, outcomes in some.items():
            for name, outcome in outcomes.items():
                if isinstance(outcome, str):
                    failed[f"{cell.operation}/{name}"].append(format_bytes(cell.bytes))
        if too_large:
            lines.append(f"* {placement}: data of more than {MEMORY}: {', '.join(too_large)}.")
        if failed:
            names = "; ".join(f"{name} {', '.join(sizes)}" for name, sizes in failed.items())
            lines.append(f"* {placement}: failed, or nothing for {PATIENCE} s: {names}.")
    return ["", f"## {ranks} ranks, {machine.name}: left out", "", *lines] if lines else []


if __name__ == "__main__":
    sys.exit(main())
