"""The MPI installations of this machine: launchers, vendors, versions, compilers, and what launchers need."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from omnes.errors import OmnesError

# File names of launchers by family, the most telling first: Debian keeps several MPIs apart by suffix.
_LAUNCHERS = {
    "ompi": ("mpirun.openmpi", "mpirun", "mpiexec", "prterun"),
    "mpich": ("mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "mpiexec", "mpirun"),
}
_COMPILERS = {"ompi": ("mpicc.openmpi", "mpicc"), "mpich": ("mpicc.mpich", "mpicc")}

# Where MPIs are commonly installed, beside PATH and the prefix of this Python.
_PLACES = (
    "/usr/local/bin",
    "/usr/bin",
    "/usr/lib64/openmpi/bin",
    "/usr/lib64/mpich/bin",
    "/opt/intel/oneapi/mpi/latest/bin",
)

# What has waiting ranks yield. Without it these MPIs spin, and a message takes milliseconds where ranks share CPUs.
# Open MPI yields by itself when it is told to oversubscribe.
YIELDING = {
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "0",
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        "MPIR_CVAR_POSIX_POLL_FREQUENCY": "1",
    },
    # MPICH before 5 knows nothing better than to sleep, which MPICH 5 would do, too.
    "mpich-4": {
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        "MPIR_CVAR_POSIX_POLL_FREQUENCY": "1",
    },
    "intel": {"I_MPI_WAIT_MODE": "1", "I_MPI_THREAD_YIELD": "2"},
}
# What leaves libfabric out of Open MPI's transports. Open MPI 5 may wait for a second in each MPI_Init while libfabric
# looks for what is not there, and computes, too.
NO_FABRICS = {"OMPI_MCA_btl": "^ofi", "OMPI_MCA_mtl": "^ofi"}


@dataclass(frozen=True)
class Mpi:
    launcher: Path
    kind: str  # prrte (Open MPI 5), orte (Open MPI 4), hydra (MPICH and kin), intel, or other
    vendor: str  # Open MPI, MPICH, Intel MPI; of other launchers: their file name
    version: str

    @property
    def prefix(self) -> Path:
        return self.launcher.parent.parent

    @property
    def name(self) -> str:
        return f"{self.vendor} {self.version}".strip()

    @property
    def family(self) -> str | None:
        return {"prrte": "ompi", "orte": "ompi", "hydra": "mpich", "intel": "mpich"}.get(self.kind)

    @property
    def open_mpi(self) -> bool:
        return self.kind in ("prrte", "orte")

    @property
    def yielding(self) -> dict[str, str]:
        """The variables by which waiting ranks yield."""
        if self.kind == "hydra":
            return YIELDING["mpich-4" if self.version.startswith(("3.", "4.")) else "mpich"]
        return YIELDING.get(self.kind, {})

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """What the launcher and the ranks need beyond the user's environment."""
        if self.kind != "intel":
            return {}
        extra = {"I_MPI_ROOT": str(self.prefix), "PATH": f"{self.launcher.parent}:{base.get('PATH', os.defpath)}"}
        providers = self.prefix / "lib"
        if (providers / "libtcp-fi.so").exists():  # an installation whose fabric providers lie beside the library
            library_path = base.get("LD_LIBRARY_PATH")
            extra["LD_LIBRARY_PATH"] = f"{providers}:{library_path}" if library_path else str(providers)
            extra.update({"FI_PROVIDER_PATH": str(providers), "FI_PROVIDER": "tcp", "I_MPI_FABRICS": "shm:ofi"})
        return {name: value for name, value in extra.items() if name not in base or name in ("PATH", "LD_LIBRARY_PATH")}

    def compiler(self) -> Path:
        for name in _COMPILERS.get(self.family or "", ("mpicc",)):
            path = self.launcher.parent / name
            if os.access(path, os.X_OK):
                return path
        raise OmnesError(
            f"{self.name} has no mpicc beside {self.launcher}, which omnes bench, demo, tune, measure and "
            "check-guidelines need: they compile small programs"
        )


def identify(launcher: Path) -> Mpi:
    """Asks a launcher what it is.

    /bin is usually a link to /usr/bin: then the latter is meant. Started as /bin/mpirun, Open MPI takes / for its
    prefix, and refuses it.
    """
    if launcher.parent.parent == Path("/"):
        launcher = launcher.parent.resolve() / launcher.name
    return _identify(launcher)


