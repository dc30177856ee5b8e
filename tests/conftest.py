"""Fixtures that all tests may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from launching import compile_c, the_mpi
from omnes.mpi import Mpi


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI that scripts/setup installs."""
    return the_mpi(request.param)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled programs lie."""
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def build(programs: Path):
    """build(name, mpi, standard_abi=False): tests/programs/NAME.c, compiled."""

    def compiled(name: str, of: Mpi, standard_abi: bool = False) -> Path:
        return compile_c(Path(__file__).parent / "programs" / f"{name}.c", of, programs, standard_abi)

    return compiled
