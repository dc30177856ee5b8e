"""The package's own programs: plain C, compiled on first use; MPI programs by the compiler of the MPI they run on."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from omnes.errors import OmnesError
from omnes.mpi import Mpi


def build(name: str, mpi: Mpi | None) -> Path:
    """The program `name` for this MPI (or without), compiled unless the same compiler has compiled the same source."""
    folder = Path(__file__).parent
    source = folder / f"{name}.c"
    text = "".join(file.read_text() for file in (source, *sorted(folder.glob(f"{name}_*.h"))))
    compiler = mpi.compiler() if mpi else Path("cc")
    key = hashlib.sha256(f"{text}\0{compiler}\0{mpi.name if mpi else ''}".encode()).hexdigest()[:16]
    target = _cache() / f"{name}-{key}"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    environment = {**os.environ, **(mpi.environment(os.environ) if mpi else {})}
    try:
        answer = subprocess.run(
            [str(compiler), "-O2", "-o", str(fresh), str(source), "-lm"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            complaint = (answer.stderr.strip().splitlines() or ["no message"])[-1]
            raise OmnesError(f"cannot compile {name}.c with {compiler}: {complaint}")
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return target


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omnes"
