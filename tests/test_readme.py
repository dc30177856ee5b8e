"""Every omnes command that the README shows does what it says, on a program that the reader already has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import LIMIT, ROOT, YIELDING, the_mpi

BLOCKS = re.findall(r"^```\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
IN_TEXT = re.findall(r"`((?:OMNES_\w+=\S+ )?omnes [^`]+)`", (ROOT / "README.md").read_text())
IN_BLOCKS = [line.split("#")[0].strip() for block in BLOCKS for line in block.splitlines() if line.startswith("omnes")]
COMMANDS = list(dict.fromkeys(IN_BLOCKS + IN_TEXT))


def test_the_readme_shows_commands():
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("command", COMMANDS)
def test_command(build, tmp_path, command):
    if "simulate" in command and shutil.which("smpirun") is None:
        pytest.skip("no SimGrid (libsimgrid-dev)")
    (tmp_path / "app").symlink_to(build("exits", the_mpi("openmpi")))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env={**os.environ, **YIELDING, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


def test_all_variables_are_documented():
    source = (ROOT / "src/select/settings.cpp").read_text()
    table = source[source.index("constexpr Variable variables[]") :]
    names = re.findall(r'^    \{"([A-Z_]+)",', table, re.MULTILINE)
    documented = re.findall(r"OMNES_[A-Z_]+", (ROOT / "docs/operations.md").read_text())
    assert len(names) > 10
    assert {f"OMNES_{name}" for name in names} <= set(documented)
