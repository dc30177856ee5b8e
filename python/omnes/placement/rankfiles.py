"""A mapping as what launchers read: a program keeps its ranks, and the launcher puts those that talk close together.

Place i is where the launcher would have put rank i; rank v goes to place real_of[v].
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from omnes.errors import OmnesError
from omnes.placement.patterns import Placing

FORMATS = {
    "openmpi": "rankfile: mpirun --rankfile FILE (Open MPI 5: --map-by rankfile:file=FILE)",
    "mpich": "machine file: mpiexec -f FILE (hydra)",
    "cray": "MPICH_RANK_ORDER: in the working folder, with MPICH_RANK_REORDER_METHOD=3",
    "slurm": "host file: SLURM_HOSTFILE=FILE srun --distribution=arbitrary",
}


def render(kind: str, placing: Placing, real_of: Sequence[int], hosts: Sequence[str]) -> str:
    node = placing.nodes()
    host_of = dict(zip(sorted(set(node)), hosts))
    if len(host_of) < len(set(node)):
        raise OmnesError(f"{len(hosts)} hosts for {len(set(node))} nodes")
    slot: list[int] = []
    taken: dict[int, int] = {}
    for unit in node:
        slot.append(taken.setdefault(unit, 0))
        taken[unit] += 1
    of_rank = [host_of[node[place]] for place in real_of]
    if kind == "openmpi":
        lines = [f"rank {rank}={host} slot={slot[real_of[rank]]}" for rank, host in enumerate(of_rank)]
    elif kind == "mpich":
        lines = [f"{host}:{len(list(run))}" for host, run in groupby(of_rank)]
    elif kind == "slurm":
        lines = of_rank
    else:
        at = {place: rank for rank, place in enumerate(real_of)}
        by_node = groupby(sorted(range(len(node)), key=node.__getitem__), key=node.__getitem__)
        lines = [",".join(str(at[place]) for place in run) for _, run in by_node]
    head = [] if kind == "slurm" else [f"# {FORMATS[kind]}"]  # Slurm takes every line for a host
    return "\n".join([*head, *lines]) + "\n"


def default_hosts(placing: Placing) -> list[str]:
    return [f"node{number}" for number in range(len(set(placing.nodes())))]
