"""Control groups that limit CPU time, as containers do: who waits leaves the time to those that compute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launching import compile_c, the_mpi

_MOUNT = Path("/sys/fs/cgroup")
_PERIOD = 100_000  # microseconds


def _make_group(cpus: float) -> Path:
    """A new control group of so much CPU time; OSError where that is not allowed."""
    unified = (_MOUNT / "cgroup.controllers").exists()  # version 2
    group = (_MOUNT if unified else _MOUNT / "cpu") / f"omnes-test-{os.getpid()}"
    group.mkdir()
    quota = int(cpus * _PERIOD)
    try:
        if unified:
            (group / "cpu.max").write_text(f"{quota} {_PERIOD}")
        else:
            (group / "cpu.cfs_quota_us").write_text(str(quota))
    except OSError:
        group.rmdir()
        raise
    return group


@pytest.fixture
def of_one_cpu():
    """of_one_cpu(words...): a command's output, run where it may use as much time as one CPU has."""
    try:
        group = _make_group(1)
    except OSError as fault:
        pytest.skip(f"no control group may be made here: {fault}")

    def run(*words: object) -> str:
        enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        command = ["sh", "-c", enter, str(group), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    yield run
    group.rmdir()


def test_are_found(of_one_cpu):
    assert of_one_cpu(sys.executable, "-c", "from omnes import _core; print(_core.cpu_quota())") == "1.0\n"
    assert "a limit of the control group allows 1" in of_one_cpu(sys.executable, "-m", "omnes", "doctor", "--json")


@pytest.mark.parametrize("ranks", [1, 2])
def test_ranks_take_turns(of_one_cpu, tmp_path, ranks):
    """Two ranks, though each could have a CPU."""
    open_mpi = the_mpi("openmpi")
    program = compile_c(Path(__file__).parent / "programs/varied.c", open_mpi, tmp_path)
    profile = tmp_path / "profile.json"
    run = (sys.executable, "-m", "omnes", "run", "-n", ranks, "--mpirun", open_mpi.launcher, "--profile", profile)
    of_one_cpu(*run, program)
    assert json.loads(profile.read_text())["share_cpus"] == (ranks > 1)


def test_an_mpi_that_spins_is_told_to_yield(of_one_cpu):
    mpich = the_mpi("mpich")
    for ranks in (1, 2):
        run = (sys.executable, "-m", "omnes", "run", "-n", ranks, "--mpirun", mpich.launcher, "--dry-run", "true")
        assert ("MPIR_CVAR_CH4_PROGRESS_THROTTLE" in of_one_cpu(*run)) == (ranks > 1)
