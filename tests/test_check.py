"""OMNES_CHECK: what a program does wrong is told in one line, and what it does right is not."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from launching import LIMIT, ROOT, compile_once, expect_ok, mpirun, the_mpi
from omnes.launching import mpi as mpis

SOURCE = ROOT / "tests/programs/checked.c"
RANKS = 3

# What the line has to say, beside where the calls are.
FATAL = {
    "root": ["different roots", "ranks 0 and 1 call MPI_Bcast (root 0, 16 bytes of 4-byte integers)",
             "rank 2 calls MPI_Bcast (root 1,"],
    "count": ["different counts", "MPI_Allreduce (MPI_SUM, 16 bytes", "rank 2 calls MPI_Allreduce (MPI_SUM, 20 bytes"],
    "type": ["different datatypes", "4-byte integers", "rank 2 calls MPI_Bcast (root 0, 16 bytes of 4-byte floating"],
    "op": ["different reductions", "MPI_Reduce (root 0, MPI_SUM", "rank 2 calls MPI_Reduce (root 0, MPI_MAX"],
    "order": ["different operations", "ranks 0 and 1 call MPI_Bcast", "rank 2 calls MPI_Barrier"],
    "form": ["different operations", "ranks 0 and 1 call MPI_Allreduce", "rank 2 calls MPI_Iallreduce"],
    "part": ["different counts or datatypes: rank 2 (MPI_Alltoallv at", "sends 8 bytes to rank 0",
             "receives 4 bytes from it"],
    "gathered": ["rank 2 (MPI_Gatherv at", "sends 8 bytes to rank 0", "receives 4 bytes from it"],
    "own": ["different counts or datatypes: rank 2 (MPI_Allgather at", "sends 4 bytes to itself",
            "receives 8 bytes from itself"],
    "own_type": ["rank 2 (MPI_Allgather at", "sends 8 bytes to itself", "receives 8 bytes of other types from itself"],
    "own_part": ["rank 2 (MPI_Allgatherv at", "sends 12 bytes to itself", "receives 8 bytes from itself"],
    "own_of_all": ["rank 2 (MPI_Alltoall at", "sends 4 bytes to itself", "receives 8 bytes from itself"],
    "between": ["different roots", "an intercommunicator of ranks 0 and 1 with rank 2:",
                "rank 0 calls MPI_Bcast (root MPI_PROC_NULL)", "rank 1 calls MPI_Bcast (root MPI_ROOT, 16 bytes",
                "rank 2 calls MPI_Bcast (root 0 of the other group, 16 bytes"],
    "between_counts": ["different counts", "ranks 0 and 1 call MPI_Allreduce (MPI_SUM, 16 bytes",
                       "rank 2 calls MPI_Allreduce (MPI_SUM, 20 bytes"],
    "between_ops": ["different reductions", "ranks 0 and 1 call MPI_Allreduce (MPI_SUM",
                    "rank 2 calls MPI_Allreduce (MPI_MAX"],
    "between_order": ["different operations", "ranks 0 and 1 call MPI_Barrier", "rank 2 calls MPI_Allreduce"],
    "between_parts": ["different counts or datatypes", "sends 8 bytes to rank 2", "rank 2 (MPI_Allgather at",
                      "receives 4 bytes from it"],
    "split": ["different operations", "ranks 0 and 1 call MPI_Comm_split", "rank 2 calls MPI_Barrier"],
    "finalize": ["different operations", "ranks 0 and 1 call MPI_Allreduce", "rank 2 calls MPI_Finalize"],
}  # fmt: skip
# As above, in calls that the program has made before.
FATAL_AGAIN = {
    "root": ["different roots", "ranks 0 and 1 call MPI_Bcast (root 0,", "rank 2 calls MPI_Bcast (root 2,"],
    "type": ["different datatypes", "16 bytes of 4-byte integers", "16 bytes of 4-byte floating-point numbers"],
    "op": ["different reductions", "ranks 0 and 1 call MPI_Allreduce (MPI_SUM", "rank 2 calls MPI_Allreduce (MPI_MAX"],
    "order": ["different operations", "ranks 0 and 1 call MPI_Bcast (root 0,", "rank 2 calls MPI_Allreduce (MPI_SUM,"],
}
TOLD = {
    "changed": ["rank 2: the send buffer of MPI_Iallreduce", "was changed before the operation was completed"],
    "restarted": ["rank 2: the send buffer of MPI_Allreduce_init", "was changed before the operation was completed"],
    "overlap": ["rank 2: the send and the receive buffer of MPI_Allgather", "overlap, and MPI_IN_PLACE is not given"],
    "shared": ["rank 2: the receive buffer of MPI_Iallreduce", "of MPI_Ibcast, which is under way"],
    "late": [
        "rank 2 has not reached MPI_Ibarrier, call no. 2 on MPI_COMM_WORLD",
        "is in no call that omnes sees",
    ],
}


@pytest.fixture(scope="module")
def checked(mpi, programs):
    """The program, with the debugging information that names lines."""
    words = [mpi.compiler(), "-g", "-O1", "-Wall", SOURCE, "-lm"]
    return compile_once(programs / f"checked-{mpi.family}", words)


def lines(run) -> list[str]:
    return told(run.stderr)


def told(output: str) -> list[str]:
    """Not of the first call: on a busy machine ranks may come late by themselves."""
    found = [line for line in output.splitlines() if "omnes: check:" in line]
    return [line for line in found if "MPI_Barrier, call no. 1 on" not in line]


def places(fault: str) -> list[str]:
    """Where the source says that a line has to point."""
    source = SOURCE.read_text().splitlines()
    found = [number for number, line in enumerate(source, 1) if line.endswith(f"// HERE {fault}")]
    assert found
    return [f"checked.c:{number}" if shutil.which("addr2line") else "checked-" for number in found]


@pytest.mark.parametrize("fault", FATAL)
def test_ranks_that_disagree_end_the_job(mpi, checked, fault):
    run = mpirun(mpi, RANKS, checked, fault, variables={"OMNES_CHECK": "1"})
    assert run.returncode != 0
    [line] = lines(run)
    for text in [*FATAL[fault], *places(fault)]:
        assert text in line, line


@pytest.mark.parametrize("fault", FATAL_AGAIN)
def test_ranks_that_disagree_about_repeated_calls_end_the_job(mpi, checked, fault):
    run = mpirun(mpi, RANKS, checked, f"again-{fault}", variables={"OMNES_CHECK": "1"})
    assert run.returncode != 0
    [line] = lines(run)
    for text in [
        "call no. 102 on MPI_COMM_WORLD",
        *FATAL_AGAIN[fault],
        places("added" if fault == "op" else "repeated")[0],
    ]:
        assert text in line, line


@pytest.mark.parametrize("fault", TOLD)
def test_other_faults_are_told_and_the_job_goes_on(mpi, checked, fault):
    variables = {"OMNES_CHECK": "1", **({"OMNES_CHECK_TIMEOUT": "1"} if fault == "late" else {})}
    run = mpirun(mpi, RANKS, checked, fault, variables=variables)
    expect_ok(run)
    [line] = lines(run)
    for text in [*TOLD[fault], *places(fault)]:
        assert text in line, line


def test_a_rank_that_never_comes_is_named(mpi, checked):
    variables = {"OMNES_CHECK": "1", "OMNES_CHECK_TIMEOUT": "1"}
    for seconds in (5, 25, 100):  # a busy machine takes longer to come there
        with pytest.raises(subprocess.TimeoutExpired) as hanging:
            mpirun(mpi, RANKS, checked, "missing", variables=variables, timeout=seconds)
        if found := told(_text(hanging.value.stderr)):
            break
    [line] = found
    assert "rank 2 has not reached MPI_Allreduce, call no. 2 on MPI_COMM_WORLD" in line
    assert "rank 2 is in MPI_Recv since" in line and places("missing")[0] in line


def _text(output) -> str:
    return output.decode() if isinstance(output, bytes) else output or ""


@pytest.mark.parametrize("check", ["1", "results"])
@pytest.mark.parametrize("transport", ["auto", "mpi"])
def test_what_is_allowed_is_not_told(mpi, checked, check, transport):
    run = mpirun(mpi, 4, checked, "allowed", variables={"OMNES_CHECK": check, "OMNES_TRANSPORT": transport})
    assert (run.returncode, run.stdout, lines(run)) == (0, "OK\n", []), run.stdout + run.stderr


def test_results_that_differ_are_told(mpi, checked):
    """Which operands are combined first decides what such an operation gives: by two algorithms, two results."""
    found = []
    for algorithm in ("ring", "recursive_doubling", "linear"):
        variables = {"OMNES_CHECK": "results", "OMNES_ALLREDUCE": algorithm}
        run = mpirun(mpi, 4, checked, "results", variables=variables)
        expect_ok(run)
        found += lines(run)
    assert found
    pattern = (
        r"rank \d: the result of MPI_Allreduce, call no. 2 on MPI_COMM_WORLD \(\S+\) by \S+ is not that of the MPI"
    )
    assert all(re.search(pattern + r": element 0 is -?\d+ instead of -?\d+$", line) for line in found), found


@pytest.mark.parametrize("check", ["1", "results"])
@pytest.mark.parametrize("program", ["movement", "reductions", "nonblocking", "persistent", "types", "dups", "between"])
def test_correct_programs_run_as_ever(mpi, build, program, check):
    """The library's own tests of results."""
    words = [build(program, mpi), *(["100"] if program in ("movement", "reductions") else [])]
    run = mpirun(mpi, 3, *words, variables={"OMNES_CHECK": check})
    assert (run.returncode, run.stdout, lines(run)) == (0, "OK\n", []), run.stdout + run.stderr


