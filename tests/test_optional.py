"""Without libraries that not every system has, what does not need them works, and the rest says what to install."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli import unwrapped
from launching import YIELDING
from omnes import _core

MODULES = ["_hwloc", "_metis"]
LOADED = "libhwloc.so.15"  # by src/python/optional.cpp, before the module


def needed_by(module: Path) -> set[str]:
    shown = subprocess.run(["readelf", "--dynamic", "--wide", str(module)], capture_output=True, text=True, check=True)
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown.stdout))


@pytest.fixture(scope="module")
def not_loading(tmp_path_factory) -> dict[str, str]:
    """An environment in which hwloc and METIS cannot be loaded: empty files stand in front. MPIs may fail, too."""
    folder = tmp_path_factory.mktemp("libraries")
    for module in MODULES:
        found = importlib.util.find_spec(f"omnes.{module}")
        if not found or not found.origin:
            pytest.skip(f"omnes was built without omnes.{module}")
        for library in needed_by(Path(found.origin)):
            assert not library.startswith("libhwloc")
            if library.startswith("libmetis."):
                (folder / library).touch()
    (folder / LOADED).touch()
    assert len(list(folder.iterdir())) == len(MODULES)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


_NOT_BUILT = f"import sys; sys.modules.update({{f'omnes.{{name}}': None for name in {MODULES}}})"


def run(*words, environment=None, first="") -> subprocess.CompletedProcess[str]:
    """The command, in a Python that runs `first` before."""
    command = [sys.executable, "-c", f"{first}\nfrom omnes.cli import main\nmain(prog_name='omnes')", *map(str, words)]
    environment = {**(environment or os.environ), **YIELDING}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_core_needs_only_the_c_and_cxx_libraries():
    allowed = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux.*)\.so\.\d+")
    assert [name for name in needed_by(Path(_core.__file__)) if not allowed.fullmatch(name)] == []


@pytest.mark.parametrize(
    "words",
    ["list bcast", "verify bcast/knomial -n 1..4", "map allgather/bruck --nodes 2x4", "topology groups --nodes 2x4"],
)
def test_what_needs_neither(not_loading, words):
    for done in (run(*words.split(), environment=not_loading), run(*words.split(), first=_NOT_BUILT)):
        assert (done.returncode, done.stderr) == (0, "") and done.stdout


def test_run(build, mpi, tmp_path):
    done = run("run", "-n", 2, "--stats-json", tmp_path / "stats.json", build("exits", mpi), first=_NOT_BUILT)
    assert (done.returncode, done.stdout) == (0, "sum 1 \n"), done.stderr


def test_info():
    why = "omnes was built without hwloc: install it (Debian: libhwloc-dev), and omnes again"
    done = run("info", "--json", first=_NOT_BUILT)
    facts = json.loads(done.stdout)
    assert (done.returncode, done.stderr, facts["machine"], facts["machine_unknown"]) == (0, "", None, why)
    assert facts["mpis"] and facts["segment_bytes"]
    assert f"machine {why}" in unwrapped(run("info", first=_NOT_BUILT).stdout)


@pytest.mark.parametrize(
    ("words", "library", "package"),
    [
        ("topology", "hwloc", "libhwloc15"),
        ("topology groups --nodes 1x2 --shape core:2", "hwloc", "libhwloc15"),
        ("map allgather/bruck --nodes 2x4 --method metis", "METIS", "libmetis5"),
    ],
)
def test_what_needs_one_says_so(not_loading, words, library, package):
    done = run(*words.split(), environment=not_loading)
    assert done.returncode != 0 and done.stderr.count("\n") == 1 and done.stdout == ""
    reason = rf"\S*lib{library.lower()}\.so\S*: .*"
    assert re.fullmatch(
        rf"omnes: {library} cannot be loaded: {reason}; install it \(Debian: {package}\)\n", done.stderr
    )
