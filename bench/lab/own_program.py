"""Programs of this folder: compiled for an MPI, and run to the end on it or under omnes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from omnes import programs
from omnes.bench.job import binding
from omnes.errors import OmnesError
from omnes.launching import cpus, launch
from omnes.launching.mpi import Mpi


def compiled(source: Path, mpi: Mpi) -> Path:
    environment = {**os.environ, **mpi.environment(os.environ)}
    return programs.compile_once(source, mpi.compiler(), ["-O2"], [], mpi.name, environment)


def output(
    mpi: Mpi,
    words: Sequence[str],
    ranks: int,
    with_omnes: bool,
    what: str,
    seconds: float,
    settings: Mapping[str, str] | None = None,
    as_it_comes: bool = False,
) -> str:
    """What a job prints. Its ranks are bound to cores where there is one for each; else they yield. Not if it is to be
    started as it comes, as its user would.

    OmnesError, which begins with `what`: the job has failed, or taken longer than so many seconds.
    """
    options: list[str] = []
    variables = dict(settings or {})
    if not as_it_comes:
        crowded = ranks > cpus.usable_cpus()
        options, bound = binding(mpi, not crowded)
        variables = {**bound, **variables, **(mpi.yielding if crowded else {})}
    job = launch.prepare(words, ranks, options, with_omnes, str(mpi.launcher), variables)
    try:
        done = subprocess.run(
            job.command, env=job.full_environment(), capture_output=True, text=True, timeout=seconds, check=False
        )
        done.check_returncode()
        return done.stdout
    except subprocess.SubprocessError as fault:
        raise OmnesError(f"{what}: {str(fault).splitlines()[0]}") from None
