"""One run of a program, from its start to its end: how long it took, what it says itself, whether it is right."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.applications import installing
from lab.applications.description import Description, fill, grid
from omnes.bench.contenders import COMPILED_IN
from omnes.bench.job import binding
from omnes.errors import OmnesError
from omnes.launching import cpus, launch
from omnes.launching.mpi import Mpi
from omnes.launching.processes import last_words, to_the_end
from omnes.traces import statistics

# How a program is run: the name of the way, and what is set; no variables: without omnes.
STOCK, OMNES, NOT_ADOPTING, HEAP = "stock", "omnes", "omnes alloc_mem", "omnes heap"
WAYS: Mapping[str, Mapping[str, str] | None] = {
    STOCK: None,
    OMNES: COMPILED_IN,
    NOT_ADOPTING: {**COMPILED_IN, "OMNES_HEAP": "alloc_mem"},
    HEAP: {**COMPILED_IN, "OMNES_HEAP": "shared"},
}


@dataclass(frozen=True)
class Case:
    """A program on an MPI with so many ranks; its inputs lie in a folder."""

    program: Description
    mpi_name: str
    mpi: Mpi
    ranks: int
    inputs: Path

    @property
    def bound(self) -> bool:
        """Each rank to a core of its own, where there are so many."""
        return self.ranks <= cpus.usable_cores()

    @property
    def shared(self) -> bool:
        return self.ranks > cpus.usable_cpus()

    @property
    def words(self) -> dict[str, str]:
        rows, columns = grid(self.ranks)
        found = {"RANKS": str(self.ranks), "ROWS": str(rows), "COLUMNS": str(columns)}
        if self.program.git:
            found["SOURCE"] = str(installing.source(self.program, self.mpi_name))
        return found


@dataclass(frozen=True)
class Run:
    seconds: float  # from the launch to the end
    text: str
    figures: dict[str, float]


class RunFailed(OmnesError):
    """It ended badly, hangs, or is wrong."""


def run(case: Case, way: str, stock: str | None = None) -> Run:
    """`stock`: the output of the stock MPI, to compare the result with."""
    done, _ = _run(case, way, None)
    _check(case, done, stock)
    return done


def profile(case: Case, way: str, stock: str) -> tuple[Run, dict[str, Any]]:
    """A run with statistics, also of the stock MPI: what `omnes run --stats` reports."""
    with tempfile.TemporaryDirectory(prefix="omnes-stats-") as folder:
        done, report = _run(case, way, Path(folder))
    _check(case, done, stock)
    if report is None or report["wrong_family"]:
        raise RunFailed("omnes is not loaded: no rank left statistics")
    return done, report


def _check(case: Case, done: Run, stock: str | None) -> None:
    for check in case.program.checks:
        if wrong := check.wrong(done.text, done.text if stock is None else stock):
            raise RunFailed(wrong)
    for figure in case.program.figures:
        if figure.name not in done.figures:
            raise RunFailed(f"it does not say its {figure.name}: nothing matches '{figure.pattern}'")


def _run(case: Case, way: str, kept: Path | None) -> tuple[Run, dict[str, Any] | None]:
    with tempfile.TemporaryDirectory(prefix="omnes-application-") as made:
        folder = Path(made) / "run"
        shutil.copytree(case.inputs, folder)
        for name, content in case.program.files.items():
            (folder / name).write_text(fill(content, case.words))
        started = _launch(case, way, kept)
        said = Path(made) / "said"
        seconds, code = _to_the_end(case, started, folder, said)
        text = said.read_text(errors="replace")
        if case.program.output:
            text += "".join(file.read_text(errors="replace") for file in sorted(folder.glob(case.program.output)))
    if code != 0:
        raise RunFailed(f"exit code {code}: {last_words(text)}")
    read = {figure.name: figure.read(text) for figure in case.program.figures}
    figures = {name: value for name, value in read.items() if value is not None}
    return Run(seconds, text, figures), statistics.merge(kept) if kept else None


def _launch(case: Case, way: str, kept: Path | None) -> launch.Launch:
    options, variables = binding(case.mpi, case.bound)
    settings = WAYS[way]
    of_mpi = case.mpi.yielding if case.shared else {}
    counted = {"OMNES_STATS": str(kept)} if kept else {}
    of_omnes = {**(settings or {}), **counted, **({"OMNES_OFF": "1"} if kept and settings is None else {})}
    return launch.prepare(
        [fill(word, case.words) for word in case.program.mpi[case.mpi_name].command],
        case.ranks,
        options,
        settings is not None or kept is not None,
        str(case.mpi.launcher),
        {"OMP_NUM_THREADS": "1", **variables, **of_mpi, **case.program.variables, **of_omnes},
    )


def _to_the_end(case: Case, started: launch.Launch, folder: Path, said: Path) -> tuple[float, int]:
    with said.open("w") as output:
        try:
            return to_the_end(started, output, case.program.seconds, folder=folder)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"not done in {case.program.seconds:.0f} s; it hangs or crawls") from None
