"""omnes simulate: collectives, or a whole program, on a simulated machine, on omnes and on SimGrid's selectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from omnes import programs
from omnes.errors import UsageError, one_of
from omnes.placement import patterns
from omnes.simulation import cells, platforms, smpi, table
from omnes.simulation.cells import Contender
from omnes.terminal import options
from omnes.terminal import output as terminal
from omnes.terminal.progress import Steps
from omnes.terminal.units import format_bytes, parse_bytes, parse_counts, parse_sizes

_OPERATIONS = (
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "reduce_scatter",
    "gather",
    "scatter",
    "barrier",
)

_USUAL_CORES = 16


@click.command()
@click.argument("words", metavar="[OPERATION]... | [ARGUMENT]...", nargs=-1)
@click.option("-n", "ranks", metavar="LIST", help="Numbers of ranks: 64, or 64,256,1024.  [default: 64, or --nodes]")
@click.option("--platform", "machine", required=True, metavar="P", help=f"The machine: {platforms.KINDS}.")
@options.nodes("as many on a host as it has cores, or 16; 'x8 block,cyclic' are two cases")
@options.sizes("8,1K,16K", "Of one part, such as 8,1K or 8..1M:8.")
@click.option("--selector", default=",".join(smpi.SELECTORS), metavar="LIST", help="SimGrid's rivals; or none.")
@click.option(
    "--algorithm", "algorithms", multiple=True, metavar="A", help="Also omnes with this one: [OP/]NAME[:k=4], [OP/]all."
)
@click.option("--named", multiple=True, metavar="NAME", help="Also this algorithm of SimGrid's, such as lr.")
@click.option("--remap", "remaps", metavar="LIST", help="Also omnes with OMNES_REMAP=: off, exch, reorder.")
@click.option("--memory", default="2G", metavar="BYTES", help="Leave out cells whose data need more.")
@click.option("--patience", type=options.Real(1), default=600, metavar="S", help="Give up a cell after S seconds.")
@click.option("--cfg", "settings", multiple=True, metavar="KEY:VALUE", help="A setting of SimGrid's.")
@options.output("Keep results here, and go on from there.")
@options.for_scripts
@click.option(
    "--program",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.c",
    help="Run this program instead.",
)
def command(
    words: tuple[str, ...], ranks: str | None, machine: str, nodes: str | None, sizes: str, selector: str,
    algorithms: tuple[str, ...], named: tuple[str, ...], remaps: str | None, memory: str, patience: float,
    settings: tuple[str, ...], output: Path | None, to_csv: Path | None, to_json: Path | None,
    program: Path | None,
) -> None:  # fmt: skip
    """Simulate collectives on a machine that is not there, on omnes and on the selection logic of four MPIs.

    SimGrid runs the real code in simulated time, without noise: what is repeated comes out the same. Times are of one
    call that all ranks begin at the same moment, until the last is through. Results are checked.

    \b
    omnes simulate -n 64 --platform fat-tree:4x16 allreduce bcast -b 8,16K
    omnes simulate -n 64 --platform fat-tree:4x16 allreduce -b 1K --algorithm all
    omnes simulate -n 64,256,1024 --platform fat-tree:64x16:leaf=8 --nodes block,cyclic -o results.jsonl
    omnes simulate -n 64 --platform fat-tree:8x8 --nodes cyclic --remap off allgather -b 16K
    omnes simulate -n 16 --platform torus:2x2x2:cores=2 --program cg.c 32 1
    """
    platform = platforms.parse(machine)
    where = patterns.parse(nodes or "")
    counts = parse_counts(ranks) if ranks else [] if where.nodes and where.ranks else [64]
    rivals = [] if selector == "none" else _words(selector, smpi.SELECTORS, "selector")
    machines = [
        smpi.Machine(platform, one.count, one.per_node, "cyclic" if one.cyclic else "block")
        for one in patterns.groups(counts, where, platform.cores or _USUAL_CORES)
    ]
    for one in machines:
        platform.host_of_each_rank(one.ranks, one.ppn, one.placement)
    if program:
        smpi.require()
        _run_program(program, words, machines, rivals, patience, settings)
        return
    operations = _words(",".join(words or _OPERATIONS), tuple(cells.SHAPES), "operation to simulate")
    modes = _words(remaps, ("off", "exch", "reorder"), "OMNES_REMAP") if remaps else []
    limit = parse_bytes(memory)
    parts = []
    for one in machines:
        all_cells = list(_cells(one, operations, parse_sizes(sizes)))
        fitting = [cell for cell in all_cells if cell.memory() <= limit]
        contenders = cells.contenders(operations, one.ranks, rivals, algorithms, named, modes)
        parts.append(_Part(one, fitting, len(all_cells) - len(fitting), contenders))
    smpi.require()
    results = cells.Results(" ".join([machine, *settings]), output, smpi.build())
    _simulate(parts, results, patience, settings)
    shown = {cell for part in parts for cell in part.cells}
    records = [results.record(*key) for key in results.of if key[0] in shown]
    if not terminal.deliver(to_json, records, to_csv, records):
        return
    console = terminal.console()
    _show(parts, results, rivals, console)
    if left_out := sum(part.left_out for part in parts):
        console.print(f"left out: {left_out} cells whose data need more than {format_bytes(limit)} (--memory)")


@dataclass
class _Part:
    machine: smpi.Machine
    cells: list[cells.SimulatedCell]
    left_out: int  # cells that do not fit into the memory
    contenders: list[Contender]


def _words(text: str, valid: Sequence[str], what: str) -> list[str]:
    return [one_of(word, valid, what) for word in text.split(",")]


def _cells(one: smpi.Machine, operations: Sequence[str], sizes: Sequence[int]) -> Iterator[cells.SimulatedCell]:
    for operation in operations:
        for size in [0] if operation == "barrier" else sizes:
            if size % 4:
                raise UsageError(f"{size} bytes are no whole number of elements, which have 4 bytes")
            yield cells.SimulatedCell(operation, size, one.ranks, one.ppn, one.placement)


def _simulate(parts: Sequence[_Part], results: cells.Results, patience: float, settings: Sequence[str]) -> None:
    source = programs.source("simbench")
    compiled = {with_omnes: smpi.compiled(source, with_omnes) for with_omnes in (True, False)}
    jobs = [(part, contender, contender.takes_part_in(part.cells)) for part in parts for contender in part.contenders]
    total = sum(len(own) for _, _, own in jobs)
    done = 0
    with Steps("simulating") as steps:
        for part, contender, own in jobs:
            what = f"{contender.name}, {part.machine.ranks} ranks {part.machine.placement}"
            steps.begin(done, total, what, None)
            binary = compiled[contender.with_omnes]
            for cell in cells.simulate(binary, part.machine, contender, own, results, patience, settings):
                steps.begin(done + own.index(cell) + 1, total, f"{what}: {cell.operation}", None)
            done += len(own)


def _show(parts: Sequence[_Part], results: cells.Results, rivals: Sequence[str], console: Console) -> None:
    for part in parts:
        one = part.machine
        title = f"{one.platform.text}, {one.ranks} ranks, {one.ppn} on a host, {one.placement}"
        names = [contender.name for contender in part.contenders]
        console.print(table.render(results, part.cells, names, rivals, title))
    everything = [cell for part in parts for cell in part.cells]
    if rivals:
        console.print(table.summary(results, everything, rivals), soft_wrap=True)
    for (cell, name), outcome in results.of.items():
        if isinstance(outcome, str) and cell in everything:
            where = f"{cell.operation} {format_bytes(cell.bytes)}, {cell.ranks} ranks {cell.placement}"
            console.print(f"failed: {name}, {where}: {outcome}", soft_wrap=True)


def _run_program(
    program: Path, words: Sequence[str], machines: Sequence[smpi.Machine], rivals: Sequence[str], patience: float,
    settings: Sequence[str],
) -> None:  # fmt: skip
    for one in machines:
        for contender in cells.contenders([], one.ranks, rivals, [], []):
            click.echo(f"-- {contender.name}, {one.ranks} ranks, {one.placement}")
            binary = smpi.compiled(program.absolute(), contender.with_omnes)
            for line in smpi.run(binary, words, one, contender.selector, {}, settings, patience):
                click.echo(line)
