"""Plan files: which cells to measure, with how many ranks, how long, and on which peers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnes import cluster
from omnes.bench import variety
from omnes.bench.job import Spread
from omnes.bench.parts import buffer_bytes
from omnes.bench.session import BUFFERS, COUNTS, FORMS, OPERATIONS, REDUCTIONS, TYPE_BYTES, cells
from omnes.bench.timing import STABLE_WIDTH, Cell
from omnes.errors import OmnesError
from omnes.launching import cpus
from omnes.terminal import toml_files, units

_DEFAULTS = {
    "why": toml_files.REQUIRED,
    "ranks": [],  # the whole plan for each; bound ones that have no core each are left out
    "per_core": [],  # or so many for each core
    "hosts": 1,  # that the ranks lie on, of an emulated cluster
    "bandwidth": "",  # of each host's link, such as 1gbit; else as fast as the kernel copies
    "bind": True,
    "launches": 1,  # of all jobs, one after the other: what differs from launch to launch is noise, too
    "seconds": 1.0,  # of a cell in all launches, at most
    "width": STABLE_WIDTH,  # of the medians' confidence intervals, where a cell may end earlier
    "memory": "1G",  # of one rank's buffers: cells that need more are left out
    "peers": [],  # names; none: all that take part
    "cells": toml_files.REQUIRED,  # tables; or the name of a plan beside this one that has the same
}
_CELLS_DEFAULTS = {
    "operations": list(OPERATIONS),
    "sizes": toml_files.REQUIRED,
    "reduction": "sum",
    "type": "",  # the reduction's first
    "counts": ["equal"],
    "form": "blocking",
    "buffers": ["warm"],
    "arrivals": [],  # none: each rank's own time counts
}


@dataclass(frozen=True)
class Plan:
    name: str
    why: str
    ranks: tuple[int, ...]
    hosts: int
    bandwidth: str
    bind: bool
    launches: int
    seconds: float
    width: float
    memory: str
    peers: tuple[str, ...]
    cells: tuple[Cell, ...]
    on: tuple[str, ...] = ()  # real hosts; none: emulated ones

    def shared(self, ranks: int) -> bool:
        """Whether ranks share CPUs."""
        return ranks > cpus.usable_cpus()

    @property
    def spread(self) -> Spread:
        return Spread(self.hosts, bandwidth=self.bandwidth or None, names=self.on)

    def cells_for(self, ranks: int) -> list[Cell]:
        most = units.parse_bytes(self.memory)
        return [cell for cell in self.cells if buffer_bytes(cell.operation, ranks, cell.bytes) <= most]

    def as_data(self) -> dict[str, Any]:
        """All but the cells, which are as many records, and real hosts, which may be others when a run goes on."""
        return {name: value for name, value in vars(self).items() if name not in ("cells", "on")}


def read(path: Path) -> Plan:
    values = toml_files.over_defaults(toml_files.load(path), _DEFAULTS, str(path))
    ranks = _ranks(values["ranks"], values.pop("per_core"), values["bind"], path)
    units.parse_bytes(values["memory"])
    if values["launches"] < 1:
        raise OmnesError(f"{path}: launches is to be 1 or more, not {values['launches']}")
    if values["bandwidth"]:
        cluster.bytes_per_second(values["bandwidth"])
        if values["hosts"] == 1:
            raise OmnesError(f"{path}: bandwidth is of links between hosts: give hosts, too")
    if values["hosts"] > 1 and (values["bind"] or any(count % values["hosts"] for count in ranks)):
        raise OmnesError(f"{path}: hosts needs bind = false, and ranks that are multiples of it")
    if isinstance(values["cells"], str):
        (path_of_cells,) = toml_files.pick(path.parent, [values["cells"]], "plan")
        values["cells"] = toml_files.load(path_of_cells).get("cells", [])
    if not isinstance(values["cells"], list) or not all(isinstance(table, dict) for table in values["cells"]):
        raise OmnesError(f"{path}: cells are tables, [[cells]], or the name of a plan that has some")
    found = dict.fromkeys(cell for table in values["cells"] for cell in _cells(table, f"{path}: cells"))
    values.update(ranks=tuple(ranks), peers=tuple(values["peers"]), cells=tuple(found))
    return Plan(path.stem, **values)


def _ranks(ranks: Sequence[int], per_core: Sequence[int], bind: bool, path: Path) -> list[int]:
    given = [*ranks, *per_core]
    if bool(ranks) == bool(per_core) or not all(isinstance(count, int) and count >= 2 for count in given):
        raise OmnesError(f"{path}: give ranks, a list of numbers of at least 2, or per_core, such a list, one of them")
    if per_core:
        return [count * cpus.usable_cores() for count in per_core]
    return [count for count in ranks if not bind or count <= cpus.usable_cores()]


def _cells(table: dict[str, Any], where: str) -> list[Cell]:
    values = toml_files.over_defaults(table, _CELLS_DEFAULTS, where)
    _known([values["reduction"]], tuple(REDUCTIONS), f"{where}: reduction")
    types = REDUCTIONS[values["reduction"]]
    values["type"] = values["type"] or types[0]
    valid = {
        "operations": OPERATIONS + variety.OPERATIONS,
        "type": types,
        "counts": COUNTS + variety.COUNTS,
        "form": FORMS + variety.FORMS,
        "buffers": BUFFERS + variety.TOUCHING,
        "arrivals": variety.ARRIVALS,
    }
    for name, known in valid.items():
        _known(values[name] if isinstance(values[name], list) else [values[name]], known, f"{where}: {name}")
    sizes = units.parse_sizes(values["sizes"])
    odd = [size for size in sizes if size % TYPE_BYTES[values["type"]]]
    if odd:
        raise OmnesError(f"{where}: {odd[0]} bytes are no whole number of {values['type']}s")
    if values["arrivals"] and (values["form"] != "blocking" or {*values["counts"]} & {*variety.COUNTS}):
        raise OmnesError(f"{where}: arrivals are of blocking calls whose counts stay")
    values["arrivals"] = values["arrivals"] or [""]
    del values["sizes"]
    found = cells(sizes=sizes, type_name=values.pop("type"), **values)
    if not found:
        raise OmnesError(f"{where}: none of {', '.join(values['operations'])} can be called so")
    return found


def _known(names: Sequence[str], valid: Sequence[str], where: str) -> None:
    unknown = [name for name in names if name not in valid]
    if unknown:
        raise OmnesError(f"{where}: there is no '{unknown[0]}'; valid: {', '.join(valid)}")
