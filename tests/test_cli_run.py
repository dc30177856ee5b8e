"""omnes run: finds the MPI, builds the command line, passes signals and exit codes, says in one line what is wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from cli import fails, omnes
from launching import LIMIT, YIELDING, the_mpi
from omnes import cpus, libraries


def run_cli(*words, environment=None, timeout=LIMIT):
    """The real command in its own process."""
    return subprocess.run(
        [sys.executable, "-m", "omnes", *map(str, words)],
        env={**os.environ, **YIELDING, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def dry_run(*words):
    """The command line that would be run."""
    result = omnes("run", "--dry-run", *map(str, words))
    assert result.exit_code == 0, result.output
    return shlex.split(result.output.strip().splitlines()[-1])


def test_the_program_decides_the_mpi(build, mpi):
    program = build("exits", mpi)
    words = dry_run("-n", 2, program, "3", "-n", "7")
    assert os.path.dirname(words[0]) == str(mpi.launcher.parent)
    assert words[-4:] == [str(program), "3", "-n", "7"]
    assert str(libraries.path(mpi.family)) in " ".join(words)
    assert "LD_PRELOAD" not in " ".join(dry_run("--no-omnes", "-n", 2, program))


def test_flags_only_where_needed(build, mpi):
    program = build("exits", mpi)
    few, many = dry_run("-n", 1, program), dry_run("-n", cpus.usable_cores() + 1, program)
    assert "--oversubscribe" not in few
    assert ("--oversubscribe" in many) == mpi.open_mpi
    assert ("--allow-run-as-root" in few) == (mpi.open_mpi and os.geteuid() == 0)
    if mpi.open_mpi:
        assert "--oversubscribe" not in dry_run(
            "-n", cpus.usable_cores() + 1, "--map-by", "slot:OVERSUBSCRIBE", program
        )


def test_ranks_that_share_cpus_yield(build, mpi, monkeypatch):
    program, many = build("exits", mpi), cpus.usable_cpus() + 1
    variable = "MPIR_CVAR_CH4_PROGRESS_THROTTLE"
    assert (f"-genv {variable} 1" in " ".join(dry_run("-n", many, program))) == (not mpi.open_mpi)
    for few in (dry_run("-n", 1, program), dry_run("--no-omnes", "-n", many, program)):
        assert variable not in few
    monkeypatch.setenv(variable, "0")  # the user's own
    assert variable not in dry_run("-n", many, program)


def test_ranks_that_share_cpus_are_in_one_session(mpi, tmp_path):
    """Linux may pass the CPU on among the processes of a session only."""
    ranks = cpus.usable_cpus() + 1
    done = run_cli(
        "run", "--mpirun", mpi.launcher, "-n", ranks, "sh", "-c", f"cut -d' ' -f5,6 /proc/$$/stat > {tmp_path}/$$"
    )
    assert done.returncode == 0, done.stderr
    groups, sessions = zip(*(file.read_text().split() for file in tmp_path.iterdir()), strict=True)
    assert (len(sessions), len(set(sessions)), len(set(groups))) == (ranks, 1, ranks)


def test_an_allocation_says_how_many_ranks_there_are(build, mpi, monkeypatch):
    for name in ("SLURM_JOB_ID", "PRTE_MCA_prte_default_hostfile"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert "--oversubscribe" not in dry_run("-n", cpus.usable_cores() + 1, build("exits", mpi))


def test_srun_as_the_launcher(build, mpi, tmp_path):
    """A stand-in that starts one rank, as srun does after its own options."""
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\n[ "$1" != --version ] || exec echo slurm 22.05.8\nshift 5\nexec "$@"\n')
    srun.chmod(0o755)
    file = tmp_path / "stats.json"
    words = ["--stats-json", file, "--mpirun", srun, "-N", 1, "-n", 1, "--mpi=pmix", build("exits", mpi), "7"]
    done = run_cli("run", *words)
    assert (done.returncode, done.stdout) == (7, "sum 0 \n"), done.stderr
    assert json.loads(file.read_text())["ranks"] == 1


def test_settings_reach_the_ranks(build, mpi, monkeypatch):
    monkeypatch.setenv("OMNES_BCAST", "knomial:k=4")
    monkeypatch.setenv("OMNES_IBCAST", "chain")
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    words = " ".join(dry_run("-n", 2, build("exits", mpi)))
    assert re.search(r"OMNES_BCAST[= ]knomial:k=4", words) and re.search(r"OMNES_IBCAST[= ]chain", words)
    assert re.search(r"LD_PRELOAD[= ]\S*libomnes-\w+\.so:libm\.so\.6", words)


def test_unknown_options_go_to_the_launcher(build, mpi):
    words = dry_run("-n", 2, "--timeout", "9", "--", build("exits", mpi), "--stats")
    assert words[words.index("--timeout") + 1] == "9" and words[-1] == "--stats"


def test_python_programs_use_what_mpi4py_loads():
    words = dry_run("-n", 2, sys.executable, "script.py")
    assert words[0].startswith(sys.prefix) and words[-2:] == [sys.executable, "script.py"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "no program given"),
        (("-n", "2", "./nothing-here"), "program ./nothing-here not found: no such file"),
        (("-n", "2", "nothing-here"), "program nothing-here not found: not in PATH"),
        (("-n", "2", "/bin/true"), r"no MPI program: /bin/true needs no libmpi, only libc.so.6"),
        (("-n", "2", __file__), "is not executable"),
        (("--mpirun", "/dev", "/bin/true"), "no mpirun or mpiexec of a known MPI in /dev/bin or /dev"),
        (("--no-omnes", "--stats", "/bin/true"), "there are no statistics"),
    ],
)
def test_errors_are_one_line(words, complaint):
    assert complaint in fails("run", "--dry-run", *words)


def test_the_wrong_launcher_is_refused(build, mpi):
    other = "mpich" if mpi.open_mpi else "openmpi"
    message = fails("run", "--mpirun", str(the_mpi(other).launcher), "-n", "2", str(build("exits", mpi)))
    assert f"which is of family {mpi.family}" in message


def test_statistics_and_exit_code(build, mpi, tmp_path):
    file = tmp_path / "stats.json"
    done = run_cli("run", "-n", 3, "--stats", "--stats-json", file, build("exits", mpi), "7", "a b")
    assert (done.returncode, done.stdout) == (7, "sum 3 a b\n")
    report = json.loads(file.read_text())
    [entry] = report["entries"]
    assert (report["ranks"], entry["operation"], entry["bytes"], entry["calls"]) == (3, "allreduce", 4, 3)
    assert entry["algorithm"] in done.stderr and entry["form"] == "blocking"


def test_forms_are_reported_and_forced_apart(build, mpi, tmp_path):
    """persistent.c has persistent operations, and ends with a blocking MPI_Allreduce."""
    file = tmp_path / "stats.json"
    forced = {"OMNES_ALLREDUCE": "linear", "OMNES_IALLREDUCE": "recursive_doubling", "OMNES_BCAST": "binary"}
    program = build("persistent", mpi)
    done = run_cli("run", "-n", 3, "--stats", "--stats-json", file, program, environment=forced)
    assert done.returncode == 0, done.stderr
    ran = {}
    for entry in json.loads(file.read_text())["entries"]:
        ran.setdefault((entry["operation"], entry["form"]), set()).add(entry["algorithm"])
    assert ran["allreduce", "blocking"] == {"linear"}
    assert ran["allreduce", "persistent"] == {"recursive_doubling"}
    assert ran["bcast", "persistent"] == {"binary"}
    assert re.search(r"bcast +│ persistent +│", done.stderr)


@pytest.mark.parametrize(
    ("variable", "value", "complaints"),
    [
        ("OMNES_IALLREDUCE", "nonsense", ['no algorithm "nonsense"', "recursive_doubling"]),
        ("OMNES_MACHINE", __file__, [f"{__file__}: machine file: line 1"]),
    ],
)
def test_a_wrong_setting_is_told(build, variable, value, complaints):
    mpi = the_mpi("openmpi")  # MPICH leaves its shared memory behind when it aborts
    done = run_cli("run", "-n", 2, build("exits", mpi), environment={variable: value})
    assert done.returncode != 0 and f"{variable}: " in done.stderr
    assert all(complaint in done.stderr for complaint in complaints), done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_job(build, mpi, number):
    process = subprocess.Popen(
        [sys.executable, "-m", "omnes", "run", "-n", "2", str(build("waits", mpi))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(LIMIT) != 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
