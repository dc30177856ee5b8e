"""omnes bench: stock against omnes, side by side in one run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from omnes import cpus, mpi, units
from omnes.bench import plan, report, session
from omnes.errors import OmnesError


@click.command()
@click.argument("operations", nargs=-1, metavar="[OPERATION]...")
@click.option(
    "-n",
    "ranks",
    type=click.IntRange(2),
    default=lambda: max(2, cpus.usable_cpus()),
    metavar="N",
    help="Number of ranks.  [default: the CPUs]",
)
@click.option(
    "-b",
    "--bytes",
    "sizes",
    default="8,1K,64K,1M",
    show_default=True,
    metavar="SIZES",
    help="Bytes of one part: 8,1K or 8..4M (doubling) or 8..4M:8.",
)
@click.option("--type", "type_name", type=click.Choice(list(session.TYPE_BYTES)), default="double", show_default=True)
@click.option(
    "--mpi", "places", multiple=True, metavar="PREFIX", help="This MPI (a prefix or a launcher); may be repeated."
)
@click.option(
    "--peer", "peers", multiple=True, metavar="NAME:VARIABLE=VALUE...", help="Also the stock MPI with these settings."
)
@click.option("--bind/--no-bind", default=None, help="Bind ranks to cores.  [default: when they fit]")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0.05),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Per cell.",
)
@click.option(
    "--json",
    "to_file",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Everything, with all samples; - for the standard output.",
)
def command(
    operations: tuple[str, ...],
    ranks: int,
    sizes: str,
    type_name: str,
    places: tuple[str, ...],
    peers: tuple[str, ...],
    bind: bool | None,
    seconds: float,
    to_file: Path | None,
) -> None:
    """Measure collectives on the stock MPI and on omnes.

    All jobs are alive at once and take turns, batch by batch; those not measured sleep. Results are checked before
    they are timed, and the data change from call to call. A time is the mean over a batch's calls on the slowest
    rank. Where ranks share CPUs, an MPI that spins by default is measured twice: as it comes, and told to yield.

    \b
    omnes bench -n 2
    omnes bench allreduce bcast -n 8 -b 8..64K:8
    omnes bench --mpi /opt/mpich --mpi /opt/openmpi --json table.json
    omnes bench allreduce --peer "tuned:OMPI_MCA_coll_tuned_use_dynamic_rules=1"
    """
    unknown = [name for name in operations if name not in session.OPERATIONS]
    if unknown:
        raise OmnesError(f"no operation '{unknown[0]}' to measure; there are {', '.join(session.OPERATIONS)}")
    counts = units.parse_sizes(sizes)
    element = session.TYPE_BYTES[type_name]
    odd = [count for count in counts if count % element]
    if odd:
        raise OmnesError(f"{odd[0]} bytes are no whole number of {type_name}s: use multiples of {element}")
    mpis = [mpi.at(place, os.environ) for place in places] or [_default_mpi()]
    oversubscribed = ranks > cpus.usable_cpus()
    bound = ranks <= cpus.usable_cores() if bind is None else bind
    specs = plan.jobs(mpis, oversubscribed, peers)
    todo = session.cells(operations or session.OPERATIONS, counts, type_name)
    results, commands = session.run(specs, todo, ranks, bound, seconds, f"{ranks} ranks")
    if to_file:
        data = report.as_data(specs, results, commands, ranks=ranks, cpus=cpus.usable_cpus(), bound=bound)
        text = json.dumps(data, indent=2) + "\n"
        click.echo(text, nl=False) if str(to_file) == "-" else to_file.write_text(text)
    if str(to_file) != "-":
        Console().print(report.table(specs, results, title(mpis, ranks, bound)))


def title(mpis: Sequence[mpi.Mpi], ranks: int, bound: bool) -> str:
    names = ", ".join(one.name for one in mpis)
    return f"{names}: {ranks} ranks on {cpus.usable_cpus()} CPUs, {'bound to cores' if bound else 'not bound'}"


def _default_mpi() -> mpi.Mpi:
    found = mpi.find(None, os.environ)
    if found is None:
        raise OmnesError("no MPI found in PATH or beside this Python; name one: --mpi PREFIX")
    return found
