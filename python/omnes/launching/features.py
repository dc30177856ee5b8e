"""What an MPI offers beyond blocking collectives: seen in the names that its libraries export, without loading them."""

from __future__ import annotations

import mmap
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from omnes.launching.mpi import Mpi

# Each offer, and the functions of which any one proves it. Open MPI 4 has persistent collectives as an extension.
OFFERS = {
    "persistent": ("MPI_Bcast_init", "MPIX_Bcast_init"),
    "large_counts": ("MPI_Bcast_c",),
    "progress_hook": ("opal_progress_register", "MPIX_Async_start"),
}
_LIBRARIES = {"ompi": ("libmpi.so.40", "libopen-pal.so.*"), "mpich": ("libmpi.so.12", "libmpich.so.12")}


def offers(mpi: Mpi) -> dict[str, bool] | None:
    """Which of the offers hold; None where no library was found beside the launcher."""
    files = list(_libraries(mpi))
    if not files:
        return None
    return {offer: any(_exports(file, name) for file in files for name in names) for offer, names in OFFERS.items()}


def _libraries(mpi: Mpi) -> Iterator[Path]:
    """Those of the first folder that has the main one; a distribution keeps them in a folder of the machine's kind."""
    prefixes = dict.fromkeys((mpi.prefix, mpi.launcher.resolve().parent.parent))
    inside = ("lib", "lib64", f"lib/{sysconfig.get_config_var('MULTIARCH')}", "lib/release")
    for folder in (prefix / place for prefix in prefixes for place in inside):
        found = [file for pattern in _LIBRARIES.get(mpi.family or "", ()) for file in folder.glob(pattern)]
        if any(file.name.startswith("libmpi") for file in found):
            yield from found
            return


def _exports(library: Path, name: str) -> bool:
    """Whether the name ends a string of the file. Not the whole string: linkers share the tails of MPI_X and PMPI_X."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(f"{name}\0".encode()) >= 0
