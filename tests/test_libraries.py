"""The interposer libraries must fit into any program: no link but to the C library, only MPI names and dlopen exported."""

from __future__ import annotations

import re
import subprocess

import pytest

from omnes import libraries

FAMILIES = ["ompi", "mpich", "abi"]


def lines_of(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("family", FAMILIES)
def test_needs_only_the_c_library(family):
    needed = [
        match[1]
        for line in lines_of("readelf", "--dynamic", "--wide", str(libraries.require(family)))
        if (match := re.search(r"\(NEEDED\).*\[(.*)\]", line))
    ]
    allowed = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux.*)\.so\.\d+")
    assert [name for name in needed if not allowed.fullmatch(name)] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_exports_mpi_names_in_both_forms(family):
    names = {line.split()[-1] for line in lines_of("nm", "--dynamic", "--defined-only", str(libraries.require(family)))}
    assert {name for name in names if not re.match(r"P?MPIX?_|p?mpi_|[A-Z_]*MPI[A-Z_]*$|dlopen$", name)} == set()
    collectives = ["Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter", "Allgather", "Alltoall"]
    assert {f"MPI_{name}" for name in collectives} <= names
    assert {f"PMPI_{name}" for name in collectives} <= names
