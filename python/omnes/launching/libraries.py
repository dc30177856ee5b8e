"""The interposer libraries that come with the package, one for each MPI ABI family."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from omnes.errors import OmnesError

FAMILIES = {
    "ompi": "Open MPI 4 and 5",
    "mpich": "MPICH 3.4 to 5, Intel MPI, MVAPICH, Cray MPICH",
    "abi": "the standard MPI ABI",
}


def folder() -> Path:
    """Beside the compiled core, which an editable install keeps apart from these sources.

    Not loaded for that: a packed benchmark has the libraries but no core, which is for one Python only.
    """
    core = importlib.util.find_spec("omnes._core")
    package = Path(core.origin).parent if core and core.origin else Path(__file__).parents[1]
    return package / "lib"


def path(family: str) -> Path:
    return folder() / f"libomnes-{family}.so"


def heap() -> Path:
    """The allocator that OMNES_HEAP=shared needs."""
    return _present("libomnes-heap.so")


def session() -> Path:
    """Keeps ranks in the launcher's session, for launchers that would start each in one of its own."""
    return _present("libomnes-session.so")


def _present(name: str) -> Path:
    if not (folder() / name).is_file():
        raise OmnesError(f"omnes was built without {name}")
    return folder() / name


def simulated() -> Path:
    """What programs for SimGrid's simulator are linked with."""
    return folder() / "libomnes-smpi.a"


def built() -> list[str]:
    return [family for family in FAMILIES if path(family).is_file()]


def require(family: str) -> Path:
    if not path(family).is_file():
        have = ", ".join(built()) or "none"
        raise OmnesError(f"omnes was built without its library for {FAMILIES[family]} (family {family}); built: {have}")
    return path(family)
