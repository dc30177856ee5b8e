"""The package's own programs: plain C, compiled on first use; MPI programs by the compiler of the MPI they run on."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from omnes.errors import OmnesError
from omnes.mpi import Mpi


def build(name: str, mpi: Mpi | None) -> Path:
    """The program `name` for this MPI (or without), compiled unless the same compiler has compiled the same source."""
    compiler = mpi.compiler() if mpi else Path("cc")
    environment = {**os.environ, **(mpi.environment(os.environ) if mpi else {})}
    return compile_once(source(name), compiler, ["-O2"], ["-lm"], mpi.name if mpi else "", environment)


def source(name: str) -> Path:
    return Path(__file__).parent / f"{name}.c"


def compile_once(
    source: Path,
    compiler: Path,
    flags: Sequence[str],
    libraries: Sequence[str],
    version: str,
    environment: Mapping[str, str] = os.environ,
) -> Path:
    """The compiled program, from the cache if the same was compiled before; `version`: of what the words do not say."""
    text = "".join(file.read_text() for file in (source, *sorted(source.parent.glob(f"{source.stem}_*.h"))))
    words = [*flags, *libraries]
    key = hashlib.sha256("\0".join([text, str(compiler), version, *words]).encode()).hexdigest()[:16]
    target = _cache() / f"{source.stem}-{key}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        answer = subprocess.run(
            [str(compiler), *flags, "-o", str(fresh), str(source), *libraries],
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            complaint = (answer.stderr.strip().splitlines() or ["no message"])[-1]
            raise OmnesError(f"cannot compile {source.name} with {compiler}: {complaint}")
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return target


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omnes"
