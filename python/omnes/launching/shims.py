"""Commands that start MPI programs by launchers of their own: a job script, make check, ctest.

How: in front of PATH stand scripts with the launchers' names, which hand to `omnes run` what they are given. A launcher
that is named by its path is not met.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from omnes.launching import arguments, launch, linkage

_USED = "used"
# As `python -m omnes`, but not looking for Python's modules in the folder where the command runs.
_OMNES = "import sys; sys.path = list(filter(None, sys.path)); from omnes.cli import main; main(prog_name='omnes')"
# mpirun, "mpirun", ${MPIRUN:-mpirun}, $(which mpirun)
_NAME = rf"({arguments.LAUNCHER.pattern})"
_IN_A_SCRIPT = re.compile(rf"((?<![\w.-])|(?<=:-)){_NAME}(?=[\s\"'}};]|$)|\$\((which|command -v|type -p) {_NAME}\)")
_STARTS_OTHERS = ("ctest",)  # whatever it is made of
# As commands of a script, what runs tests of a build.
_BUILD_TOOL = re.compile(r"(^|[;&|({]|\b(exec|time|nice|env|then|do|else))\s*(g?make|ninja|ctest|meson)(?=\s|$)")


def starts_launchers(words: Sequence[str], found: linkage.Program, environment: Mapping[str, str]) -> bool:
    """Whether the command is no MPI program, and may start some.

    That is a script that names a launcher or runs a build tool, or a binary. `found`: by linkage.inspect_command().
    """
    first = linkage.locate(words[0], environment)
    if first.name in _STARTS_OTHERS:
        return True
    if found.family is not None and found.path == first:  # of mpi4py: what it says of mpirun is for its readers
        return False
    return _has_launches(first) if linkage.is_script(first) else found.family is None


def _has_launches(script: Path) -> bool:
    lines = [line.strip() for line in script.read_text(errors="replace").splitlines()]
    return any(_IN_A_SCRIPT.search(line) or _BUILD_TOOL.search(line) for line in lines if not line.startswith("#"))


def run(words: Sequence[str], options: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bool]:
    """Runs the command, each of whose launches is an `omnes run` with those options. Returns its exit code, and whether
    there was one."""
    with tempfile.TemporaryDirectory(prefix=".omnes-launchers-") as name:
        folder = Path(name)
        for launcher in _launchers(environment):
            _write(folder / launcher.name, launcher, options)
        path = f"{folder}:{environment.get('PATH', os.defpath)}"
        code = launch.supervise([str(linkage.locate(words[0], environment)), *words[1:]], {**environment, "PATH": path})
        return code, (folder / _USED).exists()


def _launchers(environment: Mapping[str, str]) -> Iterator[Path]:
    """Those that PATH leads to."""
    seen = set()
    for folder in environment.get("PATH", os.defpath).split(":"):
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for name in names:
            path = Path(folder or ".", name).absolute()
            if arguments.LAUNCHER.fullmatch(name) and name not in seen and os.access(path, os.X_OK):
                seen.add(name)
                yield path


def _write(shim: Path, launcher: Path, options: Sequence[str]) -> None:
    """Launchers start others by their names: these are not to come here again. The rest of the command's PATH stays."""
    words = [sys.executable, "-c", _OMNES, "run", "--lenient", *options, str(launcher)]
    folder, used = shlex.quote(str(shim.parent)), shlex.quote(str(shim.parent / _USED))
    shim.write_text(f"""#!/bin/sh
rest=$PATH: PATH=
while [ -n "$rest" ]; do
  [ "${{rest%%:*}}" = {folder} ] || PATH=$PATH${{PATH:+:}}${{rest%%:*}}
  rest=${{rest#*:}}
done
: > {used}
exec {shlex.join(words)} "$@"
""")
    shim.chmod(0o755)
