"""Described jobs: the options by which commands take one, and what the core makes of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from omnes import _core
from omnes.errors import OmnesError, UsageError, from_core
from omnes.placement import patterns

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OF_NETWORK = "OMNES_TOPOLOGY"  # the variable
MACHINE_HELP = "Nodes are like this: an XML file of lstopo, words such as 'package:2 core:8 pu:2', or 'this' machine."


def options(command: _Command) -> _Command:
    """Adds --nodes, --shape, --network and --levels, which job() takes."""
    for option in (
        click.option(
            "--levels",
            envvar="OMNES_LEVELS",
            default="",
            metavar="LIST",
            help="Use only these, such as numa,node,switch. There are " + ", ".join(_core.level_names) + ".",
        ),
        click.option(
            "--network",
            envvar=_OF_NETWORK,
            default="",
            metavar="FILE",
            help="The switches of the nodes: lines '<node> <switch>', or Slurm's topology.conf.",
        ),
        click.option("--shape", "machine", default="", metavar="FILE|WORDS", help=MACHINE_HELP),
        click.option(
            "--nodes",
            "ranks",
            default="",
            metavar="WHERE",
            help=f"{patterns.HELP} Also node[01-16]x36, and '8x8 unbound'.",
        ),
    ):
        command = option(command)
    return command


def job(ranks: str, machine: str = "", network: str = "", levels: str = "") -> dict[str, Any]:
    """_core.job, with errors as the command reports them, and Slurm's file where no other is named. Without ranks: this
    machine with a rank on each core, or the described one."""
    machine = machine if machine or ranks else "this"
    if network and network == os.environ.get(_OF_NETWORK):
        try:
            _core.network(network)
        except ValueError as fault:
            raise OmnesError(f"{_OF_NETWORK}: {fault}") from None
    if patterns.parse(ranks).switches:
        return _with_switches(ranks, machine, network, levels)
    return read(_core.job, ranks or f"1x{_cores(machine)}", machine, network_file(network), levels)


def _with_switches(ranks: str, machine: str, network: str, levels: str) -> dict[str, Any]:
    """The core reads switches from a network's file, and NUMA nodes from the words of a machine."""
    pattern = patterns.parse(ranks)
    (nodes,), (on_each,) = pattern.nodes, pattern.ranks
    if (network and network != os.environ.get(_OF_NETWORK)) or (machine and pattern.numas):
        raise UsageError(f"'{ranks}' says itself which switches and NUMA nodes there are: leave out what else does")
    if pattern.numas:
        machine = f"numa:{pattern.numas} core:{on_each // pattern.numas} pu:1"
    if nodes * on_each > patterns.MAX_RANKS:
        raise UsageError(f"'{ranks}' is more than {patterns.MAX_RANKS} ranks")
    with tempfile.NamedTemporaryFile("w", suffix=".net") as file:
        file.writelines(f"node{node} switch{node * pattern.switches // nodes}\n" for node in range(nodes))
        file.flush()
        return read(_core.job, " ".join([f"{nodes}x{on_each}", *ranks.split()[1:]]), machine, file.name, levels)


def network_file(wanted: str) -> str:
    """The file of the network that programs started here would read; empty when there is none."""
    return wanted or _core.network_file() or ""


def machine(description: str) -> dict[str, Any]:
    return read(_core.machine, "" if description == "this" else description)


def read(function: Callable[..., Any], *arguments: str) -> Any:
    with from_core():
        return function(*arguments)


def _cores(description: str) -> int:
    """How many cores of it may be used; CPUs, where it has none."""
    found = machine(description)
    usable = set(found["cpus"])
    cores = [group for level in found["levels"] if level["name"] == "core" for group in level["cpus"]]
    return sum(not usable.isdisjoint(core) for core in cores) or len(usable)


def groups_with(described: dict[str, Any], rank: int) -> list[list[int]]:
    """The group of the rank on each level, from the lowest, while it leads."""
    if rank not in range(described["p"]):
        raise OmnesError(f"no rank {rank} among {described['p']}: ranks are 0..{described['p'] - 1}")
    return [group for level in described["groups"] for group in level["groups"] if rank in group]


def members(ranks: Sequence[int]) -> str:
    """(0..17), (0,18) or, for equal steps, (0,8..56)."""
    words = []
    start = 0
    while start < len(ranks):
        step = ranks[start + 1] - ranks[start] if start + 1 < len(ranks) else 0
        end = start + 1
        while end < len(ranks) and ranks[end] - ranks[end - 1] == step:
            end += 1
        if end - start > 3 or (end - start == 3 and step == 1):
            words.append(f"{ranks[start]}{f',{ranks[start + 1]}' if step > 1 else ''}..{ranks[end - 1]}")
        else:
            end = start + 1
            words.append(str(ranks[start]))
        start = end
    return f"({','.join(words)})"
