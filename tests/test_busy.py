"""What bench and demo say on a busy machine: that it is, and no ratio that the samples do not carry."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from omnes.bench import load, overlap, side_by_side
from omnes.bench.job import JobSpec
from omnes.bench.load import Load
from omnes.bench.timing import Cell, Samples
from omnes.commands import demo
from omnes.launching.mpi import Mpi

MPI = Mpi(Path("/mpi/bin/mpirun"), "hydra", "MPICH", "5")
SPECS = (JobSpec("stock", MPI), JobSpec("omnes", MPI, True, baseline="stock"))
CELL = Cell("bcast", 8, "double")
ROUNDS = 40


def printed(table) -> str:
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(table)
    return console.export_text()


def caption(text: str) -> str:
    return " ".join(text.split("┘")[-1].split())


# Seconds of stock and of omnes in each round, and what stands in the ratio's place.
CASES = {
    "a quiet machine": ([2e-6] * ROUNDS, [1e-6] * ROUNDS, "2.00", False),
    "all rounds slow alike": ([2e-6, 2e-4] * 20, [1e-6, 1e-4] * 20, "2.00", False),
    "half of the rounds disturbed": ([2e-6, 2e-4] * 20, [1e-6, 1e-6] * 20, "2 to 200", False),
    "few rounds": ([2e-6, 9e-6, 1e-6], [1e-6] * 3, "1 to 9", False),
    "a drift": (
        [1e-6 * (1 + i) for i in range(ROUNDS)],
        [1e-6 * (1 + i) * (0.5 if i < 18 else 0.45) for i in range(ROUNDS)],
        r"2\.\d\d",
        None,
    ),
    "not the quotient": (
        [1e-6] * 15 + [3e-6] * 25,
        [0.5e-6] * 15 + [1.5e-6] * 4 + [2e-6] * 21,
        r"1\.50|2\.00",
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_only_ratios_that_the_samples_carry(case):
    stock, omnes, expected, marked = CASES[case]
    text = printed(side_by_side.table(SPECS, {CELL: {"stock": Samples(stock), "omnes": Samples(omnes)}}, "here"))
    row = next(line for line in text.splitlines() if "bcast" in line)
    shown = row.split("│")[-2].strip()
    assert re.fullmatch(rf"({expected})\*?", shown), row
    assert ("x to y: the times are spread" in caption(text)) == (" to " in shown)
    assert ("the quotient of the medians differs" in caption(text)) == ("*" in shown)
    quotient = Samples(stock).median / Samples(omnes).median
    if " to " not in shown:
        assert ("*" in shown) == (abs(float(shown.rstrip("*")) / quotient - 1) > 0.05)
    assert marked is None or ("*" in shown) == marked


def test_a_ratio_that_is_not_the_quotient_is_explained():
    """Ratios within rounds: 2 in most; but the medians fall into rounds that differ."""
    stock = [1e-6] * 19 + [2e-6] * 21
    omnes = [0.5e-6] * 21 + [1e-6] * 19
    text = printed(side_by_side.table(SPECS, {CELL: {"stock": Samples(stock), "omnes": Samples(omnes)}}, "here"))
    assert "2.00*" in text and "the quotient of the medians differs" in caption(text)


def test_overlaps_likewise():
    noisy, quiet = Samples([1e-6, 9e-5] * 20), Samples([1e-6] * 40)
    results = {CELL: {"stock": overlap.Overlap(quiet, quiet, noisy), "omnes": overlap.Overlap(quiet, quiet, quiet)}}
    text = printed(overlap.table(SPECS, results, "here"))
    assert "1 to 90" in text and "x to y" in caption(text)


def test_data_for_scripts_have_the_interval():
    samples = {"stock": Samples([2e-6] * 20), "omnes": Samples([1e-6] * 20)}
    (cell,) = side_by_side.as_data(SPECS, {CELL: samples})
    assert cell["ratios"] == {"omnes": 2.0} and cell["ratio_intervals"] == {"omnes": (2.0, 2.0)}


@pytest.mark.parametrize(
    ("stock", "omnes", "expected"),
    [
        ([2.0, 2.1, 9.0], [1.0, 1.1, 5.0], "2.00"),
        ([2.0, 4.0, 9.0], [1.0, 1.1, 5.0], "1.8 to 4"),
        ([2.0], [1.0], "2.00"),
    ],
)
def test_of_a_program_the_two_fastest_runs_have_to_agree(stock, omnes, expected):
    assert re.sub(r"\[/?\w*\]", "", demo._ratio(stock, omnes)) == expected


def test_a_busy_machine_is_told():
    steady, spread = Samples([1e-6] * 20), Samples([1e-6, 3e-6] * 10)
    quiet, busy = Load(0.05, 2, 0.1), Load(1.4, 2, 3.2)
    assert load.warnings(quiet, [steady]) == []
    (said,) = load.warnings(busy, [steady])
    assert "something else takes 1.4 of 2 CPUs (load 3.2)" in said
    (said,) = load.warnings(quiet, [steady, spread, spread])
    assert "Times are spread widely (±50%" in said
    assert len(load.warnings(busy, [spread])) == 2
    assert load.warnings(quiet, []) == []


def test_what_others_take_is_read_from_the_kernel(tmp_path, monkeypatch):
    """Two looks: CPU 0 was at work in 30 of 40 ticks, 10 of them for another guest; CPU 1 in none; 2 is not ours."""
    looks = ["cpu0 100 0 0 100 0 0 0 0 0 0", "cpu0 110 5 5 105 5 0 0 10 7 7"]
    monkeypatch.setattr(load.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(load.os, "getloadavg", lambda: (1.5, 0.0, 0.0))
    stat = tmp_path / "stat"
    monkeypatch.setattr(load, "_STAT", stat)

    def write(which: int) -> None:
        idle = f"cpu1 0 0 0 {100 + 40 * which} 0 0 0 0 0 0"
        stat.write_text(
            f"cpu 1 2 3 4 5 6 7 8 9 10\n{looks[which]}\n{idle}\ncpu2 {which}000 0 0 0 0 0 0 0 0 0\nintr 5\n"
        )

    write(0)
    monkeypatch.setattr(load.time, "sleep", lambda _: write(1))
    assert load.look() == Load(0.75, 2, 1.5)
