"""MPI's interface for tools (MPI_T): the variables of omnes beside those of the MPI."""

from __future__ import annotations

import pytest

from launching import ROOT, TRANSPORTS, compile_c, expect_ok, mpirun


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_variables(mpi, build, transport):
    expect_ok(mpirun(mpi, 2, build("tools", mpi), variables=TRANSPORTS[transport]))


def test_variables_of_one_rank_and_of_the_standard_abi(mpi, build):
    expect_ok(mpirun(mpi, 1, build("tools", mpi)))
    if mpi.family == "mpich":
        expect_ok(mpirun(mpi, 2, build("tools", mpi, standard_abi=True)))


def test_switched_off_there_are_none(mpi, build):
    expect_ok(mpirun(mpi, 1, build("tools", mpi), "absent", variables={"OMNES_OFF": "1"}))


def test_those_of_the_mpi_are_all_there(mpi, build):
    stock, served = (mpirun(mpi, 1, build("tools", mpi), "list", with_omnes=one) for one in (False, True))
    assert stock.returncode == served.returncode == 0, stock.stderr + served.stderr
    assert len(stock.stdout.splitlines()) > 20
    assert stock.stdout == served.stdout


def test_the_example_of_the_document(mpi, tmp_path):
    section = (ROOT / "docs/operations.md").read_text().partition("## For tools\n")[2].partition("\n## ")[0]
    source = tmp_path / "example.c"
    source.write_text(section.partition("```c\n")[2].partition("```\n")[0])
    run = mpirun(mpi, 2, compile_c(source, mpi, tmp_path))
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout == "ring: 10 calls\n"
