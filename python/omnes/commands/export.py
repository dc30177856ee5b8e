"""omnes export: a decision table in another MPI's own format."""

from __future__ import annotations

import os
from pathlib import Path

import click

from omnes.algorithms.selection import Decisions, decide
from omnes.errors import OmnesError, UsageError, from_core
from omnes.exporting import intel, mpich, openmpi, ucc
from omnes.exporting.counterparts import Notes
from omnes.launching import mpi
from omnes.placement import patterns
from omnes.terminal import files, options

_FORMATS = ("openmpi", "openmpi-json", "mpich", "intel", "ucc")
_MAX_RANKS = 1 << 16


@click.command()
@click.argument("table", type=click.Path(path_type=Path), required=False)
@click.option("--to", "wanted", type=click.Choice(_FORMATS), required=True, help="openmpi: 4.1 and 5; openmpi-json: 6.")
@click.option(
    "-n", "most", type=click.IntRange(2, _MAX_RANKS), metavar="N", help="Maximum number of ranks.  [default: --nodes]"
)
@options.nodes("all on one node")
@click.option("--commuting", is_flag=True, help="The program's reductions all commute: use what relies on it.")
@click.option("--mpi", "place", metavar="PREFIX", help="mpich: for this MPICH.  [default: the first one found]")
@options.output("[default: print it]")
def command(
    table: Path | None,
    wanted: str,
    most: int | None,
    nodes: str | None,
    commuting: bool,
    place: str | None,
    output: Path | None,
) -> None:
    """Write a decision table for another MPI, which then chooses as omnes would, where it has such an algorithm.

    TABLE is a decision table, a file; without one, it is what omnes has compiled in. What has no counterpart stays the
    host's own choice; the file says so, and so does this command.

    \b
    omnes export table.toml --to openmpi -n 64 --nodes x8 -o rules.conf
    omnes export --to mpich -n 16 --mpi /opt/mpich -o selection.json
    omnes export table.toml --to intel -n 64 > settings.sh
    """
    (one,) = patterns.groups([most] if most else [], patterns.parse(nodes or ""), most or 1)[:1]
    largest = one.count
    if largest > _MAX_RANKS or one.cyclic:
        raise UsageError(f"an exported table is for up to {_MAX_RANKS} ranks, on one node after the other")
    if place and wanted != "mpich":
        raise UsageError(f"--mpi is for --to mpich, which needs the library's own table; {wanted} is the same for all")
    if table and not table.is_file():
        raise OmnesError(f"cannot read {table}: no such file")
    with from_core():
        decisions = decide(
            str(table or ""), table.name if table else "the compiled-in table", largest, one.per_node, flat=True
        )
    notes = Notes()
    text = _render(wanted, decisions, commuting, place, notes)
    if output:
        files.write(output, text)
    else:
        click.echo(text, nl=False)
    for line in notes.lines:
        click.echo(f"note: {line}", err=True)


def _render(wanted: str, decisions: Decisions, commuting: bool, place: str | None, notes: Notes) -> str:
    if wanted == "mpich":
        host = mpi.at(place, os.environ) if place else mpi.find("mpich", os.environ)
        if host is None:
            raise OmnesError("no MPICH found in PATH or beside this Python; name one: --mpi PREFIX")
        if host.family != "mpich":
            raise OmnesError(f"{host.launcher} is {host.name}, not MPICH, whose own table this starts from")
        return mpich.render(decisions, mpich.library(host), notes)
    if wanted == "ucc":
        return ucc.render(decisions, notes)
    render = {"openmpi": openmpi.classic, "openmpi-json": openmpi.as_json, "intel": intel.render}[wanted]
    return render(decisions, commuting, notes)
