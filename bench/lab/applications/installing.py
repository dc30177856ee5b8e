"""Brings programs here: Debian's packages, sources built with each MPI's compiler, inputs that are made from others.

Packages go where apt puts them, all else into a cache outside of this folder. Only when asked to; what is missing
otherwise is an error of one line that says what to do.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.applications.description import MPIS, Description, fill
from omnes.errors import OmnesError
from omnes.launching import mpi as mpis
from omnes.launching.mpi import Mpi

_MPI_PACKAGES = {"openmpi": ("openmpi-bin", "libopenmpi-dev"), "mpich": ("mpich", "libmpich-dev")}
_SECONDS = 1800.0  # of a package, a build or a preparation, at most
_MAX_SAID = 300  # characters of what a failed command said last


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omnes/applications"


def system_mpi(name: str, install: bool) -> Mpi:
    """Debian's, for which its programs are built; it tells them apart by the ends of their launchers' names."""
    if install:
        _require_packages(name, _MPI_PACKAGES[name], True)
    launcher = shutil.which(f"mpirun.{name}", path="/usr/bin:/usr/local/bin:" + os.environ.get("PATH", ""))
    if launcher is None:
        raise OmnesError(
            f"no mpirun.{name}: install what Debian calls {' '.join(_MPI_PACKAGES[name])} (--install does)"
        )
    found = mpis.at(launcher, os.environ)
    if found.family != MPIS[name]:
        raise OmnesError(f"{launcher} is {found.name}, of family {found.family}, not {MPIS[name]}")
    return found


def bring(program: Description, name: str, mpi: Mpi, install: bool) -> Path:
    """The folder with the program's inputs, all there that it needs on that MPI."""
    _require_packages(program.name, program.mpi[name].packages, install)
    words = dict(compilers(mpi))
    if program.git:
        words["SOURCE"] = str(_built(program, name, words, install))
    return _prepared(program, name, words)


def compilers(mpi: Mpi) -> dict[str, str]:
    """Beside the C compiler lie the others, with the same end of their names."""
    c = str(mpi.compiler())
    folder, name = os.path.split(c)
    others = {"MPICC": "mpicc", "MPICXX": "mpicxx", "MPIFORT": "mpif90"}
    return {word: os.path.join(folder, name.replace("mpicc", other)) for word, other in others.items()}


def source(program: Description, name: str) -> Path:
    key = _key(program.git, program.commit, program.build)
    return cache() / "built" / f"{program.name}-{name}-{key}"


def _built(program: Description, name: str, words: Mapping[str, str], install: bool) -> Path:
    place = source(program, name)
    if place.exists():
        return place
    if not install:
        raise OmnesError(f"{program.name} is not built for {name}: bench/run applications --install {program.name}")
    for tool in ("git", "make"):
        if shutil.which(tool) is None:
            raise OmnesError(f"{program.name} is built from its source, which needs {tool}: install it")
    print(f"== building {program.name} for {name}", file=sys.stderr)
    unfinished = _fresh(place)
    what = f"cannot fetch {program.name} from {program.git}"
    _do(["git", "init", "-q", str(unfinished)], unfinished, what)
    _do(["git", "fetch", "-q", "--depth", "1", program.git, program.commit], unfinished, what)
    _do(["git", "checkout", "-q", "FETCH_HEAD"], unfinished, what)
    build = fill(program.build, {**words, "SOURCE": str(unfinished)})
    _do(["bash", "-euc", build], unfinished, f"cannot build {program.name} for {name}")
    unfinished.rename(place)
    return place


def _prepared(program: Description, name: str, words: Mapping[str, str]) -> Path:
    text = fill(program.prepare, words)
    place = cache() / "inputs" / f"{program.name}-{_key(text, *(f'{k}={v}' for k, v in program.files.items()))}"
    if place.exists():
        return place
    unfinished = _fresh(place)
    for file, content in program.files.items():
        (unfinished / file).write_text(content)
    if text:
        _do(["bash", "-euc", text], unfinished, f"cannot make the input of {program.name}")
    unfinished.rename(place)
    return place


def _fresh(place: Path) -> Path:
    unfinished = place.with_name(f"{place.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
    except OSError as fault:
        raise OmnesError(f"cannot keep programs in {cache()}: {fault.strerror}; XDG_CACHE_HOME names another") from None
    return unfinished


def _key(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def missing(packages: Sequence[str]) -> list[str]:
    if shutil.which("dpkg-query") is None:
        return []  # no Debian: whoever runs this has put the programs there
    words = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout if packages else ""
    there = {line.split()[0] for line in said.splitlines() if line.endswith(" installed")}
    return [name for name in packages if name not in there]


def _require_packages(what: str, packages: Sequence[str], install: bool) -> None:
    lacking = missing(packages)
    if not lacking:
        return
    names = " ".join(lacking)
    if not install:
        raise OmnesError(f"{what} needs what Debian calls {names}: bench/run applications --install {what}")
    if shutil.which("apt-get") is None:
        raise OmnesError(f"{what} needs what Debian calls {names}, and there is no apt-get: install them another way")
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if as_root and shutil.which("sudo") is None:
        raise OmnesError(f"{what} needs what Debian calls {names}: as root, apt-get install {names}")
    print(f"== installing {names}", file=sys.stderr)
    words = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "-q", "-y"]
    _do([*as_root, *words, "update"], Path("/"), f"cannot install {names}")
    _do([*as_root, *words, "install", "--no-install-recommends", *lacking], Path("/"), f"cannot install {names}")


def _do(words: Sequence[str], folder: Path, what: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OmnesError(f"{what}: not done in {_SECONDS:.0f} s") from None
    except OSError as fault:
        raise OmnesError(f"{what}: {fault.strerror}: {words[0]}") from None
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith("E: ") or "rror" in line] or lines or ["no message"]
        raise OmnesError(f"{what}: {telling[-1][:_MAX_SAID]}")
