"""Every example is built, run and prints as its own comment says."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import LIMIT, PREFIXES, ROOT, YIELDING

EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in (".c", ".f90", ".py", ".sh"))


def instructions(example: Path) -> tuple[list[str], str]:
    """The indented lines of its first comment: commands, and what they print."""
    lines = [re.sub(r'^(//|#|!|""")', "", line) for line in example.read_text().splitlines()]
    before, _, after = "\n".join(lines).partition("\nprints\n" if example.suffix == ".py" else "\n prints\n")
    indented = r"^ {2,3}(\S.*)$"
    # What is printed ends with the first line that is neither indented nor empty.
    printed = re.split(r"^ ?\S", after, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(indented, before, re.MULTILINE), "\n".join(re.findall(indented, printed, re.MULTILINE)) + "\n"


def run(commands: list[str], folder: Path, path: list[Path], variables: dict[str, str]) -> str:
    """What the commands say, in a copy of the examples."""
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    path = [*path, Path(sys.executable).parent]
    done = subprocess.run(
        " && ".join(commands),
        shell=True,
        cwd=folder,
        env={**os.environ, **YIELDING, **variables, "PATH": ":".join([*map(str, path), os.environ["PATH"]])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def check(said: str, printed: str) -> None:
    """... stands for anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(printed, said, flags), f"expected:\n{printed}\nsaid:\n{said}"


def test_there_are_ten_and_each_says_how():
    assert len(EXAMPLES) >= 10
    for example in EXAMPLES:
        commands, printed = instructions(example)
        assert commands and printed.strip(), example.name
        assert len(example.read_text().splitlines()) <= 60, example.name


@pytest.mark.parametrize("example", [path for path in EXAMPLES if path.suffix != ".f90"], ids=lambda path: path.name)
def test_example(mpi, request, tmp_path, example):
    name = request.node.callspec.params["mpi"]
    variables = (
        {"MPI4PY_MPIABI": name, "LD_LIBRARY_PATH": str(PREFIXES[name] / "lib")} if example.suffix == ".py" else {}
    )
    commands, printed = instructions(example)
    check(run(commands, tmp_path, [mpi.launcher.parent], variables), printed)


@pytest.mark.parametrize("vendor", ["openmpi", "mpich"])
@pytest.mark.parametrize("example", [path for path in EXAMPLES if path.suffix == ".f90"], ids=lambda path: path.name)
def test_fortran_example(tmp_path, vendor, example):
    if not shutil.which(f"mpif90.{vendor}"):
        pytest.skip(f"no mpif90.{vendor}: scripts/setup installs it where there is apt-get")
    commands, printed = instructions(example)
    check(run([command.replace("mpif90", f"mpif90.{vendor}") for command in commands], tmp_path, [], {}), printed)
