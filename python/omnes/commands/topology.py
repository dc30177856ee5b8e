"""omnes topology: the levels of a machine, and the groups of a job over them."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from omnes.drawing import boxes, places
from omnes.errors import UsageError
from omnes.placement import jobs
from omnes.terminal import files, options
from omnes.terminal.output import deliver

_FORMATS = (".svg", ".html")
_SHOWN_GROUPS = 32  # of one level, as text
_DRAWN = 16384  # ranks or CPUs: beyond, a browser takes long

_draw = click.option("--draw", "output", type=options.OUTPUT, metavar="FILE", help="Write .svg or .html.")


@click.group(invoke_without_command=True)
@click.option("--shape", "machine", default="this", metavar="FILE|WORDS", help=jobs.MACHINE_HELP)
@_draw
@options.json_only
@click.pass_context
def command(context: click.Context, machine: str, output: Path | None, to_json: Path | None) -> None:
    """Show which CPUs share a core, a cache, a memory, a socket: on this machine or a described one.

    \b
    omnes topology
    omnes topology --shape "package:2 numa:4 l3:2 core:8 pu:2" --draw machine.svg
    omnes topology groups --nodes "8x8 cyclic"
    """
    if context.invoked_subcommand:
        return
    shown = jobs.machine(machine)
    title = "this machine" if machine == "this" else machine
    _write(output, lambda: (title, places.MACHINE_NOTE, places.machine(shown), shown["text"]), len(shown["cpus"]))
    if deliver(to_json, shown) and output is None:
        click.echo(shown["text"], nl=False)
        if machine == "this":
            file = jobs.network_file(os.environ.get("OMNES_TOPOLOGY", ""))
            click.echo(f"network {file or 'not known: there is no OMNES_TOPOLOGY, and no topology.conf of Slurm'}")


@command.command()
@jobs.options
@click.option("--rank", type=options.number(0), metavar="R", help="Only the groups that this rank is in.")
@_draw
@options.json_only
def groups(
    ranks: str, machine: str, network: str, levels: str, rank: int | None, output: Path | None, to_json: Path | None
) -> None:
    """Show who acts with whom on which level: the first of a group leads it, and acts for it on the next level.

    Without --nodes, the job has a rank on each core of the machine.

    \b
    omnes topology groups
    omnes topology groups --nodes "4x8 cyclic" --shape "package:2 core:4 pu:1"
    omnes topology groups --nodes node[01-04]x36 --network topology.conf --rank 36
    """
    job = jobs.job(ranks, machine, network, levels)
    text = _rank(job, rank) if rank is not None else _text(job)
    _write(output, lambda: (_title(job), places.JOB_NOTE, places.job(job), _text(job)), job["p"])
    of_rank = {"rank": rank, "groups": jobs.groups_with(job, rank)} if rank is not None else None
    if deliver(to_json, of_rank or job) and output is None:
        click.echo(text, nl=False)


def _write(output: Path | None, content: Callable[[], tuple[str, str, boxes.Box, str]], size: int) -> None:
    if output is None:
        return
    if output.suffix not in _FORMATS:
        raise UsageError(f"cannot write {output}: the file name must end in {', '.join(_FORMATS)}")
    if size > _DRAWN:
        raise UsageError(f"cannot draw {size} ranks or CPUs; at most {_DRAWN}")
    title, note, box, text = content()
    files.write(output, boxes.svg(title, note, box) if output.suffix == ".svg" else boxes.html(title, note, box, text))
    click.echo(f"wrote {output}", err=True)


def _title(job: dict[str, Any]) -> str:
    nodes = len(set(job["nodes"]))
    return f"{job['p']} rank{'s' * (job['p'] > 1)} on {nodes} node{'s' * (nodes > 1)}"


def _rank(job: dict[str, Any], rank: int) -> str:
    own = jobs.groups_with(job, rank)
    words = [f"G{index + 1}{jobs.members(group)}" for index, group in enumerate(own)]
    names = ", ".join(f"G{index + 1} {level['level']}" for index, level in enumerate(job["groups"]))
    return f"rank {rank}: {' '.join(words)}\n({names})\n"


def _text(job: dict[str, Any]) -> str:
    lines = [_title(job)]
    for index, level in enumerate(job["groups"]):
        lines += _wrapped(f"G{index + 1} {level['level']}", _first([jobs.members(one) for one in level["groups"]]))
    lines += [
        f"{'':<3}{level['name']:<8} {level['kind']}: {level['why']}"
        for level in job["left_out"]
        if level["kind"] != "absent"
    ]
    return "\n".join(lines) + "\n"


def _first(words: list[str]) -> list[str]:
    hidden = len(words) - _SHOWN_GROUPS
    return words if hidden <= 0 else [*words[:_SHOWN_GROUPS], f"and {hidden} more (--json has all)"]


def _wrapped(head: str, words: list[str]) -> list[str]:
    width = shutil.get_terminal_size((120, 24)).columns
    indent = " " * 12
    return textwrap.wrap(
        " ".join(words), width, initial_indent=f"{head:<11} ", subsequent_indent=indent, break_long_words=False
    )
