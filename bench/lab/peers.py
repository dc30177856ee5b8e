"""Peer files: a job each, where its MPI comes from, and why it is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import pypi
from omnes.bench.contenders import COMPILED_IN
from omnes.bench.job import JobSpec
from omnes.errors import OmnesError
from omnes.launching import mpi as mpis
from omnes.terminal import toml_files

_DEFAULTS = {
    "why": toml_files.REQUIRED,
    "packages": [],  # from PyPI; the first is the MPI's
    "prefix": "",  # or an MPI that is here already
    "family": toml_files.REQUIRED,
    "omnes": False,
    "variables": {},
    "options": [],  # of the launcher
    "launcher": "",  # that starts the ranks in place of the MPI's own, such as srun
    "only": "",  # "shared": where ranks share CPUs; "hosts": on several hosts; "named": in plans that name it
}


@dataclass(frozen=True)
class Peer:
    """A peer file: a job to be, once its MPI is here."""

    name: str
    why: str
    packages: tuple[str, ...]
    prefix: str
    family: str
    omnes: bool
    variables: Mapping[str, str]
    options: tuple[str, ...]
    launcher: str
    only: str

    def takes_part(self, shared: bool, hosts: int, named: bool) -> bool:
        """An emulated cluster tells all MPIs to yield by itself."""
        return {"shared": shared and hosts == 1, "hosts": hosts > 1, "named": named}.get(self.only, True)

    def job(self, folder: Path) -> JobSpec:
        """The job, its MPI installed in that folder unless it is there."""
        place = self.prefix or str(pypi.install(folder, self.packages))
        mpi = mpis.at(place, os.environ)
        if mpi.family != self.family:
            raise OmnesError(f"peer {self.name}: {mpi.name} is of family {mpi.family}, not {self.family}")
        variables = {**COMPILED_IN, **self.variables} if self.omnes else self.variables
        return JobSpec(self.name, mpi, self.omnes, variables, options=self.options, launcher=self.launcher)

    def as_data(self) -> dict[str, Any]:
        return {**vars(self), "variables": dict(self.variables)}


def read(path: Path) -> Peer:
    values = toml_files.over_defaults(toml_files.load(path), _DEFAULTS, str(path))
    if bool(values["packages"]) == bool(values["prefix"]):
        raise OmnesError(f"{path}: give packages or a prefix, one of them")
    if values["only"] not in ("", "shared", "hosts", "named"):
        raise OmnesError(f"{path}: only is '{values['only']}'; valid: shared, hosts, named")
    values.update(packages=tuple(values["packages"]), options=tuple(values["options"]))
    values["variables"] = {name: str(value) for name, value in values["variables"].items()}
    return Peer(path.stem, **values)
