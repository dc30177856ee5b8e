"""What omnes is on a cluster: its costs, its MPIs with and without omnes, predictions; README.md says how to use it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

import choices
from lab import allocation, campaign, campaign_page
from lab.allocation import Allocation
from lab.peers import Peer
from lab.plan import Plan
from lab.predictions import Predicted, summary
from omnes import _core
from omnes.algorithms import tables
from omnes.bench.contenders import COMPILED_IN
from omnes.bench.job import Job, JobError, JobSpec, on_hosts
from omnes.bench.records import Key, Measured, Records
from omnes.bench.session import OPERATIONS, cells, end_on_sigterm
from omnes.commands.tune import refuse_forced_choices
from omnes.errors import OmnesError, UsageError, one_of
from omnes.launching import mpi as mpis
from omnes.launching import processes
from omnes.launching.mpi import Mpi
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.reporting import machine as machine_page
from omnes.terminal import files, progress, toml_files, units
from omnes.tuning import search
from omnes.tuning.cases import Case, candidates, tunable

USUAL = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")
SIZES = "8,1K,16K,256K,4M"
MEMORY = "256M"  # of one rank's buffers
PEERS_SHARE, CHOICES_SHARE = 0.5, 0.2  # of the minutes: the rest is for starting jobs
SHORTEST, LONGEST = 0.2, 6.0  # seconds of a cell
MOST = 6  # algorithms that are tried beside the choices
WORST = 10  # predictions that are listed
# For launchers: jobs share the hosts, as only one of those alive runs; Intel MPI is to heed -ppn within an allocation.
SETTINGS = {"SLURM_OVERLAP": "1", "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"}
WAYS = ["as omnes comes", "the model, with these costs"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("operations", nargs=-1, metavar="[OPERATION]...")
@click.option("-b", "--bytes", "sizes", default=SIZES, show_default=True, metavar="SIZES", help="Of one part.")
@click.option("--hosts", metavar="LIST", help="n1,n2 or n[1-4]:2.  [default: those of the job of Slurm]")
@click.option(
    "--hostfile", type=click.Path(path_type=Path), metavar="FILE", help="A host a line, as launchers read it."
)
@click.option("--per-host", type=click.IntRange(1), metavar="N", help="Ranks on each host.  [default: its slots]")
@click.option("--mpi", "places", multiple=True, metavar="PREFIX", help="Only this one; may be repeated.")
@click.option(
    "--launcher", metavar="COMMAND", help="Starts the ranks in place of the MPI's own, such as 'srun --mpi=pmix'."
)
@click.option("--minutes", type=click.FloatRange(0, min_open=True), default=60, show_default=True, metavar="N")
@click.option(
    "--launches", type=click.IntRange(1), default=3, show_default=True, metavar="N", help="Of all jobs, in turn."
)
@click.option("--results", default="omnes-cluster", show_default=True, metavar="FILE", help="Without its ending.")
@click.option("--page", "only_page", is_flag=True, help="Write the page anew from what was measured.")
def main(
    operations: tuple[str, ...],
    sizes: str,
    hosts: str | None,
    hostfile: Path | None,
    per_host: int | None,
    places: tuple[str, ...],
    launcher: str | None,
    minutes: float,
    launches: int,
    results: str,
    only_page: bool,
) -> None:
    """Measure omnes on the hosts of a batch job, and write one page.

    First what messages and copies cost; then the MPI that is loaded, the others that are found, and omnes on each, by
    turns, on 1, 2, 4 and so on up to all hosts; then how good predictions with these costs are, and omnes' own choice
    of algorithms. It ends after so many minutes; what was measured is kept, and the same command goes on where it was,
    also in another job.

    \b
    sbatch -N 4 --ntasks-per-node=32 --wrap "bench/run cluster --minutes 50"
    salloc -N 2 --ntasks-per-node=8 bench/run cluster allreduce bcast --launcher "srun --mpi=pmix"
    bench/run cluster --hosts n1,n2,n3,n4 --per-host 2 --mpi /opt/openmpi
    """
    begin = time.monotonic()
    output = Outputs(Path(results))
    if not only_page:
        refuse_forced_choices()
        files.require_place(output.peers.path)
        names = [one_of(name, OPERATIONS, "operation") for name in operations or USUAL]
        todo = cells(names, units.parse_multiples(sizes, 8, "double"), "double")
        place = allocation.find(hosts, hostfile, per_host, os.environ)
        starter, *options = split(launcher or "") or [""]
        found = loaded(places, alone=bool(launcher))
        peers = [peer for mpi in found for peer in both(mpi, found, starter, options)]
    elif not output.peers.campaign:
        raise OmnesError(f"no results in {output.peers.path}; name some: --results FILE, without its ending")
    os.environ.update(COMPILED_IN)
    for variable, value in SETTINGS.items():
        os.environ.setdefault(variable, value)
    with ExitStack() as stack:
        end_on_sigterm(stack)
        stack.callback(write, output)
        if only_page:
            return
        spread = plans(place, todo, minutes, launches, output.peers)
        measure_costs(found[0], place, starter, options, output.costs)
        cluster = {"cluster": describe(place, found, launcher)}
        click.echo(f"== results: {output.peers.path}", err=True)
        with progress.Steps("cells") as steps:
            campaign.run(spread, peers, Path(), output.peers, steps.begin, begin + 60 * minutes * 0.7, cluster)
        with progress.Steps("choices") as steps:
            done = choose(spread, peers[1].job(Path()), output, steps, begin + 60 * minutes)
        if not (done and output.peers.ended):
            click.echo("the time is over; the same command goes on where it was", err=True)


def split(launcher: str) -> list[str]:
    try:
        return shlex.split(launcher)
    except ValueError as fault:
        raise UsageError(f"--launcher {launcher}: {fault}") from None


class Outputs:
    """The files of one measurement."""

    def __init__(self, name: Path) -> None:
        self.costs = name.with_name(f"{name.name}-costs.toml")
        self.peers = Records(name.with_name(f"{name.name}.jsonl"))
        self.choices = Records(name.with_name(f"{name.name}-choices.jsonl"))

    @property
    def machine(self) -> MachineCosts:
        return MachineCosts.load(self.costs)


def loaded(places: Sequence[str], alone: bool) -> list[Mpi]:
    """The MPIs to measure, first the one that counts: with a compiler, as they have to have."""
    found = [mpis.at(place, os.environ) for place in places] or [mpis.named_or_first(None, os.environ)]
    for mpi in found:
        mpi.compiler()
    for other in [] if places or alone else mpis.find_all(os.environ):
        try:
            other.compiler()
        except OmnesError:
            continue
        found.append(other)
    return list(dict.fromkeys(found))


def both(mpi: Mpi, found: Sequence[Mpi], launcher: str, options: Sequence[str]) -> list[Peer]:
    """The MPI as it comes, and with omnes."""
    name = re.sub(r"[^a-z0-9.]+", "-", mpi.name.lower())
    if [one for one in found if one.name == mpi.name].index(mpi) > 0:
        name += f"-{found.index(mpi) + 1}"
    why = "The MPI that is loaded." if mpi == found[0] else f"Found in {mpi.prefix}."
    given: dict[str, Any] = {"packages": (), "prefix": str(mpi.launcher), "family": mpi.family, "variables": {}}
    given.update(options=tuple(options), launcher=launcher, only="")
    return [Peer(name, why, omnes=False, **given), Peer(f"omnes-{name}", f"omnes on {mpi.name}.", omnes=True, **given)]


def plans(place: Allocation, todo: Sequence[Any], minutes: float, launches: int, records: Records) -> list[Plan]:
    """One for each number of hosts. A measurement that goes on has the seconds that it began with."""

    def plan(hosts: int, seconds: float) -> Plan:
        why = f"Ranks on each host: {place.each}."
        more = {"seconds": seconds, "width": 0.03, "memory": MEMORY, "peers": (), "cells": tuple(todo)}
        ranks, on = (hosts * place.each,), place.hosts[:hosts]
        return Plan(f"hosts-{hosts}", why, ranks, hosts, "", False, launches, on=on, **more)

    before = [facts["seconds"] for facts in records.campaign.get("plans", {}).values()]
    count = sum(len(plan(hosts, 0).cells_for(hosts * place.each)) for hosts in place.numbers)
    seconds = min(max(round(PEERS_SHARE * 60 * minutes / count, 2), SHORTEST), LONGEST)
    return [plan(hosts, (before or [seconds])[0]) for hosts in place.numbers]


def measure_costs(mpi: Mpi, place: Allocation, launcher: str, options: Sequence[str], file: Path) -> None:
    """By omnes measure, on two hosts, unless it was done."""
    if file.exists():
        return
    on = place.hosts[:2]
    starter = mpis.at(launcher, os.environ) if launcher else mpi
    words = [*([launcher] if launcher else []), *on_hosts(starter, on, place.each), *options]
    ranks = ["-n", str(len(on) * place.each), "--mpi", str(mpi.launcher), "-o", str(file)]
    command = ["measure", *ranks, "--", *words]
    done = subprocess.run([sys.executable, "-m", "omnes", *command], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        said = processes.last_words(done.stderr).removeprefix("omnes: ")
        raise OmnesError(f"{said} ({shlex.join(['omnes', *command])})")


def describe(place: Allocation, found: Sequence[Mpi], launcher: str | None) -> dict[str, Any]:
    return {
        "hosts": list(place.hosts),
        "each": place.each,
        "omnes": _core.__version__,
        "mpi": [mpi.name for mpi in found],
        "launcher": launcher or str(found[0].launcher),
        "settings": {name: os.environ[name] for name in campaign.settings() if name not in {**COMPILED_IN, **SETTINGS}},
        "command": shlex.join(["bench/run", "cluster", *sys.argv[1:]]),
    }


def choose(spread: Sequence[Plan], spec: JobSpec, output: Outputs, steps: progress.Steps, until: float) -> bool:
    """Times omnes' own choice, that of the model, and what the model holds for fast, until then; whether it was all."""
    able = tunable()
    todo = [
        (plan, Ranks(plan.ranks[0], plan.ranks[0] // plan.hosts), cell)
        for plan in spread
        for cell in plan.cells_for(plan.ranks[0])
        if cell.operation in able
    ]
    todo = [(plan, ranks, cell) for plan, ranks, cell in todo if key_of(plan, cell) not in output.choices.cells]
    seconds = min(max(spread[0].seconds * CHOICES_SHARE / PEERS_SHARE / search.FINALISTS, SHORTEST), LONGEST)
    job: Job | None = None
    of: Plan | None = None
    try:
        for number, (plan, ranks, cell) in enumerate(todo):
            if time.monotonic() > until:
                return False
            steps.begin(number, len(todo), key_of(plan, cell), None)
            case = Case(ranks, cell.operation, cell.bytes, cell.bytes, cell.bytes)
            try:
                if job is None or of != plan:
                    if job:
                        job.close()
                    job, of = Job(spec, ranks.count, False, plan.spread), plan
                    job.wait_until_ready()
                measured = compare(case, output.machine, job, seconds)
            except JobError as fault:
                measured = Measured(False, False, 0.0, {}, {fault.name: fault.what})
                if job:
                    job.close()
                job = None
            output.choices.add_cell(key_of(plan, cell), measured)
    finally:
        if job:
            job.close()
    return True


def key_of(plan: Plan, cell: Any) -> Key:
    return Key(plan.name, plan.ranks[0], cell)


def compare(case: Case, machine: MachineCosts, job: Job, seconds: float) -> Measured:
    leaves = job.spec.mpi.family == "ompi"
    named = list(dict.fromkeys([case.default(leaves), by_model(case, machine)]))
    names = dict.fromkeys([*named, *candidates(case, machine, MOST, leaves)])
    return search.search(case, list(names), job, seconds, stay=len(named))


def by_model(case: Case, machine: MachineCosts) -> str:
    """What omnes would choose on a machine with these costs, were it left to the model."""
    variable = f"OMNES_{case.operation.upper()}"
    os.environ[variable] = "model"
    try:
        return prediction.chosen(
            case.operation, case.ranks, case.bytes, table=tables.OFF, machine=machine.text
        )["text"]  # fmt: skip
    finally:
        del os.environ[variable]


def write(output: Outputs) -> None:
    """The page of what there is."""
    if output.peers.campaign:
        for written in campaign_page.write(output.peers, about(output), [*predicted(output), *chosen(output)]):
            click.echo(written)


def about(output: Outputs) -> list[str]:
    cluster = output.peers.campaign["cluster"]
    settings = ", ".join(f"`{name}={value}`" for name, value in cluster["settings"].items())
    lines = [
        "",
        f"{len(cluster['hosts'])} hosts: {', '.join(cluster['hosts'])}; ranks on each: {cluster['each']}, started by "
        f"`{cluster['launcher']}`. omnes {cluster['omnes']}; {', '.join(cluster['mpi'])}. Set in the environment, for "
        f"all: {settings or 'nothing'}. The processor is that of the host where the command ran. The same again, in a "
        "job of as many hosts:",
        "",
        "```",
        cluster["command"],
        "```",
    ]
    if not output.peers.ended:
        lines += ["", "Not all was measured when this was written; the same command goes on where it was."]
    if output.costs.exists():
        machine = output.machine
        values = toml_files.parse(machine.text, str(output.costs))
        lines += ["", f"Costs ({output.costs.name}), {machine.facts['source']}:", "", "| | |", "|---|---|"]
        lines += [f"| {what} | {value} |" for what, value in machine_page.facts(values)]
    return lines


def timed(output: Outputs) -> list[tuple[Case, Measured]]:
    each = output.peers.campaign["cluster"]["each"]
    return [
        (Case(Ranks(key.ranks, each), key.cell.operation, key.cell.bytes, key.cell.bytes, key.cell.bytes), of)
        for key, of in output.choices.cells.items()
        if of.samples
    ]


def predicted(output: Outputs) -> list[str]:
    """Of all algorithms that were timed to the end."""
    rows: dict[str, list[Predicted]] = {}
    for case, measured in timed(output):
        for name, samples in measured.samples.items():
            if name != tables.HOST:
                of = prediction.predict(case.operation, name, case.ranks, [case.bytes], output.machine)[0]["seconds"]
                row = Predicted(case.operation, name, case.bytes, samples.median, of)
                rows.setdefault(f"{case.ranks}", []).append(row)
    if not rows:
        return []
    worst = sorted(((row, of) for of in rows for row in rows[of]), key=lambda pair: -pair[0].factor)[:WORST]
    return [
        "",
        "## Predictions",
        "",
        "`omnes predict` with these costs, beside all algorithms below. Error: |predicted / measured - 1|.",
        "",
        *(f"* {of}: {summary(some)}" for of, some in rows.items()),
        "",
        "| the worst | ranks | µs measured | µs predicted | predicted / measured |",
        "|---|---|---|---|---|",
        *(
            f"| {row.operation}/{row.name} {units.format_bytes(row.size)} | {of} | {units.format_us(row.measured)} | "
            f"{units.format_us(row.predicted)} | {row.ratio:.2f} |"
            for row, of in worst
        ),
    ]


def chosen(output: Outputs) -> list[str]:
    """How far from the fastest the choices are."""
    found: dict[str, list[choices.Case]] = {}
    for case, measured in timed(output):
        named = (next(iter(measured.samples)), by_model(case, output.machine))
        if named[1] in measured.samples:  # else another omnes writes the page
            one = choices.Case(case.operation, case.bytes, named, measured.samples, {})
            found.setdefault(f"{case.ranks}", []).append(one)
    lines = [
        "",
        "## The choice of algorithms",
        "",
        "omnes on the MPI that is loaded: its own choice, what the model chooses with the measured costs, and up to "
        f"{MOST} that the model holds for fast took turns in one job; the choices and the fastest others were then "
        "measured anew. `host` leaves the call to the MPI. Times are those of the fastest of all; where the difference "
        "to it may be noise (95 %), it counts as none.",
    ]
    for of, cases in found.items():
        lines += ["", f"### {of[:1].upper()}{of[1:]}", "", *choices.table_of(cases, WAYS)]
    failed = [(key, what) for key, of in output.choices.cells.items() for what in of.failed.values()]
    lines += ["", *(f"* {key}: failed: {what}" for key, what in failed)] if failed else []
    return lines if found or failed else []


if __name__ == "__main__":
    main()
