"""omnes measure: what messages, copies and reductions cost on this machine, as a file for predictions."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from omnes import _core, programs
from omnes.bench import host
from omnes.bench.job import binding, binding_is_given
from omnes.bench.timing import Samples
from omnes.errors import OmnesError
from omnes.launching import arguments, cpus, launch, mpi
from omnes.models import costs_file
from omnes.terminal import files, options, progress, units
from omnes.terminal.output import deliver

ROUNDS = 21  # of everything: enough for a median that a few disturbed rounds do not move
_LIMIT_SECONDS = 300
_COPY_BYTES = (64, 1024, 8192, 32768, 131072, 524288, 1 << 20, 2 << 20, 4 << 20)
_TYPES, _OPERATIONS = ("f64", "f32", "i32", "i64"), ("sum", "prod", "max", "min")


@click.command()
@click.option("-n", "ranks", type=options.number(2), default=2, show_default=True, metavar="N", help="Number of ranks.")
@options.output("The file of costs (TOML), which other commands take as --costs.", required=True)
@click.option("--name", help="Name of the machine.  [default: the host's]")
@options.one_mpi
@click.option(
    "--rounds", type=click.IntRange(5, 64), default=ROUNDS, show_default=True, help="Repetitions of each figure."
)
@options.for_scripts
@click.argument("launcher_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCHER OPTIONS]")
def command(
    ranks: int,
    output: Path,
    name: str | None,
    place: str | None,
    rounds: int,
    to_csv: Path | None,
    to_json: Path | None,
    launcher_options: tuple[str, ...],
) -> None:
    """Measure what messages, copies and reductions cost, for omnes predict and explain. Less than a minute.

    The host MPI's point-to-point is measured between two nodes, with more and more pairs of ranks at once; on one node,
    between two of its ranks. What omnes' shared memory costs is measured between two ranks of a node. Ranks are bound
    to cores where they fit, if launcher options or variables say nothing. Nothing else should run. Options that begin
    with a launcher, such as srun, are for that one, which starts the ranks then.

    \b
    omnes measure -n 2 -o machine.toml
    omnes measure -n 16 -o cluster.toml -- --hostfile hosts
    omnes measure -n 16 -o cluster.toml -- srun --mpi=pmix -N 2
    """
    chosen = mpi.named_or_first(place, os.environ)
    starter = launcher_options[:1] if launcher_options and arguments.is_launcher(launcher_options[0]) else ()
    told = bool(launcher_options) or binding_is_given(chosen, os.environ)
    bound = not told and ranks <= cpus.usable_cores()
    options, variables = ([], {}) if told else binding(chosen, bound)
    job = launch.prepare(
        [str(programs.build("costs", chosen)), str(rounds)],
        ranks,
        [*options, *launcher_options[len(starter) :]],
        launcher=starter[0] if starter else str(chosen.launcher),
        variables=variables,
    )
    figures = costs_file.Figures()
    nodes = 1
    with progress.bar("measuring") as shown:
        task = shown.add_task("starting", total=rounds + 2)
        for record in _records(job):
            if record["what"] == "nodes":
                nodes = record["bytes"]
            elif record["what"] == "round":
                shown.update(task, completed=max(record["bytes"] + 1, 0), description="messages")
            else:
                figures.samples[record["what"], record["bytes"], record["pairs"]] = Samples(record["seconds"])
        shown.update(task, description="copies and reductions")
        copy = [(size, Samples(_core.time_copy(size, rounds)).median) for size in _COPY_BYTES]
        shown.update(task, advance=1)
        reductions = {
            f"{type_} {op}": [
                (size, Samples(_core.time_reduction(type_, op, size, rounds)).median) for size in _COPY_BYTES
            ]
            for type_ in _TYPES
            for op in _OPERATIONS
        }
        shown.update(task, advance=1)
    where = f"{nodes} nodes" if nodes > 1 else "one node: network = the host MPI's messages within it"
    placed = " on a core each" if bound else ""
    source = f"measured: {chosen.name}, {ranks} ranks{placed}, {where}; {host.describe()['processor']}"
    per_node = -(-ranks // nodes)
    switch = _core.default_settings(per_node, bound)["single_copy"]
    single_from = costs_file.NEVER if switch == "off" else units.parse_bytes(switch)
    text = costs_file.machine_file(figures, name or platform.node(), source, per_node, copy, reductions, single_from)
    files.write(output, text)
    medians = [
        {"what": what, "bytes": size, "pairs": pairs, "seconds": samples.median, "interval": samples.interval}
        for (what, size, pairs), samples in figures.samples.items()
    ]
    if deliver(to_json, {"source": source, "figures": medians}, to_csv, medians):
        click.echo(f"{output}: {source}")
        for line in _summary(figures):
            click.echo(f"  {line}")


def _records(job: launch.Launch) -> Iterator[dict]:
    """What the program says, line by line."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            job.command,
            env=job.full_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        ended = False
        try:
            for line in process.stdout or ():
                if line.startswith('{"what"'):
                    with contextlib.suppress(json.JSONDecodeError):
                        yield json.loads(line)
            ended = process.wait(_LIMIT_SECONDS) == 0
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        if not ended:
            said.seek(0)
            words = [line.strip() for line in said.read().splitlines() if line.strip(" -")]
            complaint = words[-1] if words else f"exit code {process.returncode}"
            raise OmnesError(f"the measuring program failed: {complaint}")


def _summary(figures: costs_file.Figures) -> Iterator[str]:
    network = figures.samples["one_way", 0, 1]
    yield f"a message of the MPI, empty:     {units.format_seconds(network.median)} (± {50 * network.width:.1f} %)"
    if figures.has_memory:
        memory = figures.samples["publish", costs_file.TINY, 1]
        yield f"a publish in shared memory, 8 B:    {units.format_seconds(memory.median)} (± {50 * memory.width:.1f} %)"
    widths = sorted(samples.width for (what, _, _), samples in figures.samples.items() if what != "waits")
    middle, widest = 50 * widths[len(widths) // 2], 50 * widths[-1]
    yield f"confidence intervals (95 %):     ± {middle:.1f} % in the middle, ± {widest:.1f} % at most"
