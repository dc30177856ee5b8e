"""The package's own programs: plain C, compiled on first use; MPI programs by the compiler of the MPI they run on."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from omnes.errors import OmnesError, said
from omnes.launching.mpi import Mpi

_NEEDED_BY = "omnes bench, demo, tune, measure and check-guidelines"
_MAX_LINES = 3  # of a compiler's complaints


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
    _make_cache(target.parent)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        _compile([str(compiler), *flags, "-o", str(fresh), str(source), *libraries], source.name, environment)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return target


def _make_cache(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        allowed, why = os.access(folder, os.W_OK), "not allowed, or on a file system that is read-only"
    except OSError as fault:
        allowed, why = False, said(fault)
    if not allowed:
        raise OmnesError(f"cannot keep compiled programs in {folder}: {why}; name another place: XDG_CACHE_HOME=FOLDER")


def _compile(words: Sequence[str], what: str, environment: Mapping[str, str]) -> None:
    try:
        answer = subprocess.run(
            words, env=dict(environment), capture_output=True, text=True, errors="replace", check=False
        )
        complaint = _telling(answer.stderr + answer.stdout) or f"exit code {answer.returncode}"
    except OSError as fault:
        answer, complaint = None, said(fault)
    if answer is None or answer.returncode != 0:
        missing = answer is None or re.search("not found|unable to find", complaint)
        hint = f" ({_NEEDED_BY} need a C compiler)" if missing else ""
        raise OmnesError(f"cannot compile {what} with {words[0]}: {complaint}{hint}")


def _telling(said: str) -> str:
    """The lines that most likely say why, as one."""
    lines = [line.strip(" -") for line in said.splitlines() if line.strip(" -")]
    telling = [line for line in lines if re.search(r"(?i)error|not found|cannot|unable|no such", line)]
    return "; ".join((telling or lines)[:_MAX_LINES])


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omnes"
