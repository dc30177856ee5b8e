"""Memory that ranks of a node map: MPI_Alloc_mem's, shared windows', all large pieces with OMNES_HEAP=shared."""

from __future__ import annotations

import ctypes.util
import platform
import re
import shutil
import subprocess
import sys

import pytest

from launching import LIMIT, mpirun, the_mpi
from omnes.launching import libraries
from omnes.traces import statistics

MODES = {
    "alloc_mem": {"OMNES_SINGLE_COPY": "off"},
    "shared": {"OMNES_HEAP": "shared", "OMNES_SINGLE_COPY": "off"},
    "windows": {"OMNES_DIRECT_COPY": "4K"},
}


@pytest.mark.parametrize("mode", MODES)
def test_programs_run_as_ever(mpi, build, mode):
    run = mpirun(mpi, 3, build("heap", mpi), mode, variables=MODES[mode])
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


def test_windows_of_ranks_that_differ(build):
    """One rank leaves all to its MPI: the others do not wait for it in more than the MPI does."""
    of = the_mpi("openmpi")
    script = f"[ $OMPI_COMM_WORLD_RANK != 0 ] || export OMNES_OFF=1; exec {build('heap', of)} only-windows"
    run = mpirun(of, 3, "sh", "-c", script, variables=MODES["windows"])
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


def test_it_can_be_switched_off(mpi, build):
    run = mpirun(mpi, 2, build("heap", mpi), "off", variables={"OMNES_HEAP": "off"})
    assert "a large piece of MPI_Alloc_mem is not mapped by peers" in run.stderr


@pytest.mark.parametrize("forced", ["linear", "sliced", "rabenseifner"])
def test_all_reductions_read_in_place(mpi, build, forced):
    variables = {"OMNES_HEAP": "shared", "OMNES_DIRECT_COPY": "1", "OMNES_ALLREDUCE": forced, "OMNES_REDUCE": forced}
    run = mpirun(mpi, 3, build("reductions", mpi), "20000", variables=variables)
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


@pytest.mark.parametrize("setting", [{}, {"OMNES_HEAP": "alloc_mem"}], ids=["by default", "alloc_mem"])
def test_buffers_that_come_back_are_adopted(mpi, build, setting, tmp_path):
    wanted = not setting and says_where_memory_is_mapped()
    variables = {**setting, "OMNES_DIRECT_COPY": "16K", "OMNES_STATS": str(tmp_path)}
    run = mpirun(mpi, 3, build("adopted", mpi), "yes" if wanted else "no", variables=variables)
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr
    adopted = statistics.merge(tmp_path)["adopted"]
    assert (adopted is not None) == wanted
    if adopted:
        assert adopted["buffers"] >= 3 and adopted["bytes"] >= adopted["buffers"] * (64 << 10)
        assert min(adopted[what] for what in ("uses", "seconds", "saved")) > 0
        said = statistics.adopted(adopted)
        assert f"adopted {adopted['buffers']} buffers" in said and f"found again by {adopted['uses']} calls" in said


def test_short_buffers_may_be_adopted_out_of_one_heap(mpi, build):
    """Of 94 KiB: glibc's malloc takes them from where it has all else, too."""
    run = mpirun(mpi, 2, build("adopted", mpi), "perhaps", "12000")
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_buffers_are_adopted_once_and_cost_nothing_later(mpi, build, ranks, tmp_path):
    wanted = says_where_memory_is_mapped()
    variables = {"OMNES_STATS": str(tmp_path)}
    run = mpirun(mpi, ranks, build("settled", mpi), str(int(wanted)), variables=variables)
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr
    if wanted:  # each of two buffers, of some operations only a part at first
        assert 2 * ranks <= statistics.merge(tmp_path)["adopted"]["buffers"] <= 4 * ranks


@pytest.mark.parametrize("allocator", ["jemalloc", "mimalloc", "tcmalloc_minimal"])
def test_buffers_of_other_allocators_are_adopted(build, allocator):
    """They discard pages, and count on zeros in them afterwards."""
    library = ctypes.util.find_library(allocator)
    if library is None:
        pytest.skip(f"no {allocator} here")
    wanted = "yes" if says_where_memory_is_mapped() else "no"
    variables = {"OMNES_DIRECT_COPY": "16K", "LD_PRELOAD": library}
    of = the_mpi("openmpi")
    for arguments in ([wanted], ["perhaps", "12000"]):
        run = mpirun(of, 3, build("adopted", of), *arguments, variables=variables)
        assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