@functools.lru_cache
def _identify(launcher: Path) -> Mpi:
    """Intel's mpirun is a script that asks the first mpiexec.hydra on the PATH."""
    environment = {**os.environ, "PATH": f"{launcher.parent}:{os.environ.get('PATH', os.defpath)}"}
    words = [str(launcher), "--version"]
    try:
        answer = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=20, check=False)
        text = answer.stdout + answer.stderr
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    number = re.search(r"(\d+\.\d+(\.\d+)?\w*)", text)
    version = number[1] if number else ""
    if "Intel(R) MPI" in text:
        return Mpi(launcher, "intel", "Intel MPI", version)
    if "HYDRA" in text:
        return Mpi(launcher, "hydra", "MPICH", version)
    if "Open MPI" in text or "OpenRTE" in text:
        return Mpi(launcher, "orte" if version[:2] in ("2.", "3.", "4.") else "prrte", "Open MPI", version)
    return Mpi(launcher, "other", launcher.name, version)


def _launchers_in(folder: Path, family: str | None) -> Iterator[Mpi]:
    names = _LAUNCHERS.get(family, ()) if family else (*_LAUNCHERS["ompi"], *_LAUNCHERS["mpich"])
    for name in dict.fromkeys(names):
        if os.access(folder / name, os.X_OK):
            mpi = identify(folder / name)
            if mpi.kind != "other" and family in (None, mpi.family):
                yield mpi


def of_command(command: str, environment: Mapping[str, str]) -> Mpi | None:
    """The MPI that a command launches, if it is named as launchers are: no other is started to find that out."""
    launcher = shutil.which(command, path=environment.get("PATH", os.defpath))
    if launcher is None or not any(Path(launcher).name in names for names in _LAUNCHERS.values()):
        return None
    mpi = identify(Path(launcher).absolute())
    return None if mpi.kind == "other" else mpi


def beside(libmpi: Path, family: str) -> Mpi | None:
    """The MPI that a library belongs to: its launcher is in the bin folder of one of the folders above the library.

    The nearest one, be it above the library's file or above a link to it: folders far above hold other MPIs, too.
    """
    for above in zip_longest(*(list(library.parents)[1:5] for library in (libmpi, libmpi.resolve()))):
        for folder in filter(None, above):
            for mpi in _launchers_in(folder / "bin", None if family == "abi" else family):
                return mpi
    return None


def search_path(environment: Mapping[str, str]) -> list[Path]:
    """Where to look for MPIs, in order: this Python's prefix, PATH, the project's .mpi folder, common places."""
    folders = [Path(sys.prefix) / "bin"]
    folders += [Path(entry) for entry in environment.get("PATH", os.defpath).split(":") if entry]
    folders += sorted(Path(sys.prefix).parent.glob(".mpi/*/bin"))
    folders += [Path(place) for place in _PLACES]
    return list(dict.fromkeys(folders))


def find(family: str | None, environment: Mapping[str, str]) -> Mpi | None:
    """The first MPI of a family (None and abi: of any)."""
    for folder in search_path(environment):
        for mpi in _launchers_in(folder, None if family == "abi" else family):
            return mpi
    return None


def find_all(environment: Mapping[str, str]) -> list[Mpi]:
    """One entry for each installation: a folder that holds several MPIs has one for each vendor."""
    found: dict[tuple[Path, str], Mpi] = {}
    for folder in search_path(environment):
        for mpi in _launchers_in(folder, None):
            found.setdefault((folder.resolve(), mpi.name), mpi)
    return list(found.values())


def named_or_first(place: str | None, environment: Mapping[str, str]) -> Mpi:
    """The MPI that a user points at, else the first one found."""
    mpi = at(place, environment) if place else find(None, environment)
    if mpi is None:
        raise OmnesError("no MPI found in PATH or beside this Python; name one: --mpi PREFIX")
    return mpi


def at(place: str, environment: Mapping[str, str]) -> Mpi:
    """The MPI that a user points at: a launcher (path or name) or an installation's prefix."""
    path = Path(place).expanduser().absolute()
    if path.is_dir():
        for folder in (path / "bin", path):
            for mpi in _launchers_in(folder, None):
                return mpi
        raise OmnesError(f"no mpirun or mpiexec of a known MPI in {path}/bin or {path}")
    launcher = shutil.which(place, path=environment.get("PATH", os.defpath))
    if launcher is None:
        raise OmnesError(
            f"launcher {place} not found; give the path of mpirun or mpiexec, or the folder that holds bin/mpirun"
        )
    return identify(Path(launcher).absolute())
