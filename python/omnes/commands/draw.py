"""omnes draw: shows what an algorithm does, as text, SVG or HTML, or in GOAL for other simulators."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import click

from omnes import _core
from omnes.algorithms import catalogue
from omnes.drawing import goal, html, rounds, svg, text
from omnes.errors import OmnesError, UsageError
from omnes.placement import patterns
from omnes.terminal import files, options, units
from omnes.terminal.output import deliver

_FORMATS = {".txt": "text", ".svg": "svg", ".html": "html", ".goal": "goal"}  # by the end of the file name


@click.command()
@click.argument("what", metavar="OPERATION/ALGORITHM")
@click.option("-n", "ranks", type=options.number(1), required=True, metavar="N", help="Number of ranks.")
@click.option(
    "--root", type=options.number(0), default=0, metavar="R", help="The root rank, where the operation has one."
)
@click.option("--rank", type=options.number(0), metavar="R", help="Only the schedule of this rank, op by op.")
@click.option(
    "--radix", type=options.number(2), metavar="K", help="Arity of the tree and the like, instead of the default."
)
@options.nodes("all on one node; only for hierarchical ones")
@click.option("--segments", type=options.number(1), default=1, metavar="S", help="Number of pipeline segments.")
@options.output("Write .svg, .html, .txt or .goal.")
@click.option("--format", "wanted", type=click.Choice(list(_FORMATS.values())), help="Instead of what FILE says.")
@click.option("-b", "--bytes", "part", default="1K", metavar="BYTES", help="In GOAL: bytes of one part.")
@options.json_only
def command(
    what: str,
    ranks: int,
    root: int,
    rank: int | None,
    radix: int | None,
    nodes: str | None,
    segments: int,
    output: Path | None,
    wanted: str | None,
    part: str,
    to_json: Path | None,
) -> None:
    """Draw the messages of an algorithm, round by round. A message's round is the longest path of
    messages that must come before it.

    \b
    omnes draw bcast/knomial -n 8
    omnes draw allreduce/ring -n 4 --rank 2
    omnes draw reduce/binary -n 16 --segments 4 -o reduce.svg
    omnes draw bcast/hierarchical -n 16 --nodes 4x4
    omnes draw allgather/ring -n 64 -b 64K --format goal     for LogGOPSim and ATLAHS
    """
    algorithm = catalogue.one(what)
    if output and not wanted and output.suffix not in _FORMATS:
        raise UsageError(f"cannot write {output}: the file name must end in {', '.join(_FORMATS)}")
    if rank is not None and rank >= ranks:
        raise UsageError(f"no rank {rank} among {ranks}: ranks are 0..{ranks - 1}")
    if root >= ranks:
        raise UsageError(f"no root {root} among {ranks} ranks: ranks are 0..{ranks - 1}")
    if nodes and not algorithm["hierarchical"]:
        raise UsageError(f"{what} is the same wherever ranks lie: --nodes is for hierarchical algorithms")
    of_rank = patterns.placing(nodes, ranks).nodes() if nodes else []
    reason = _core.why_not(algorithm["operation"], algorithm["name"], ranks, radix or 0, segments, nodes=of_rank)
    if reason:
        raise OmnesError(f"{what} cannot do this: {reason}")

    def schedule(of: int) -> str:
        return _core.schedule_text(
            algorithm["operation"], algorithm["name"], ranks, of, root, radix or 0, segments, nodes=of_rank
        )

    if rank is not None:
        _write(schedule(rank), output)
        return
    if not wanted:
        wanted = _FORMATS[output.suffix] if output else "text"
    if wanted == "goal":
        _write(goal.render(algorithm, ranks, root, radix or 0, segments, units.parse_bytes(part)), output)
        return
    rooted = algorithm["operation"] in catalogue.ROOTED
    drawing = rounds.draw(algorithm, ranks, root if rooted else None, radix or 0, segments, of_rank)
    if not deliver(to_json, {**asdict(drawing), "rounds": drawing.rounds}):
        return
    if wanted == "svg":
        _write(svg.render(drawing), output)
    elif wanted == "html":
        _write(html.render(drawing, [schedule(of) for of in range(ranks)]), output)
    else:
        _write(text.render(drawing, shutil.get_terminal_size((120, 24)).columns if output is None else 160), output)


def _write(content: str, output: Path | None) -> None:
    if output is None:
        click.echo(content, nl=False)
    else:
        files.write(output, content)
        click.echo(f"wrote {output}", err=True)