@pytest.mark.parametrize("program", ["errors", "aliased"])
def test_errors_are_the_stock_ones(mpi, build, program):
    """Also where the MPI makes each call, too."""
    stock = mpirun(mpi, 2, build(program, mpi), with_omnes=False)
    run = mpirun(mpi, 2, build(program, mpi), variables={"OMNES_CHECK": "results"})
    assert (run.returncode, run.stdout) == (0, stock.stdout), run.stdout + run.stderr


@pytest.mark.parametrize("case", ["memory", "error", "thread", "late"])
def test_what_the_mpi_makes_holds_nothing_up(mpi, build, case):
    if case == "late" and mpi.family == "ompi":
        pytest.skip("it cannot free a communicator while a nonblocking operation is under way on it")
    run = mpirun(mpi, 2, build("twins", mpi), case, variables={"OMNES_CHECK": "results"}, timeout=100)
    assert (run.returncode, run.stdout, lines(run)) == (0, "OK\n", []), run.stdout + run.stderr


@pytest.mark.parametrize("check", ["1", "results"])
def test_ranks_need_not_agree_on_what_is_revoked(build, check):
    openmpi = the_mpi("openmpi")
    program, options = build("revoked_world", openmpi), ("--with-ft", "ulfm")
    run = mpirun(openmpi, 3, program, variables={"OMNES_CHECK": check}, options=options)
    assert (run.returncode, run.stdout, lines(run)) == (0, "OK\n", []), run.stdout + run.stderr


