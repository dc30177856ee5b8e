"""MPI's progress rule: what ranks have started goes on while they block elsewhere, on every MPI, by every transport."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from launching import TRANSPORTS, compile_c, compile_once, expect_ok, mpirun, the_mpi
from omnes.launching import mpi as mpis

THREADS = {"without": {}, "of-the-program": {"TEST_THREADS": "1"}, "of-omnes": {"OMNES_ASYNC": "1"}}
# In these a stock MPICH itself stops.
BEYOND_STOCK = ["intercomm_create", "lock", "post"]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_inside_functions_of_the_host(mpi, build, transport, threads):
    expect_ok(mpirun(mpi, 4, build("inside", mpi), variables={**TRANSPORTS[transport], **THREADS[threads]}))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_where_few_hosts_progress(build, transport):
    open_mpi = the_mpi("openmpi")
    expect_ok(mpirun(open_mpi, 4, build("inside", open_mpi), *BEYOND_STOCK, variables=TRANSPORTS[transport]))


@pytest.fixture
def on_debians_mpich(programs):
    """on_debians_mpich(name): its launcher, and tests/programs/NAME.c compiled for it."""
    launcher, compiler = shutil.which("mpiexec.mpich"), shutil.which("mpicc.mpich")
    if not launcher or not compiler:
        pytest.skip("no mpicc.mpich: scripts/setup installs it where there is apt-get")

    def compiled(name):
        source = Path(__file__).parent / f"programs/{name}.c"
        program = compile_once(programs / f"{name}-debian-mpich", [compiler, "-O1", "-w", source])
        return mpis.identify(Path(launcher)), program

    return compiled


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_hosts_without_a_hook(on_debians_mpich, transport):
    """MPICH before 4.3: a thread moves what lies in shared memory, and the host serves what needs more."""
    mpich, program = on_debians_mpich("inside")
    expect_ok(mpirun(mpich, 4, program, variables=TRANSPORTS[transport], timeout=120))


@pytest.mark.parametrize("transport", ["shared", "messages"])
def test_the_standard_abi(programs, transport):
    mpich = the_mpi("mpich")
    program = compile_c(Path(__file__).parent / "programs/inside.c", mpich, programs, standard_abi=True)
    expect_ok(mpirun(mpich, 4, program, variables=TRANSPORTS[transport]))


def test_beside_processes_that_are_started(build):
    open_mpi = the_mpi("openmpi")  # MPICH's transport complains of children that end at once
    expect_ok(mpirun(open_mpi, 4, build("inside", open_mpi), "spawn"))


@pytest.mark.parametrize("bytes_of_one", [8, 65536])
def test_attached_buffers_come_free(mpi, build, bytes_of_one):
    """What was received before a barrier has left the buffer after it."""
    expect_ok(mpirun(mpi, 2, build("buffered", mpi), str(bytes_of_one)))


@pytest.mark.parametrize("threads", ["without", "of-omnes"])
def test_ranks_that_share_a_cpu_take_turns_in_messages(mpi, build, threads):
    expect_ok(mpirun(mpi, 4, build("turns", mpi), variables=THREADS[threads], timeout=60))


@pytest.mark.parametrize("ranks", [2, 4])
def test_files_are_waited_for_beside_a_collective(mpi, build, tmp_path, ranks):
    expect_ok(mpirun(mpi, ranks, build("file_requests", mpi), str(tmp_path / "file")))


@pytest.mark.parametrize("ranks", [2, 4])
def test_files_of_a_host_that_polls_their_requests(on_debians_mpich, tmp_path, ranks):
    """MPICH 4.0 ends the job when MPI_Testall meets one that is over, but not in MPI_Waitall."""
    mpich, program = on_debians_mpich("file_requests")
    expect_ok(mpirun(mpich, ranks, program, str(tmp_path / "file")))


def test_messages_that_are_replaced_beside_an_operation(mpi, build):
    expect_ok(mpirun(mpi, 2, build("replaced", mpi), timeout=60))


def test_errors_of_messages_that_are_waited_for_beside_an_operation(build):
    mpich = the_mpi("mpich")
    expect_ok(mpirun(mpich, 2, build("waited_errors", mpich), timeout=60))


def test_messages_of_a_host_that_packs_nothing_at_bottom(on_debians_mpich):
    mpich, program = on_debians_mpich("replaced")
    expect_ok(mpirun(mpich, 3, program, timeout=60))


def test_ranks_find_each_other_inside_the_host(mpi, build):
    expect_ok(mpirun(mpi, 3, build("found_inside", mpi), timeout=60))


def test_ranks_find_each_other_inside_a_host_without_a_hook(on_debians_mpich):
    mpich, program = on_debians_mpich("found_inside")
    expect_ok(mpirun(mpich, 3, program, timeout=60))


@pytest.mark.parametrize("ranks", [3, 4])
def test_groups_are_duplicated_beside_an_operation_between_them(mpi, build, ranks):
    expect_ok(mpirun(mpi, ranks, build("idup_between", mpi), timeout=60))


def test_progress_completes_requests(build):
    mpich = the_mpi("mpich")
    expect_ok(mpirun(mpich, 3, build("complete_by_progress", mpich), timeout=60))


@pytest.mark.parametrize("transport", ["shared", "messages"])
def test_one_sided_functions_wait_beside_an_operation(mpi, build, transport):
    expect_ok(mpirun(mpi, 2, build("inside_one_sided", mpi), variables=TRANSPORTS[transport], timeout=60))


@pytest.mark.parametrize("where", ["messages", "inside"])
def test_a_host_that_spins_lets_others_run(on_debians_mpich, where):
    """MPICH before 4.3 keeps its CPU for most of a time slice: without omnes these take a minute."""
    mpich, program = on_debians_mpich("turns")
    expect_ok(mpirun(mpich, 4, program, where, timeout=30))
