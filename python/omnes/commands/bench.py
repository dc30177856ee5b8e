"""omnes bench: stock against omnes, side by side in one run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table

from omnes.bench import contenders, limits, load, overlap, replay, session, side_by_side
from omnes.bench.job import ONE_HOST, Job, JobSpec, Spread
from omnes.bench.timing import Cell
from omnes.errors import OmnesError, UsageError, one_of
from omnes.launching import cpus, mpi
from omnes.placement import patterns
from omnes.placement.patterns import Ranks
from omnes.terminal import options, output, units
from omnes.traces import events


@click.command()
@click.argument("operations", nargs=-1, metavar="[OPERATION]...")
@click.option(
    "-n",
    "ranks",
    type=options.number(2),
    default=lambda: max(2, cpus.usable_cpus()),
    metavar="N",
    help="Number of ranks.  [default: the CPUs]",
)
@options.sizes("8,1K,64K,1M", "Bytes of one part: 8,1K or 8..4M (doubling) or 8..4M:8.")
@click.option(
    "--reduction",
    type=click.Choice(list(session.REDUCTIONS)),
    default="sum",
    show_default=True,
    help="Sums, a function of the program, or minima with their indices.",
)
@click.option(
    "--type",
    "type_name",
    type=click.Choice(list(session.TYPE_BYTES)),
    help="Type of the elements.  [default: double; with minloc double_int]",
)
@click.option(
    "--counts",
    type=click.Choice([*session.COUNTS, "both"]),
    default="both",
    show_default=True,
    help="Counts, of the operations that take one for each part.",
)
@click.option(
    "--buffers",
    type=click.Choice([*session.BUFFERS, "both"]),
    default="warm",
    show_default=True,
    help="Cold: no call's buffers are in a cache.",
)
@click.option("--nonblocking", is_flag=True, help="Measure overlap: how much of the operation a computation hides.")
@click.option(
    "--tests",
    type=options.number(0),
    default=0,
    metavar="N",
    help="With --nonblocking: number of calls of MPI_Test in the computation.",
)
@click.option("--asleep", is_flag=True, help="With --nonblocking: sleep instead of computing, as if a GPU did it.")
@click.option("--persistent", is_flag=True, help="Measure the blocking, nonblocking and persistent form side by side.")
@click.option(
    "--mpi",
    "places",
    multiple=True,
    metavar="PREFIX",
    help="This MPI (a prefix or a launcher); may be repeated; all: those of omnes info.  [default: the first of these]",
)
@click.option(
    "--peer",
    "settings",
    multiple=True,
    metavar="NAME:VARIABLE=VALUE...",
    help="Also the stock MPI with these settings.",
)
@click.option(
    "--table",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare omnes with this table, written by omnes tune, and omnes without it.",
)
@options.variants
@click.option(
    "--limits",
    "only_limits",
    is_flag=True,
    help="Measure the machine instead: hand-over, copies, wake-ups, -n processes that wait for each other.",
)
@click.option(
    "--nodes",
    metavar="WHERE",
    help="Spread the ranks over hosts, emulated on this machine: 4x2 (hosts x ranks), '4x2 cyclic' (dealt to them).",
)
@click.option(
    "--bandwidth",
    callback=options.rate,
    metavar="RATE",
    help="With --nodes: rate of each host's link, such as 1gbit.  [default: what the kernel copies]",
)
@click.option(
    "--replay",
    "trace_file",
    type=options.FILE,
    metavar="FILE",
    help="Make the calls of this trace instead, in their order: omnes run --record writes one.",
)
@click.option(
    "--times",
    type=options.number(1),
    default=5,
    show_default=True,
    metavar="N",
    help="With --replay: number of rounds; at least 6 for confidence intervals.",
)
@click.option(
    "--longest-gap",
    type=options.Real(0),
    default=200.0,
    show_default=True,
    metavar="US",
    help="With --replay: compute between calls as long as the program did, at most this many us.",
)
@options.bind
@options.seconds(1.0, "Time for a cell.")
@options.for_scripts
@click.pass_context
def command(
    ctx: click.Context,
    operations: tuple[str, ...],
    ranks: int,
    sizes: str,
    reduction: str,
    type_name: str | None,
    counts: str,
    buffers: str,
    nonblocking: bool,
    tests: int,
    asleep: bool,
    persistent: bool,
    places: tuple[str, ...],
    settings: tuple[str, ...],
    table: Path | None,
    variants: tuple[str, ...],
    only_limits: bool,
    nodes: str | None,
    bandwidth: str | None,
    trace_file: Path | None,
    times: int,
    longest_gap: float,
    bind: bool | None,
    seconds: float,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """Measure collectives on the stock MPI and on omnes.

    All jobs are alive at once and take turns, batch by batch; those not measured sleep. Results are checked before
    they are timed, and the data change from call to call. A call takes as long as its slowest rank; a time is the
    mean of a batch's calls. Where ranks share CPUs, an MPI that spins by default is measured twice: as it comes,
    and told to yield.

    With --nonblocking, a computation as long as the operation runs between I-call and Wait; the overlap is how much
    of the operation it hides. With --persistent, Start and Wait compete with I-call and Wait and with the blocking
    call; MPIs without persistent collectives show a dash.

    \b
    omnes bench -n 2
    omnes bench allreduce bcast -n 8 -b 8..64K:8
    omnes bench --nonblocking iallreduce ibcast --tests 4
    omnes bench --persistent allreduce
    omnes bench allreduce --reduction minloc --buffers both
    omnes bench --replay app.trace                   the calls that omnes run --record app.trace ./app has recorded
    omnes bench --replay app.trace --times 10 --longest-gap 0
    omnes bench --limits
    omnes bench --nodes 4x2 allreduce
    omnes bench --nodes 4x2 --bandwidth 1gbit bcast
    omnes bench --nodes "4x2 cyclic" allgather --variant "fixed:OMNES_REMAP=off"
    omnes bench --mpi /opt/mpich --mpi /opt/openmpi --json=table.json
    omnes bench allreduce --table table.toml
    omnes bench allreduce --peer "tuned:OMPI_MCA_coll_tuned_use_dynamic_rules=1"
    """
    given = _given(ctx)
    if trace_file:
        _refuse_beside_replay(given)
        trace = events.load(trace_file)
        if "ranks" in given and ranks != trace.ranks:
            raise OmnesError(f"{trace_file} is of {trace.ranks} ranks, which a replay has, too: leave out -n {ranks}")
        gap = longest_gap * 1e-6
        _replay(trace, trace_file, places, settings, variants, table, bind, times, gap, to_csv, to_json)
        return
    if alone := [name for name in ("times", "longest_gap") if name in given]:
        raise UsageError(f"--{alone[0].replace('_', '-')} is for the calls of a trace: add --replay FILE")
    if only_limits:
        _show_limits(ranks, to_csv, to_json)
        return
    if table and settings:
        raise UsageError("--table compares omnes with itself, --peer with other settings of the MPI: give one of them")
    if nonblocking and persistent:
        raise UsageError("--nonblocking and --persistent are two measurements: give one of them")
    if tests and not nonblocking:
        raise UsageError("--tests are made while a nonblocking operation is pending: add --nonblocking")
    if asleep and not nonblocking:
        raise UsageError("--asleep is what ranks do while a nonblocking operation is pending: add --nonblocking")
    if persistent and buffers != "warm":
        raise UsageError("a persistent operation has one buffer, which calls keep warm: leave out --buffers")
    names = _operations(operations, nonblocking)
    types = session.REDUCTIONS[reduction]
    type_name = type_name or types[0]
    if type_name not in types:
        raise UsageError(f"reduction {reduction} is for {', '.join(types)}, not for {type_name}")
    todo = session.cells(
        names,
        units.parse_multiples(sizes, session.TYPE_BYTES[type_name], type_name),
        type_name,
        session.COUNTS if counts == "both" else (counts,),
        "nonblocking" if nonblocking else "blocking",
        reduction,
        session.BUFFERS if buffers == "both" else (buffers,),
    )
    if not todo and counts == "unequal":
        raise UsageError(f"only these have unequal counts: {', '.join(session.WITH_COUNTS)}")
    if not todo:
        raise UsageError(f"none of these has a {reduction} reduction and {buffers} buffers: {', '.join(names)}")
    mpis = _mpis(places)
    where = _where(ranks if "ranks" in given or not nodes else None, nodes, ranks)
    ranks, hosts = where.count, where.nodes
    if hosts > 1 and (bind or ranks % hosts):
        raise UsageError(f"on {hosts} hosts ranks are not bound, and each has as many: give -n a multiple of {hosts}")
    if where.cyclic and hosts == 1:
        raise UsageError("on one host there is nothing to deal ranks to: write --nodes '4x2 cyclic'")
    if bandwidth and hosts == 1:
        raise UsageError("one host has no links: add --nodes 4x2, or leave out --bandwidth")
    spread = Spread(hosts, where.cyclic, bandwidth)
    bound = ranks <= cpus.usable_cores() and hosts == 1 if bind is None else bind
    if table:
        specs = contenders.with_table(mpis, table)
    else:
        specs = contenders.jobs(mpis, cpus.are_shared(ranks) and hosts == 1, settings, variants)
    others = load.look()
    data: dict[str, Any] = {"ranks": ranks, "cpus": cpus.usable_cpus(), "bound": bound}
    data.update(busy_cpus=others.taken, load=others.average)
    data.update(hosts=hosts, placement="cyclic" if where.cyclic else "block", bandwidth=bandwidth)
    if nonblocking:
        hidden: dict[Cell, dict[str, overlap.Overlap]] = {}

        def one(cell: Cell, jobs: Sequence[Job]) -> None:
            hidden[cell] = overlap.measure(cell, jobs, seconds, tests, asleep)

        commands = session.with_jobs(specs, todo, ranks, bound, f"{ranks} ranks", one, spread)
        samples = [times.total for of_cell in hidden.values() for times in of_cell.values()]
        data.update(tests=tests, asleep=asleep, cells=overlap.as_data(specs, hidden))

        def shown(of_mpi: Sequence[JobSpec], what: str) -> Table:
            return overlap.table(of_mpi, hidden, what + f", {tests} tests" * bool(tests) + ", asleep" * asleep)

    else:
        forms = session.FORMS if persistent else ("blocking",)
        results, commands = session.run(specs, todo, ranks, bound, seconds, f"{ranks} ranks", forms, spread)
        samples = [times for of_cell in results.values() for times in of_cell.values()]
        data.update(cells=side_by_side.as_data(specs, results))

        def shown(of_mpi: Sequence[JobSpec], what: str) -> Table:
            return side_by_side.table(of_mpi, results, what)

    data.update(
        unit="seconds per call; mean over a batch's calls of the slowest rank",
        jobs=side_by_side.jobs_as_data(specs, commands),
    )
    if output.deliver(to_json, data, to_csv, data["cells"]):
        for name, of_mpi in side_by_side.by_mpi(specs):
            output.console().print(shown(of_mpi, title(name, ranks, bound, spread)))
    for warning in load.warnings(others, samples):
        click.echo(warning, err=True)


_BESIDE_REPLAY = {
    "trace_file": "--replay",
    "ranks": "-n",
    "places": "--mpi",
    "settings": "--peer",
    "variants": "--variant",
    "table": "--table",
    "bind": "--bind",
    "times": "--times",
    "longest_gap": "--longest-gap",
    "to_json": "--json",
    "to_csv": "--csv",
}


def _given(ctx: click.Context) -> set[str]:
    """The parameters that are on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE}


