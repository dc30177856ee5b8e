"""omnes map: renumbers ranks so that those that talk much lie close together."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from omnes import _core
from omnes.algorithms import catalogue
from omnes.drawing import traffic as drawing
from omnes.errors import OmnesError, UsageError, from_core
from omnes.placement import patterns, rankfiles, renumbering
from omnes.placement.patterns import Placing
from omnes.placement.renumbering import Renumbering
from omnes.terminal import files, options, output, units
from omnes.traces.profile import Recorded


@click.command()
@click.argument("what", metavar="[OPERATION/ALGORITHM]", required=False)
@click.option("-n", "ranks", type=options.number(1), metavar="N", help="Number of ranks.  [default: the placement's]")
@click.option("--nodes", metavar="WHERE", help=f"{patterns.HELP} Also 2x4x8: switches, nodes, ranks.")
@click.option("--traffic", type=click.Path(path_type=Path), metavar="FILE", help="Lines of 'rank rank bytes'.")
@click.option("--profile", type=click.Path(path_type=Path), metavar="FILE", help="What omnes run --profile recorded.")
@click.option("--all", "every", is_flag=True, help="Tables of all algorithms, on consecutive and dealt ranks.")
@click.option("-b", "--bytes", "size", default="1", show_default=True, metavar="SIZE", help="Of one part, such as 4K.")
@click.option("--bandwidth", metavar="GB/S,...", help="By level, nearest first, then beyond.  [default: 8,1,0.125 ...]")
@click.option("--root", type=options.number(0), default=0, metavar="R", help="The root rank.")
@click.option("--radix", type=options.number(2), metavar="K", help="Radix, instead of the algorithm's default.")
@click.option("--segments", type=options.number(1), default=1, metavar="S", help="Number of pipeline segments.")
@click.option(
    "--method",
    type=click.Choice(["auto", "structure", "general", "metis"]),
    default="auto",
    help="How groups are found.  [default: auto]",
)
@click.option("--format", "kind", type=click.Choice(list(rankfiles.FORMATS)), help="Print what a launcher reads.")
@click.option("--hosts", metavar="NAME,...", help="Names of the nodes for that.  [default: node0,node1 ...]")
@click.option("--draw", type=options.OUTPUT, metavar="FILE", help="Write .svg or .html.")
@options.for_scripts
def command(
    what: str | None,
    ranks: int | None,
    nodes: str | None,
    traffic: Path | None,
    profile: Path | None,
    every: bool,
    size: str,
    bandwidth: str | None,
    root: int,
    radix: int | None,
    segments: int,
    method: str,
    kind: str | None,
    hosts: str | None,
    draw: Path | None,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """Renumber the ranks of an algorithm, or of a program's traffic, so that those that exchange much share a node.

    Shows what travels on each level before and after, and the predicted gain: the time of all bytes at the
    bandwidths of the levels, including what it costs to put blocks where they belong.

    \b
    omnes map allgather/bruck -n 64 --nodes 8x8
    omnes map --all -n 64 --nodes 8x8
    omnes map allgather/bruck --nodes "2x4x8 cyclic" --draw bruck.svg
    omnes map --traffic FILE --nodes 4x16 --format openmpi > rankfile
    omnes map --profile app.json --nodes 4x16 --format slurm > hostfile
    """
    if sum((what is not None, traffic is not None, profile is not None, every)) != 1:
        raise UsageError("give one of OPERATION/ALGORITHM, --traffic FILE, --profile FILE and --all")
    if draw and draw.suffix not in (".svg", ".html"):
        raise UsageError(f"cannot write {draw}: the file name must end in .svg, .html")
    if nodes is None:
        raise UsageError("say where ranks lie: --nodes 8x8, or a file")
    where = patterns.placing(nodes, ranks)
    bandwidths = _bandwidths(bandwidth, where)
    if method == "metis":
        with from_core():
            _core.require_metis()
    if every and method == "structure":
        raise UsageError("--all takes another method: most algorithms have no such structure")
    if every:
        _show_all(where, nodes, ranks, units.parse_bytes(size), method, bandwidths, to_json, to_csv)
        return
    left_out: list[str] = []
    if profile:
        recorded = Recorded.load(profile)
        source, left_out = recorded.traffic, recorded.left_out
        title = f"{recorded.calls} calls of {profile.name}"
        if source.p != where.p:
            raise OmnesError(f"{profile} is of {source.p} ranks, but {where.text} places {where.p}")
    else:
        source, title = _source(what, traffic, where.p, root, radix or 0, segments)
    per_part = units.parse_bytes(size) if what else 1
    with from_core():
        found = renumbering.find(source, title, where, per_part, method, bandwidths)
    record = found.as_dict()
    if draw:
        _draw(draw, source, found, where)
    if kind:
        names = hosts.split(",") if hosts else list(dict.fromkeys(where.names)) or rankfiles.default_hosts(where)
        click.echo(rankfiles.render(kind, where, found.real_of, names), nl=False)
    elif (
        output.deliver(to_json, {**record, **({"left_out": left_out} if profile else {})}, to_csv, [record])
        and not draw
    ):
        _show(found)
    for reason in [] if to_json else left_out:
        click.echo(f"left out: {reason}", err=True)


def _bandwidths(text: str | None, where: Placing) -> list[float]:
    if text is None:
        return []
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = []
    if len(values) != len(where.levels) + 1 or min(values) <= 0:
        raise UsageError(
            f"'{text}' is no list of {len(where.levels) + 1} bandwidths: {len(where.levels)} levels and beyond"
        )
    return values


def _source(
    what: str | None, file: Path | None, p: int, root: int, radix: int, segments: int
) -> tuple[_core.Traffic, str]:
    if file:
        text = files.read(file)
        try:
            source = _core.read_traffic(text, p)
        except ValueError as error:
            raise OmnesError(f"{file}, {error}") from None
        if source.p != p:
            raise OmnesError(f"{file} names rank {source.p - 1}, but only {p} ranks are placed")
        return source, file.name
    algorithm = catalogue.one(what or "")
    if root >= p:
        raise UsageError(f"no root {root} among {p} ranks: ranks are 0..{p - 1}")
    reason = _core.why_not(algorithm["operation"], algorithm["name"], p, radix, segments)
    if reason:
        raise OmnesError(f"{what} cannot do this: {reason}")
    name = f"{algorithm['operation']}/{algorithm['name']}"
    return _core.traffic(algorithm["operation"], algorithm["name"], p, root, radix, segments), name


def _draw(file: Path, source: _core.Traffic, found: Renumbering, where: Placing) -> None:
    if where.p > drawing.MAX_RANKS:
        raise UsageError(f"{where.p} ranks are too many to draw; at most {drawing.MAX_RANKS}")
    title = f"{found.what}, {where.p} ranks on {where.text}: {found.gain:.2f}x predicted"
    picture = drawing.Picture(title, source.rows(), where.nodes(), found.real_of)
    files.write(file, drawing.html(picture) if file.suffix == ".html" else drawing.svg(picture))
    click.echo(f"wrote {file}", err=True)


def _show(found: Renumbering) -> None:
    console = output.console(highlight=False)
    console.print(f"{found.what}, {found.p} ranks on {found.placement}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("bytes within")
    for heading in ("GB/s", "before", "after"):
        table.add_column(heading, justify="right")
    for level, speed, before, after in zip(found.levels, found.bandwidths, found.bytes_before, found.bytes_after):
        table.add_row(level, f"{speed:g}", f"{before:.0f}", f"{after:.0f}")
    table.add_row("time", "", f"{found.time_before:.0f} ns", f"{found.time_after:.0f} ns")
    console.print(table)
    for name, cost in found.fixups.items():
        console.print(
            f"with {name}: " + (cost.get("why_not") or f"{cost['time']:.0f} ns, {cost['copied']:.0f} bytes copied")
        )
    if found.method == "none":
        console.print("nothing to gain: the ranks lie well for this")
        return
    console.print(f"gain {found.gain:.2f}x" + (f" with {found.fixup}" if found.fixup else ""))
    total = sum(found.seconds.values()) - found.seconds["cost"]
    seen = "" if found.rows_seen == found.p else f", from the schedules of {found.rows_seen} ranks"
    console.print(f"found by {found.method} (symmetry: {found.symmetry}) in {units.format_seconds(total)}{seen}")
    if found.p <= 64:
        for unit, part in enumerate(found.parts):
            console.print(f"{found.levels[0]} {unit} plays {' '.join(map(str, part))}")


def _show_all(
    where: Placing,
    nodes: str,
    ranks: int | None,
    size: int,
    method: str,
    bandwidths: list[float],
    to_json: Path | None,
    to_csv: Path | None,
) -> None:
    pattern = patterns.parse(nodes)
    shape = nodes.split()[0]
    both = not pattern.named
    placings = [patterns.placing(f"{shape}{order}", ranks) for order in ("", " cyclic")] if both else [where]
    found = [list(renumbering.find_all(one, size, method, bandwidths)) for one in placings]
    records = [one.as_dict() for column in found for one in column]
    if not output.deliver(to_json, records, to_csv, records):
        return
    for number, (placing, column) in enumerate(zip(placings, found)):
        click.echo(("\n" if number else "") + f"| algorithm | {placing.text} | cut | fix-up |\n|---|---|---|---|")
        for one in column:
            click.echo(f"| {one.what} | " + " | ".join(_cells(one)) + " |")


def _cells(found: Renumbering) -> list[str]:
    """The gain; of all bytes the share that leaves the nearest level, before and after; the fix-up."""
    total = sum(found.bytes_before) or 1.0
    before, after = (1 - values[0] / total for values in (found.bytes_before, found.bytes_after))
    if found.gain <= 1:
        return ["1", f"{before:.0%}", "declined" if _declined(found) else ""]
    return [f"{found.gain:.2f}", f"{before:.0%} → {after:.0%}", found.fixup]


def _declined(found: Renumbering) -> bool:
    return bool(found.fixups) and all("why_not" in cost for cost in found.fixups.values())
