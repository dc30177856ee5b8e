"""Which jobs to compare: those of a command line, or those that peer files describe.

A command line gives for each MPI: as it comes, tuned for shared CPUs, with the user's settings, and with omnes. A peer
file gives one job, and says where its MPI comes from and why it is there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnes import pypi
from omnes.bench.job import JobSpec
from omnes.errors import OmnesError
from omnes.launching import mpi as mpis
from omnes.launching.mpi import Mpi
from omnes.terminal import toml_files

# What omnes comes with, whatever table and machine file the user has.
COMPILED_IN = {"OMNES_TABLE": "off", "OMNES_MACHINE": "off"}


def jobs(
    mpis: Sequence[Mpi], oversubscribed: bool, peers: Sequence[str], variants: Sequence[str] = ()
) -> list[JobSpec]:
    """For each MPI: stock, stock tuned for shared CPUs (when they are), the peers, omnes, its variants."""
    specs: list[JobSpec] = []
    for mpi in mpis:
        of = "" if len(mpis) == 1 else f" {mpi.name}"
        stock = f"stock{of}"
        specs.append(JobSpec(stock, mpi))
        if oversubscribed and mpi.yielding:
            specs.append(JobSpec(f"{stock}, yielding", mpi, variables=mpi.yielding))
        for peer in peers:
            name, variables = _parse_peer(peer)
            specs.append(JobSpec(f"{name}{of}", mpi, variables=variables))
        specs.append(JobSpec(f"omnes{of}", mpi, with_omnes=True, baseline=stock))
        for variant in variants:
            name, variables = _parse_peer(variant)
            specs.append(JobSpec(f"{name}{of}", mpi, with_omnes=True, variables=variables, baseline=stock))
    return specs


def with_table(mpis: Sequence[Mpi], table: Path) -> list[JobSpec]:
    """For each MPI: omnes with the compiled-in table only, and with this one in front of it."""
    specs: list[JobSpec] = []
    for mpi in mpis:
        of = "" if len(mpis) == 1 else f" {mpi.name}"
        tuned = {**COMPILED_IN, "OMNES_TABLE": str(table.resolve())}
        specs.append(JobSpec(f"compiled-in{of}", mpi, True, COMPILED_IN))
        specs.append(JobSpec(f"tuned{of}", mpi, True, tuned, baseline=f"compiled-in{of}"))
    return specs


def _parse_peer(text: str) -> tuple[str, dict[str, str]]:
    """'NAME:A=1 B=2' -> the name and the variables."""
    name, colon, settings = text.partition(":")
    pairs = [word.partition("=") for word in settings.split()]
    if not name or not colon or not pairs or not all(equals and variable for variable, equals, _ in pairs):
        raise OmnesError(f"'{text}' is no peer: write NAME:VARIABLE=VALUE [VARIABLE=VALUE...]")
    return name, {variable: value for variable, _, value in pairs}


_DEFAULTS = {
    "why": toml_files.REQUIRED,
    "packages": [],  # from PyPI; the first is the MPI's
    "prefix": "",  # or an MPI that is here already
    "family": toml_files.REQUIRED,
    "omnes": False,
    "variables": {},
    "options": [],  # of the launcher
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
        return JobSpec(self.name, mpi, self.omnes, variables, options=self.options)

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