def _refuse_beside_replay(given: set[str]) -> None:
    if given - _BESIDE_REPLAY.keys():
        valid = ", ".join(word for word in _BESIDE_REPLAY.values() if word != "--replay")
        raise UsageError(f"the trace says what is called; --replay goes with {valid} only")


def _replay(
    trace: events.Trace,
    file: Path,
    places: Sequence[str],
    settings: Sequence[str],
    variants: Sequence[str],
    table: Path | None,
    bind: bool | None,
    times: int,
    longest_gap: float,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    mpis = _mpis(places)
    ranks = trace.ranks
    bound = ranks <= cpus.usable_cores() if bind is None else bind
    specs = (
        contenders.with_table(mpis, table)
        if table
        else contenders.jobs(mpis, cpus.are_shared(ranks), settings, variants)
    )
    others = load.look()
    results = replay.run(trace, specs, bound, times, longest_gap)
    data = {"replay": str(file), "ranks": ranks, "cpus": cpus.usable_cpus(), "bound": bound, "times": times}
    data.update(longest_gap=longest_gap, busy_cpus=others.taken, load=others.average)
    data.update(unit="seconds in MPI: of an operation those of all ranks, of all the mean of the ranks")
    found = replay.as_data(results, specs)
    data.update(found, jobs=side_by_side.jobs_as_data(specs, results.commands))
    if not output.deliver(to_json, data, to_csv, found["operations"]):
        return
    for name, of_mpi in side_by_side.by_mpi(specs):
        output.console().print(replay.table(results, of_mpi, f"{file}, {title(name, ranks, bound)}"))
    for line in replay.verdicts(results, specs):
        click.echo(line)


def _show_limits(ranks: int, to_csv: Path | None, to_json: Path | None) -> None:
    found = limits.measure(ranks)
    if output.deliver(to_json, found, to_csv, [found]):
        table = Table("limit", title="What this machine needs, and the rest cannot beat")
        table.add_column("", justify="right")
        for row in limits.rows(found):
            table.add_row(*row)
        output.console().print(table)


def _where(count: int | None, nodes: str | None, usual: int) -> Ranks:
    pattern = patterns.parse(nodes or "")
    counts = [count or usual] if count or not (pattern.nodes and pattern.ranks) else []
    found = patterns.groups(counts, pattern, counts[0] if counts else 1)
    if len(found) != 1:
        raise UsageError(f"'{nodes}' are several cases: measure one")
    return found[0]


def title(name: str, ranks: int, bound: bool, spread: Spread = ONE_HOST) -> str:
    links = f"with links of {spread.bandwidth} " if spread.bandwidth else ""
    where = f"{spread.hosts} hosts {links}that share " if spread.hosts > 1 else ""
    return f"{name}: {ranks} ranks on {where}{cpus.usable_cpus()} CPUs, {'bound to cores' if bound else 'not bound'}"


def _operations(names: Sequence[str], nonblocking: bool) -> Sequence[str]:
    """The operations to measure; nonblocking ones may be called as MPI does, iallreduce."""
    plain = [name[1:] if nonblocking and name[1:] in session.OPERATIONS else name for name in names]
    return [one_of(name, session.OPERATIONS, "operation") for name in plain] or session.OPERATIONS


def _mpis(places: Sequence[str]) -> list[mpi.Mpi]:
    """The MPIs that --mpi names, in order, or the first one found."""
    if not places:
        return [mpi.named_or_first(None, os.environ)]
    mpis: list[mpi.Mpi] = []
    for place in places:
        named = mpi.find_all(os.environ) if place == "all" else [mpi.at(place, os.environ)]
        mpis += [one for one in named if one not in mpis]
    if not mpis:
        raise OmnesError("no MPI found in PATH or beside this Python; name one: --mpi PREFIX")
    return mpis
