"""Which launcher belongs to a program: in the layouts that MPIs come in, and with the system's own compilers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import ROOT, YIELDING
from omnes.launching import mpi

_SAYS = {"ompi": "mpirun (Open MPI) 5.0.9", "old": "mpirun (Open MPI) 4.1.4", "mpich": "HYDRA build details: 4.2"}

# What is there (launchers and what they are; libraries; links), the library that a program loads, its family, and the
# launcher that belongs to it.
LAYOUTS = {
    "a prefix": (["opt/mpi/bin/mpirun=ompi"], "opt/mpi/lib/libmpi.so.40", "ompi", "opt/mpi/bin/mpirun"),
    "lib64": (["opt/mpi/bin/mpirun=ompi"], "opt/mpi/lib64/libmpi.so.40", "ompi", "opt/mpi/bin/mpirun"),
    "Intel's release build": (
        ["mpi/2021/bin/mpiexec.hydra=mpich"],
        "mpi/2021/lib/release/libmpi.so.12",
        "mpich",
        "mpi/2021/bin/mpiexec.hydra",
    ),
    "Fedora's modules": (
        ["usr/lib64/openmpi/bin/mpirun=ompi", "usr/lib64/mpich/bin/mpirun=mpich", "usr/bin/mpirun=old"],
        "usr/lib64/mpich/lib/libmpi.so.12",
        "mpich",
        "usr/lib64/mpich/bin/mpirun",
    ),
    "Debian's suffixes, alternatives and folder of the machine's kind": (
        [
            "usr/bin/mpirun.openmpi=old",
            "usr/bin/mpirun.mpich=mpich",
            "etc/alternatives/mpirun->usr/bin/mpirun.openmpi",
            "usr/bin/mpirun->etc/alternatives/mpirun",
            "usr/lib/x86_64-linux-gnu/libmpi.so.40->usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4",
        ],
        "usr/lib/x86_64-linux-gnu/libmpi.so.40",
        "ompi",
        "usr/bin/mpirun.openmpi",
    ),
    "the same for the other MPI": (
        [
            "usr/bin/mpirun.openmpi=old",
            "usr/bin/mpirun.mpich=mpich",
            "usr/bin/mpirun->usr/bin/mpirun.openmpi",
        ],
        "usr/lib/x86_64-linux-gnu/libmpich.so.12",
        "mpich",
        "usr/bin/mpirun.mpich",
    ),
    "a link to another installation": (
        [
            "usr/bin/mpirun=old",
            "opt/mpi/bin/mpirun=ompi",
            "usr/lib/x86_64-linux-gnu/libmpi.so.40->opt/mpi/lib/libmpi.so.40",
        ],
        "usr/lib/x86_64-linux-gnu/libmpi.so.40",
        "ompi",
        "opt/mpi/bin/mpirun",
    ),
    "a view of links": (
        ["packages/mpi/bin/mpirun=ompi", "view/bin->packages/mpi/bin", "view/lib->packages/mpi/lib"],
        "view/lib/libmpi.so.40",
        "ompi",
        "view/bin/mpirun",
    ),
    "an environment of conda": (
        ["conda/bin/mpirun=old", "conda/envs/one/bin/mpirun=ompi"],
        "conda/envs/one/lib/libmpi.so.40",
        "ompi",
        "conda/envs/one/bin/mpirun",
    ),
    "no launcher": (["opt/mpi/bin/mpirun=mpich"], "opt/mpi/lib/libmpi.so.40", "ompi", None),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_launcher_of_a_library(layout, tmp_path):
    things, library, family, expected = LAYOUTS[layout]
    for thing in things:
        link, arrow, target = thing.partition("->")
        path = tmp_path / thing.replace("->", "=").partition("=")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        if arrow:
            path.symlink_to(tmp_path / target)
        else:
            path.write_text(f"#!/bin/sh\necho '{_SAYS[thing.partition('=')[2]]}'\n")
            path.chmod(0o755)
    file = tmp_path / library
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    found = mpi.beside(tmp_path / library, family)
    assert (found and str(found.launcher.relative_to(tmp_path))) == expected


_MAIN = """
  integer :: rank, ranks, total
  call MPI_Init(ranks)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ranks)
  call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ranks)
  if (rank == 0) print '(A, I0)', 'sum ', total - 2
  call MPI_Finalize(ranks)
end program
"""


@pytest.fixture(params=["openmpi", "mpich"])
def vendor(request) -> str:
    if not (shutil.which(f"mpicc.{request.param}") and shutil.which(f"mpif90.{request.param}")):
        pytest.skip(f"no compilers of the system's {request.param}: scripts/setup installs them where there is apt-get")
    return request.param


@pytest.mark.parametrize("language", ["c", "f90"])
@pytest.mark.parametrize("path", [None, "/bin:/usr/bin"], ids=["own PATH", "/bin first"])
def test_a_program_of_the_systems_compilers(vendor, language, path, tmp_path):
    """Its library lies in /lib, which is a link to /usr/lib: the launcher is not to be started as /bin/mpirun."""
    source = ROOT / "tests/programs/exits.c"
    if language == "f90":
        source = tmp_path / "exits.f90"
        source.write_text("program exits\n  use mpi\n  implicit none\n" + _MAIN)
    compiler = f"mpi{'cc' if language == 'c' else 'f90'}.{vendor}"
    subprocess.run([compiler, "-w", str(source), "-o", "a.out"], cwd=tmp_path, check=True, timeout=60)
    environment = {**os.environ, **YIELDING, **({"PATH": path} if path else {})}
    done = subprocess.run(
        [sys.executable, "-m", "omnes", "run", "-n", "2", "--stats-json", "stats.json", "./a.out"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "sum 1"), done.stderr
    [entry] = json.loads((tmp_path / "stats.json").read_text())["entries"]
    assert (entry["operation"], entry["calls"]) == ("allreduce", 2)


@pytest.mark.skipif(not Path("/bin").is_symlink(), reason="/bin is no link here")
def test_slash_is_no_prefix(vendor):
    asked = [f"/bin/mpirun.{vendor}", f"mpirun.{vendor}"]
    found = [mpi.at(place, {"PATH": "/bin:/usr/bin"}) for place in asked]
    found += [mpi.beside(Path("/lib/libmpi.so"), "ompi" if vendor == "openmpi" else "mpich")]
    assert {str(one.prefix) for one in found} == {"/usr"}
