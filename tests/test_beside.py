"""Beside omnes: tools that replace MPI's functions, debuggers, and Python that starts processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import LIMIT, ROOT, YIELDING, expect_ok, mpirun, the_mpi
from omnes.launching import linkage

PROGRAMS = Path(__file__).parent / "programs"
# Of tests/programs/counted.c.
CALLS = {"MPI_Init": 1, "MPI_Allreduce": 5, "MPI_Barrier": 2, "MPI_Wait": 1}


def omnes_run(*words, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "omnes", "run", *map(str, words)]
    environment = {**os.environ, **YIELDING, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"no {program} here")
    return found


def compile_library(source: str, mpi, folder: Path) -> Path:
    target = folder / "libtool.so"
    words = [mpi.compiler(), "-shared", "-fPIC", PROGRAMS / source, "-o", target]
    subprocess.run(list(map(str, words)), check=True, timeout=LIMIT)
    return target


def test_a_library_initialises_and_ends_mpi(mpi, tmp_path):
    """Its destructor makes the first collective calls after the program's own ones have run, and those of ours."""
    library, program = compile_library("ending_library.c", mpi, tmp_path), tmp_path / "program"
    words = [mpi.compiler(), PROGRAMS / "ended_by_library.c", library, f"-Wl,-rpath,{tmp_path}", "-o", program]
    subprocess.run(list(map(str, words)), check=True, timeout=LIMIT)
    done = mpirun(mpi, 2, program, timeout=60)
    assert done.returncode == 0 and done.stderr.endswith("OK\n"), done.stdout + done.stderr


@pytest.fixture
def tool(mpi, tmp_path) -> Path:
    return compile_library("counting_tool.c", mpi, tmp_path)


