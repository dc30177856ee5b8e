"""Nonblocking and persistent collectives among all that programs do meanwhile, and the lives of communicators."""

from __future__ import annotations

import json

import pytest

from launching import TRANSPORTS, expect_ok, mpirun
from omnes import _core


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nonblocking(mpi, build, transport):
    expect_ok(mpirun(mpi, 4, build("nonblocking", mpi), variables=TRANSPORTS[transport]))


def test_progress_inside_functions_of_the_host(mpi, build):
    expect_ok(mpirun(mpi, 4, build("nonblocking", mpi), "inside_dup"))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_with_a_thread_that_progresses(mpi, build, transport):
    variables = {"OMNES_ASYNC": "1", **TRANSPORTS[transport]}
    for program in ["nonblocking", "persistent"]:
        expect_ok(mpirun(mpi, 3, build(program, mpi), variables=variables))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_persistent(mpi, build, transport):
    expect_ok(mpirun(mpi, 3, build("persistent", mpi), variables=TRANSPORTS[transport]))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_small_contributions_that_end_with_the_call(mpi, build, transport):
    expect_ok(mpirun(mpi, 4, build("forgiven", mpi), variables=TRANSPORTS[transport]))


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_all_forms_of_few_and_many(mpi, build, ranks):
    expect_ok(mpirun(mpi, ranks, build("nonblocking", mpi)))
    expect_ok(mpirun(mpi, ranks, build("persistent", mpi), "100"))


def test_all_forms_are_served(mpi, build, tmp_path):
    for program in ["nonblocking", "persistent"]:
        expect_ok(mpirun(mpi, 3, build(program, mpi), variables={"OMNES_STATS": str(tmp_path)}))
        assert json.loads((tmp_path / "rank-1.json").read_text())["passed"] == []


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_communicators_leave_nothing_behind(mpi, build, transport):
    expect_ok(mpirun(mpi, 3, build("lifetimes", mpi), "600", variables=TRANSPORTS[transport]))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_communicators_made_again(mpi, build, transport):
    expect_ok(mpirun(mpi, 3, build("remade", mpi), variables=TRANSPORTS[transport]))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_blocking_calls_left_to_the_host(mpi, build, tmp_path, transport):
    """Operations under way go on while it waits; to an MPI that would stop them nothing is left."""
    left = {f"OMNES_{operation.upper()}": "host" for operation in _core.operations()}
    variables = {**TRANSPORTS[transport], **left, "OMNES_STATS": str(tmp_path)}
    expect_ok(mpirun(mpi, 4, build("nonblocking", mpi), variables=variables))
    report = json.loads((tmp_path / "rank-1.json").read_text())
    passed = {(entry["operation"], entry["form"], entry["reason"]) for entry in report["passed"]}
    served = {entry["operation"] for entry in report["entries"] if entry["form"] == "blocking"}
    if mpi.family == "ompi":
        assert ("barrier", "blocking", "left to the MPI by OMNES_BARRIER") in passed and not served
    else:
        assert "barrier" in served and not passed
    expect_ok(mpirun(mpi, 3, build("movement", mpi), "100", variables=variables))


def test_a_wrong_info_key_is_an_error(mpi, build):
    run = mpirun(mpi, 2, build("info_key", mpi))
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("omnes_allreduce: ")
    assert '"rign"' in run.stdout
    assert "all_to_all" in run.stdout and "omnes list" in run.stdout  # what is valid
