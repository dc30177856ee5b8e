"""The preloaded libraries fit into any program: they need the C library alone, and export MPI names and dlopen."""

from __future__ import annotations

import platform
import re
import subprocess

import pytest

from omnes.launching import libraries

FAMILIES = ["ompi", "mpich", "abi"]
PRELOADED = {
    **{family: libraries.path(family) for family in FAMILIES},
    "heap": libraries.folder() / "libomnes-heap.so",
    "session": libraries.folder() / "libomnes-session.so",
}
# What wheels are built for.
OLDEST_GLIBC = (2, 28)
# Where the threads' functions moved into libc: what is linked on a newer system cannot need less.
NEWEST_GLIBC = (2, 34)
# These have moved or changed their names in between: an older system's headers and libraries have them, too.
ALSO_OLDER = {"__libc_single_threaded", "fstat", "fstat64", "pthread_getattr_np", "pthread_sigmask", "stat"}


def lines_of(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("library", PRELOADED)
def test_needs_only_the_c_library(library):
    needed = [
        match[1]
        for line in lines_of("readelf", "--dynamic", "--wide", str(PRELOADED[library]))
        if (match := re.search(r"\(NEEDED\).*\[(.*)\]", line))
    ]
    allowed = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux.*)\.so\.\d+")
    assert [name for name in needed if not allowed.fullmatch(name)] == []


@pytest.mark.parametrize("library", PRELOADED)
def test_loads_on_older_systems(library):
    """No function of the C library newer than need be: arc4random (2.36), _dl_find_object (2.35), getcpu (2.29)."""
    symbols = lines_of("readelf", "--dyn-syms", "--wide", str(PRELOADED[library]))
    needed = {
        match[1]: tuple(map(int, match[2].split(".")))
        for line in symbols
        if (match := re.search(r" UND (\S+)@GLIBC_([\d.]+)", line))
    }
    assert needed
    allowed = {name for name, version in needed.items() if version <= OLDEST_GLIBC or version == NEWEST_GLIBC}
    assert set(needed) - allowed - ALSO_OLDER == set()


@pytest.mark.parametrize("library", ["heap", "session"])
def test_exports_nothing_but_what_it_replaces(library):
    """The unwinder's functions, least of all: they would serve the program, too."""
    exported = lines_of("nm", "--dynamic", "--defined-only", str(PRELOADED[library]))
    names = {line.split()[-1].partition("@")[0] for line in exported}
    assert {name for name in names if name.startswith("_")} == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_exports_mpi_names_in_both_forms(family):
    names = {line.split()[-1] for line in lines_of("nm", "--dynamic", "--defined-only", str(libraries.require(family)))}
    assert {
        name
        for name in names
        if not re.match(
            r"P?MPIX?_|p?mpir?_|[A-Z_]*MPI[A-Z_]*$|"
            r"(dlopen|madvise|mremap|munmap|pkey_mprotect|_Fork|clone|ucp_worker_progress)$",
            name,
        )
    } == set()
    collectives = ["Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter", "Allgather", "Alltoall"]
    assert {f"MPI_{name}" for name in collectives} <= names
    assert {f"PMPI_{name}" for name in collectives} <= names
    assert {"MPI_T_cvar_write", "PMPI_T_pvar_read", "MPI_T_category_get_num"} <= names


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64's instructions")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "name", ["Iprobe", "Irecv", "Isend", "Recv", "Send", "Test", "Testall", "Testany", "Wait", "Waitall"]
)
def test_messages_go_straight_to_the_mpi(family, name):
    """While nothing of omnes is under way: one look or two and a jump, which save no registers and take no stack."""
    code = lines_of("objdump", "--disassemble=MPI_" + name, "--no-show-raw-insn", str(PRELOADED[family]))
    instructions = [match[1] for line in code if (match := re.match(r" +[0-9a-f]+:\t(.*)", line))]
    jump = next(i for i, line in enumerate(instructions) if re.match(r"jmp +\*", line))
    assert [line for line in instructions[:jump] if re.match(r"push|pop|call|.*,%rsp$", line)] == []
    assert jump <= (12 if name.startswith(("Test", "Wait")) else 16)