@pytest.mark.parametrize("what", [[], ["keys"]])
def test_rare_things_mean_the_same_for_adopted_buffers(mpi, build, what):
    wanted = str(int(says_where_memory_is_mapped()))
    variables = {"OMNES_DIRECT_COPY": "16K"}
    run = mpirun(mpi, 2, build("special", mpi), wanted, *what, variables=variables)
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


def test_what_becomes_of_adopted_buffers_has_to_be_seen(mpi, build):
    """UCX overwrites the code of madvise: then nothing is adopted."""
    run = mpirun(mpi, 2, build("overwritten", mpi), variables={"OMNES_DIRECT_COPY": "16K"})
    if "SKIP" in run.stdout:
        pytest.skip("this processor's code is not known to the test")
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


def test_core_dumps_have_adopted_buffers(mpi, build, tmp_path):
    gdb = shutil.which("gdb")
    if gdb is None or not says_where_memory_is_mapped():
        pytest.skip("no gdb here, or nothing is adopted")
    program, core = build("dumped", mpi), tmp_path / "core"
    quiet = [gdb, "-nx", "-batch", "-iex", "set breakpoint pending on", "-iex", "set debuginfod enabled off"]
    orders = ["break MPI_Barrier", "run", f"gcore {core}", "delete", "continue"]
    dumped = [*quiet, *(word for order in orders for word in ("-ex", order)), "--args", program]
    of_first = ["sh", "-c", '[ "${PMIX_RANK:-$PMI_RANK}" = 0 ] || exec "$0"; exec "$@"', program, *dumped]
    run = mpirun(mpi, 2, *of_first, variables={"OMNES_HEAP": "auto", "OMNES_DIRECT_COPY": "16K"})
    assert run.returncode == 0 and "OK\n" in run.stdout, run.stdout + run.stderr
    words = [*quiet, "-ex", "print ((int*)numbers)[70000]@3", program, core]
    shown = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=LIMIT, check=False)
    core.unlink()  # some 100 MiB
    assert "$1 = {210000, 210003, 210006}" in shown.stdout, shown.stdout + shown.stderr


@pytest.mark.parametrize("setting", ["auto", "alloc_mem", "shared"])
def test_address_space_may_be_limited_later(mpi, build, setting):
    variables = {"OMNES_HEAP": setting, "OMNES_DIRECT_COPY": "16K", "OMNES_SINGLE_COPY": "off"}
    run = mpirun(mpi, 3, build("limited", mpi), setting, variables=variables)
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr


def says_where_memory_is_mapped() -> bool:
    """Whether the kernel answers the question without which nothing is adopted."""
    release = tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])
    return release >= (6, 11)


def test_numpy_and_threads():
    """An allocator has to serve a program as large as Python."""
    run = mpirun(the_mpi("openmpi"), 2, sys.executable, "-c", _PYTHON, variables={"OMNES_HEAP": "shared"})
    assert (run.returncode, run.stdout) == (0, ""), run.stdout + run.stderr


_PYTHON = """
import threading, subprocess, sys
import numpy as np
def work():
    for i in range(200):
        a = np.arange(i * 1000, dtype=float)
        b = np.zeros(i * 1000)
        b += a
        assert (a == b).all()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(3): subprocess.run([sys.executable, "-c", "import numpy; numpy.ones(10**6).sum()"], check=True)
for thread in threads: thread.join()
"""


def test_a_missing_library_is_an_error(mpi, build):
    preload = {"OMNES_HEAP": "shared", "LD_PRELOAD": str(libraries.path(mpi.family))}
    run = mpirun(mpi, 1, build("exits", mpi), with_omnes=False, variables=preload)
    assert run.returncode != 0
    assert "OMNES_HEAP=shared: libomnes-heap.so is not loaded; start the program with omnes run" in run.stderr