@pytest.mark.parametrize("how", ["nonblocking", "persistent"])
def test_what_has_failed_is_not_under_way(build, how):
    openmpi = the_mpi("openmpi")
    options = ("--with-ft", "ulfm")
    run = mpirun(openmpi, 4, build("survivors", openmpi), how, variables={"OMNES_CHECK": "1"}, options=options)
    assert run.stdout.strip().endswith("OK") and lines(run) == [], run.stdout + run.stderr


def test_wrong_values_are_errors(mpi, checked):
    for variable, valid in (("OMNES_CHECK=2", "0, 1, results"), ("OMNES_CHECK_TIMEOUT=0", "1 to 604800")):
        run = mpirun(mpi, 1, checked, "allowed", variables=dict([variable.split("=")]))
        assert run.returncode != 0 and variable.split("=")[0] in run.stderr and valid in run.stderr, run.stderr


def ended_by_check(system, ranks: int, *words) -> subprocess.CompletedProcess[str]:
    """On Debian's Open MPI, whose mpirun may wait for itself when ranks have aborted (in PMIx_server_finalize)."""
    for _ in range(2):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return mpirun(system, ranks, *words, variables={"OMNES_CHECK": "1"}, timeout=30)
    return mpirun(system, ranks, *words, variables={"OMNES_CHECK": "1"})


@pytest.mark.skipif(not Path("/usr/bin/mpicc.openmpi").exists(), reason="no Open MPI of the system's")
def test_the_systems_open_mpi(tmp_path):
    system = mpis.at("/usr/bin/mpirun.openmpi", os.environ)
    program = tmp_path / "checked"
    subprocess.run(["mpicc.openmpi", "-g", str(SOURCE), "-o", str(program)], check=True, timeout=LIMIT)
    run = ended_by_check(system, RANKS, program, "root")
    assert run.returncode != 0 and FATAL["root"][0] in "".join(lines(run)), run.stderr
    run = mpirun(system, 4, program, "allowed", variables={"OMNES_CHECK": "results"})
    assert (run.returncode, run.stdout, lines(run)) == (0, "OK\n", []), run.stdout + run.stderr


@pytest.mark.skipif(not shutil.which("mpif90.openmpi"), reason="no Open MPI with Fortran of the system's")
def test_lines_of_fortran(tmp_path):
    """MPI's own functions of Fortran lie between the program and ours."""
    source = ROOT / "tests/programs/fortran/disagree.f90"
    subprocess.run(["mpif90.openmpi", "-g", str(source), "-o", str(tmp_path / "disagree")], check=True, timeout=LIMIT)
    system = mpis.at("/usr/bin/mpirun.openmpi", os.environ)
    run = ended_by_check(system, 2, tmp_path / "disagree")
    assert run.returncode != 0
    [line] = lines(run)
    assert "different roots" in line
    if shutil.which("addr2line"):
        assert "disagree.f90:9" in line, line