@pytest.mark.parametrize("name", ["by its path", "by its name"])
def test_a_profiling_tool_sees_the_programs_calls(build, mpi, tool, tmp_path, name):
    """It is called first, and what it calls runs on omnes."""
    told = {"LD_PRELOAD": str(tool)}
    if name == "by its name":
        folders = [str(tool.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        told = {"LD_PRELOAD": f"libm.so.6:{tool.name}", "LD_LIBRARY_PATH": ":".join(folders)}
    file = tmp_path / "stats.json"
    done = omnes_run("--stats-json", file, "--mpirun", mpi.launcher, "-n", 2, build("counted", mpi), **told)
    assert done.returncode == 0 and "OK" in done.stdout, done.stdout + done.stderr
    counted = re.findall(r"tool: rank (\d): (.*)", done.stdout)
    assert dict(counted) == {rank: ", ".join(f"{count} {of}" for of, count in CALLS.items()) for rank in "01"}
    stats = json.loads(file.read_text())
    assert stats["passed"] == [] and {"allreduce", "barrier", "bcast"} == {one["operation"] for one in stats["entries"]}


def test_tools_are_told_from_mpis_and_other_files(mpi, tool, tmp_path):
    assert linkage.replaces_mpi(tool)
    (tmp_path / "text").write_text("MPI_Init")
    (tmp_path / "short").write_bytes(tool.read_bytes()[:1000])
    others = [next(mpi.prefix.glob("lib/libmpi.so.*")), *(tmp_path / name for name in ("text", "short", "missing"))]
    assert [one for one in others if linkage.replaces_mpi(one)] == []


def test_a_debugger_stops_in_the_programs_calls(build, mpi, tmp_path):
    gdb = [needs("gdb"), "-nx", "-batch", "-iex", "set breakpoint pending on", "-iex", "set debuginfod enabled off"]
    orders = ["break MPI_Barrier", "run", "bt", "delete", "continue"]
    words = [*gdb, *(word for order in orders for word in ("-ex", order)), "--args", build("counted", mpi)]
    to_file = ["sh", "-c", 'exec "$@" >"$0.$$"', str(tmp_path / "rank")]  # one for each: launchers mix what ranks say
    done = omnes_run("--mpirun", mpi.launcher, "-n", 2, *to_file, *words)
    said = [file.read_text() for file in tmp_path.glob("rank.*")]
    assert done.returncode == 0 and len(said) == 2, done.stdout + done.stderr
    assert "OK\n" in "".join(said)
    for one in said:
        assert re.search(r"#0 .*MPI_Barrier.*libomnes-", one) and "exited normally" in one, one


@pytest.mark.parametrize("sanitizer", ["address", "undefined"])
def test_programs_of_sanitizers(mpi, tmp_path, sanitizer):
    """AddressSanitizer's library has to be loaded before all others."""
    program = tmp_path / "program"
    words = [mpi.compiler(), "-g", f"-fsanitize={sanitizer}", PROGRAMS / "counted.c", "-o", program]
    made = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=LIMIT, check=False)
    if made.returncode != 0:
        pytest.skip(f"no {sanitizer} sanitizer here")
    done = omnes_run("--mpirun", mpi.launcher, "-n", 2, program, ASAN_OPTIONS="detect_leaks=0")  # the MPI's own
    assert done.returncode == 0 and "OK" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("ranks", [2, 3])
def test_clocks_may_stand_still(build, mpi, tmp_path, ranks):
    """What a rank has begun goes on while it waits, though it cannot tell how long it has waited."""
    told = {"LD_PRELOAD": str(compile_library("still_clock.c", mpi, tmp_path))}
    done = omnes_run("--mpirun", mpi.launcher, "-n", ranks, build("progress", mpi), **told)
    assert done.returncode == 0 and "OK" in done.stdout, done.stdout + done.stderr


def under_valgrind(mpi, program: Path, folder: Path, *options: str) -> list[str]:
    """What valgrind complains of, a text for each, with the names of all functions and files on the way there."""
    valgrind = [needs("valgrind"), f"--log-file={folder}/%p", *options]
    done = omnes_run("--mpirun", mpi.launcher, "-n", 2, *valgrind, program)
    assert done.returncode == 0 and "OK" in done.stdout, done.stdout + done.stderr
    said = [re.sub(r"==\d+== ?", "", file.read_text()) for file in folder.iterdir()]
    assert len([one for one in said if "ERROR SUMMARY" in one]) == 2, said
    return [one for each in said for one in re.split(r"\n\n|---+", each) if re.search(r"\n +at 0x", one)]


def complains_of_omnes(what: str) -> bool:
    """Whether it is something that omnes does itself, or by a function of the C library."""
    frames = re.findall(r"\n +(?:at|by) 0x.*", what)
    return "libomnes-" in next((one for one in frames if not re.search(r"vgpreload_|libc\.so", one)), "")


def test_valgrind_ends_and_has_no_complaint(build, mpi, tmp_path):
    """Its search for leaks reads all memory that may be read, and must not find as much as the machine has."""
    complaints = under_valgrind(mpi, build("counted", mpi), tmp_path, "--leak-check=full")
    assert [one for one in complaints if complains_of_omnes(one)] == []


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
def test_races_that_are_none_are_suppressed(build, tmp_path, tool):
    mpi = the_mpi("mpich")  # beside which omnes has a thread of its own
    suppressions = ROOT / "share/valgrind/omnes.supp"
    words = [f"--tool={tool}", f"--suppressions={suppressions}"]
    complaints = under_valgrind(mpi, build("counted", mpi), tmp_path, *words)
    assert [one for one in complaints if complains_of_omnes(one)] == []


_PYTHON = """
import multiprocessing, subprocess, sys
import numpy as np

def child(number):
    return int(np.arange(number).sum())

def checked(bytes):
    mine = np.full(bytes // 8, comm.rank + 1, dtype="q")
    everyones = np.empty_like(mine)
    comm.Allreduce(mine, everyones)
    assert (everyones == comm.size * (comm.size + 1) // 2).all()

if __name__ == "__main__":  # children that import this again must not start MPI
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    for method in ("fork", "spawn", "forkserver"):
        checked(8)
        pending = comm.Ibarrier()
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.map_async(child, range(10))
            checked(1 << 20)
            assert results.get() == [number * (number - 1) // 2 for number in range(10)]
        pending.Wait()
        checked(1 << 20)
    words = [sys.executable, "-c", "import numpy; print(numpy.ones(9).sum())"]
    assert subprocess.check_output(words, text=True) == "9.0\\n"
    checked(1 << 20)
    comm.Barrier()
    if comm.rank == 0:
        print("OK")
"""


@pytest.mark.parametrize("heap", ["auto", "shared"])
def test_python_may_start_processes(tmp_path, heap):
    script = tmp_path / "script.py"
    script.write_text(_PYTHON)
    variables = {"OMNES_HEAP": heap, "OMNES_STATS": str(tmp_path)}
    done = mpirun(the_mpi("openmpi"), 2, sys.executable, script, variables=variables)
    expect_ok(done)
    (stats,) = [json.loads(path.read_text()) for path in tmp_path.glob("rank-0.json")]
    assert stats["entries"] and stats["passed"] == []
