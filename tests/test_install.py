"""What `cmake --install` and the Debian package install works, also after it has been moved."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import LIMIT, ROOT, YIELDING, output_of
from omnes import _core, cli
from omnes.launching import libraries

VERSION = _core.__version__


def run(*words: object, **more: str) -> str:
    return output_of(*words, environment={**os.environ, **YIELDING, **more})


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A build for /usr that takes what is compiled from the package under test."""
    folder = tmp_path_factory.mktemp("build")
    headers = tmp_path_factory.mktemp("headers")
    for name in ("ompi", "mpich"):
        (headers / name).mkdir()
        (headers / name / "mpi.h").touch()
    settings = {
        "CMAKE_INSTALL_PREFIX": "/usr",
        "OMNES_BUNDLE": "OFF",
        "OMNES_MPI_HEADERS": headers,
        "Python_EXECUTABLE": sys.executable,
    }
    run("cmake", "-S", ROOT, "-B", folder, *(f"-D{name}={value}" for name, value in settings.items()))
    (folder / "lib").mkdir(exist_ok=True)
    for library in libraries.folder().glob("*.so"):
        shutil.copy(library, folder / "lib")
    if (libraries.folder() / "openmpi").exists():
        shutil.copytree(libraries.folder() / "openmpi", folder / "lib/openmpi", dirs_exist_ok=True)
    for module in ("_core", "_hwloc", "_metis"):
        found = importlib.util.find_spec(f"omnes.{module}")
        if found and found.origin:
            shutil.copy(found.origin, folder / "src/python")
    return folder


@pytest.fixture(scope="module")
def site(tree, tmp_path_factory) -> Path:
    """Installed, then moved."""
    folder = tmp_path_factory.mktemp("site")
    run("cmake", "--install", tree, "--prefix", folder / "first")
    return (folder / "first").rename(folder / "omnes")


def libdir(root: Path) -> Path:
    """lib, or what a distribution has instead: lib64, lib/x86_64-linux-gnu."""
    (found,) = root.glob("lib*/**/libomnes-ompi.so")
    return found.parent


def test_the_command_works_where_it_was_moved_to(site, build, mpi):
    elsewhere = {"PYTHONPATH": ""}
    assert run(site / "bin/omnes", "--version", **elsewhere) == f"omnes, version {VERSION}\n"
    assert "proved" in run(site / "bin/omnes", "verify", "bcast/knomial", "-n", "1..4", **elsewhere)
    shown = run(site / "bin/omnes", "run", "-n", 2, "--mpirun", mpi.prefix, "--stats", build("exits", mpi), **elsewhere)
    assert "sum 1" in shown


def test_manual_pages_completion_and_tables(site):
    pages = {path.name for path in (site / "share/man/man1").iterdir()}
    assert {f"omnes-{name}.1" for name in cli.COMMANDS} <= pages
    in_bash = site / "share/bash-completion/completions/omnes"
    for path in (
        in_bash,
        site / "share/zsh/site-functions/_omnes",
        site / "share/fish/vendor_completions.d/omnes.fish",
    ):
        assert path.is_file()
    asked = "COMP_WORDS=(omnes doc) COMP_CWORD=1; _omnes_completion omnes; echo ${COMPREPLY[@]}"
    assert run("bash", "-c", f". {in_bash}; {asked}", PATH=f"{site}/bin:{os.environ['PATH']}").split() == ["doctor"]
    assert _core.rules(str(site / "share/omnes/table.toml"))


def test_what_pkg_config_says_links_a_program(site, mpi, tmp_path):
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    family = mpi.family
    told = run("pkg-config", "--libs", f"omnes-{family}", PKG_CONFIG_PATH=str(libdir(site) / "pkgconfig")).split()
    program = tmp_path / "linked"
    run(mpi.compiler(), ROOT / "tests/programs/exits.c", "-o", program, *told)
    needed = run("readelf", "--dynamic", "--wide", program)
    assert needed.index(f"libomnes-{family}.so") < needed.index("libmpi")


def loaded(shell: str, site: Path, wanted: str, then: str) -> str:
    """What a shell prints that has loaded a module."""
    script = f"{shell}\nmodule use {site}/share/modulefiles\nmodule load {wanted} || exit 1\n{then}"
    clean = {"HOME": str(site), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], env=clean, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


MODULES = {"environment-modules": "/usr/share/modules/init/bash", "lmod": "/usr/share/lmod/lmod/init/bash"}


@pytest.mark.parametrize("kind", MODULES)
def test_modules(site, kind):
    if not Path(MODULES[kind]).is_file():
        pytest.skip(f"no {kind}")
    shell = f". {MODULES[kind]}"
    then = "command -v omnes; omnes --version; man -w omnes-run; echo $OMNES_ROOT; echo ${LD_PRELOAD-none}"
    if not shutil.which("man"):
        then = then.replace("man -w omnes-run", f"echo {site}/share/man/man1/omnes-run.1")
    assert loaded(shell, site, "omnes", then).split("\n")[:-1] == [
        f"{site}/bin/omnes", f"omnes, version {VERSION}", f"{site}/share/man/man1/omnes-run.1", str(site), "none",
    ]  # fmt: skip
    for family in libraries.built():
        assert loaded(shell, site, f"omnes-preload/{family}", "echo $LD_PRELOAD").split() == [
            str(libdir(site) / f"libomnes-{family}.so")
        ]
    left = "module unload omnes; command -v omnes; echo ${OMNES_ROOT-none}"
    assert loaded(shell, site, "omnes", left).split() == ["none"]


def test_the_debian_package(tree, tmp_path):
    if not shutil.which("dpkg-shlibdeps"):
        pytest.skip("no dpkg-dev")
    run("cpack", "--config", tree / "CPackConfig.cmake", "-B", tmp_path)
    (package,) = tmp_path.glob("omnes_*.deb")
    said = run("dpkg-deb", "--field", package)
    assert f"\nVersion: {VERSION}-1\n" in said
    depends = re.search(r"^Depends: (.*)$", said, re.MULTILINE)[1]
    for needed in ("python3-click", "python3-rich", f"python3 (>= 3.{sys.version_info.minor})", "libc6 ("):
        assert needed in depends
    (tmp_path / "root").mkdir()
    if os.geteuid() == 0:  # without its script for afterwards: there is no shell in that directory
        run("dpkg", "--root", tmp_path / "root", "--log", tmp_path / "log", "--unpack", package)
    else:
        run("dpkg-deb", "--extract", package, tmp_path / "root")
    omnes = tmp_path / "root/usr/bin/omnes"
    assert run(omnes, "--version") == f"omnes, version {VERSION}\n"
    assert "allreduce" in run(omnes, "list", "allreduce")
    for compiler in filter(shutil.which, ("mpicc.openmpi", "mpicc.mpich")):
        program, file = tmp_path / f"exits-{compiler}", tmp_path / f"{compiler}.json"
        run(compiler, ROOT / "tests/programs/exits.c", "-o", program)
        assert run(omnes, "run", "-n", 2, "--stats-json", file, program) == "sum 1 \n"
        assert sum(entry["calls"] for entry in json.loads(file.read_text())["entries"]) == 2
    assert "FAIL" not in run(omnes, "doctor")


def test_the_version_is_the_same_everywhere():
    (stated,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    (cited,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert stated == cited == newest == VERSION
