"""bench/applications: what its program files say, how results are checked, how well medians are known."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from omnes.bench.applications import description, statistics
from omnes.errors import OmnesError

PROGRAMS = sorted((Path(__file__).parent.parent / "bench/programs").glob("*.toml"))
LEAST = """
why = "It is small."
command = ["./app", "@RANKS@"]
[[figures]]
name = "time"
pattern = 'time ([\\d.]+)'
[[checks]]
pattern = 'sum (.*)'
tolerance = 0.01
[mpi.openmpi]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "app.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_file_is_read(path: Path):
    program = description.read(path)
    assert program.why.strip() and program.figures and program.checks and program.mpi


def test_ten_programs_are_described():
    assert len(PROGRAMS) >= 10


def test_a_figure_is_the_last_one_or_the_sum():
    text = "t 1.5D-01\nt 0m 2.5\n"
    assert description.Figure("t", "^t (.*)$").read(text) == 2.5
    assert description.Figure("t", "^t (.*)$", of="sum").read(text) == pytest.approx(2.65)
    assert description.Figure("t", "^u (.*)$").read(text) is None


def test_a_result_is_compared_with_the_stock_mpis():
    check = description.Check("sum (.*)", 0.01)
    assert check.wrong("sum 1.005", "sum 1") is None
    assert "on the stock MPI 1" in check.wrong("sum 1.02", "sum 1")
    assert "is there 1 times" in check.wrong("sum 1", "sum 1\nsum 1")
    assert "matches" in check.wrong("", "sum 1")
    assert check.wrong("sum nan", "sum 1")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[mpi.openmpi]", "[mpi.other]", r"[mpi.openmpi], [mpi.mpich]"),
        ('["./app", "@RANKS@"]', "[1]", "command is to be a list of words"),
        ("'time ([\\d.]+)'", "'time'", "is to have one group"),
        ("'sum (.*)'", "'sum ('", "is no regular expression"),
        ('name = "time"', 'name = "time"\nof = "first"', "of is one of last, sum"),
        ("command =", 'git = "https://example.org/app"\ncommand =', "a source needs git, commit and build"),
        ("tolerance", "tolerence", "tolerence"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_clear_line(tmp_path: Path, old: str, new: str, complaint: str):
    assert old in LEAST
    with pytest.raises(OmnesError) as fault:
        description.read(written(tmp_path, LEAST.replace(old, new)))
    assert complaint in fault.value.message and "app.toml" in fault.value.message and "\n" not in fault.value.message


def test_words_stand_for_what_differs():
    assert [description.grid(ranks) for ranks in (1, 2, 4, 6, 8)] == [(1, 1), (1, 2), (2, 2), (2, 3), (2, 4)]
    assert description.fill("@ROWS@x@COLUMNS@", {"ROWS": "2", "COLUMNS": "4"}) == "2x4"


def test_medians_are_known_from_enough_values():
    ten = statistics.known(range(1, 11))
    assert (ten.median, ten.low, ten.high, ten.sure) == (5.5, 2, 9, True)  # 1 - 2 * 11/1024 is above 95 %
    assert ten.differs_from(1) and not ten.differs_from(3)
    assert not statistics.known([1, 2, 3]).sure and not statistics.known([1, 2, 3]).differs_from(9)
    assert statistics.ratios([2, 4], [1, 4], "less") == [2, 1] and statistics.ratios([2], [1], "more") == [0.5]
    assert math.isnan(description.numbers("(.*)x", "what x")[0])
