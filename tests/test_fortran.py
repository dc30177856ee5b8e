"""Fortran programs, through each of MPI's three interfaces, on Debian's MPIs: stock and under omnes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from launching import compile_fortran, expect_ok, mpirun
from omnes.launching import launch, libraries, mpi

VENDORS = {"openmpi": "ompi", "mpich": "mpich"}
SOURCES = ["mpif", "use_mpi", "use_mpi_f08"]


@pytest.fixture(scope="module", params=VENDORS)
def vendor(request) -> str:
    if not shutil.which(f"mpif90.{request.param}"):
        pytest.skip(f"no mpif90.{request.param}: scripts/setup installs it where there is apt-get")
    return request.param


@pytest.fixture(scope="module")
def debian(vendor) -> mpi.Mpi:
    return mpi.identify(Path(shutil.which(f"mpiexec.{vendor}")))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("with_omnes", [False, True], ids=["stock", "omnes"])
def test_program(vendor, debian, programs, tmp_path, source, with_omnes):
    program = compile_fortran(source, vendor, programs)
    run = mpirun(debian, 3, program, with_omnes=with_omnes, variables={"OMNES_STATS": str(tmp_path)})
    expect_ok(run)
    if with_omnes:
        report = json.loads((tmp_path / "rank-1.json").read_text())
        served = {entry["operation"] for entry in report["entries"]}
        assert served == {"barrier", "bcast", "reduce", "allreduce", "gatherv", "alltoall"}
        assert report["passed"] == []


@pytest.mark.parametrize("source", ["attributes", "attributes_f08"])
def test_attributes_of_duplicates(vendor, debian, programs, source):
    expect_ok(mpirun(debian, 2, compile_fortran(source, vendor, programs)))


@pytest.mark.parametrize("source", SOURCES)
def test_the_right_library_and_launcher_are_found(vendor, debian, programs, source):
    job = launch.prepare([str(compile_fortran(source, vendor, programs))], 2)
    assert (job.family, job.mpi.name) == (VENDORS[vendor], debian.name)
    assert job.mpi.launcher.parent.samefile(debian.launcher.parent)
    assert str(libraries.path(job.family)) in " ".join(job.command)
