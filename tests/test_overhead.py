"""bench/run overhead counts the lines that a call touches; the operation `nothing` touches known ones."""

from __future__ import annotations

import importlib
import json
import platform
import re
import subprocess
import sys

import pytest

from launching import LIMIT, PREFIXES, ROOT, compile_once, mpirun, the_mpi

KNOWN_LINES, KNOWN_PAGES = 37, 2  # of overhead.c
OF_THE_STACK = 1  # where the call returns to


@pytest.fixture(scope="module")
def said() -> str:
    pytest.importorskip("capstone")
    words = [str(ROOT / "bench/run"), "overhead", "--mpi", str(PREFIXES["openmpi"]), "--lines", "nothing"]
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True, timeout=LIMIT).stdout


def test_known_lines_are_counted(said):
    found = re.findall(r"lines of code on 1 pages, (\d+) lines of data on (\d+) pages", said)
    expected = (str(KNOWN_LINES + OF_THE_STACK), str(KNOWN_PAGES + OF_THE_STACK))
    assert found == [expected] * 3  # stock, omnes, and omnes with other sizes


def test_lines_are_named(said):
    _, *sides = said.split("## nothing: ")
    assert [side.count(".bss: known") for side in sides] == [KNOWN_LINES] * 3
    assert [side.count("| stack |") for side in sides] == [OF_THE_STACK] * 3


@pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions are counted on x86-64")
@pytest.mark.parametrize("operation", ["bcast", "reduce", "gather"])
def test_checked_calls_that_repeat_are_not_described_anew(operation, programs):
    """That would take seven times the instructions of a call that is not checked."""
    mpi = the_mpi("openmpi")
    program = compile_once(programs / "overhead", [mpi.compiler(), "-O2", ROOT / "bench/overhead.c"])
    counted = []
    for check in ("0", "1"):
        run = mpirun(mpi, 2, program, "alone", operation, "50", variables={"OMNES_CHECK": check})
        assert run.returncode == 0, run.stderr
        counted.append(json.loads(run.stdout)["instructions"])
    assert counted[1] < 4 * counted[0], counted


@pytest.fixture
def touched(monkeypatch):
    pytest.importorskip("capstone")
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("lab.touched")


@pytest.mark.parametrize(
    ("code", "accesses"),
    [
        ("c3", [(0x1000, 8, False)]),  # ret
        ("50", [(0xFF8, 8, True)]),  # push rax
        ("488b4708", [(0x2008, 8, False)]),  # mov rax, [rdi + 8]
        ("8d4708", []),  # lea eax, [rdi + 8]
        ("0f1f440000", []),  # nop dword ptr [rax + rax]
        ("c5fe7f07", [(0x2000, 32, True)]),  # vmovdqu [rdi], ymm0
        ("64488b042500000000", [(0x7000, 8, False)]),  # mov rax, fs:[0]
        ("8b0510000000", [(0x5016, 4, False)]),  # mov eax, [rip + 0x10]
        ("8b04cf", [(0x2018, 4, False)]),  # mov eax, [rdi + rcx*8]
        ("f3a4", [(0x2000, 1, True), (0x3000, 1, False)]),  # rep movsb
        ("ff17", [(0x2000, 8, False), (0xFF8, 8, True)]),  # call [rdi]
        ("48890c2f", [(0x2000, 8, True)]),  # mov [rdi + rbp], rcx
        ("480107", [(0x2000, 8, True)]),  # add [rdi], rax
    ],
)
def test_instructions_are_understood(code, accesses, touched):
    known = {"rsp": 0x1000, "rdi": 0x2000, "rsi": 0x3000, "rcx": 3, "rip": 0x5000}
    registers = [known.get(name, 0) for name in touched.REGISTERS]
    assert touched.accesses(touched.decode(bytes.fromhex(code).ljust(16)), registers, 0x7000) == accesses
