"""bench/run applications: descriptions of programs, statistics, the page; and a small program measured."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from lab.applications import applications_page, description, installing, measuring
from lab.applications.description import Check, Figure
from lab.applications.measuring import WALL, Key, Measured, Records
from lab.applications.running import HEAP, NOT_ADOPTING, OMNES, STOCK, Case, RunFailed, run
from launching import ROOT, bench, compile_c
from omnes.bench.confidence import known, ratios
from omnes.errors import OmnesError
from omnes.launching.mpi import Mpi
from omnes.terminal import toml_files

pytestmark = pytest.mark.usefixtures("to_measure")

PROGRAM = """
why = "As little as can be."
command = ["/bin/true"]

[[figures]]
name = "loop"
pattern = '^took ([\\d.]+) s'

[[checks]]
pattern = '^sum (\\d+)'

[mpi.openmpi]
"""
SUM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, mine, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine = rank + 1;
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\\ntook 1.5 s\\n", sum);
  return MPI_Finalize();
}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "tiny.toml"
    file.write_text(text)
    return file


def test_every_file_reads():
    programs = [description.read(path) for path in toml_files.pick(ROOT / "bench/programs", [], "program")]
    assert len(programs) >= 10
    assert any(len(program.mpi) == 2 for program in programs)


@pytest.mark.parametrize(
    "change, said",
    [
        (("why = ", "because = "), "there is no 'because'"),
        (("[mpi.openmpi]", "[mpi.other]"), "[mpi.openmpi], [mpi.mpich]"),
        (('command = ["/bin/true"]', ""), "command is to be a list of words"),
        (("([\\d.]+)", "[\\d.]+"), "is to have one group"),
        (("(\\d+)", "(\\d+"), "is no regular expression"),
        (("[[checks]]", '[[figures]]\nname = "x"'), "'checks' is missing"),
        (("[[figures]]", '[[figures]]\nbetter = "most"'), "better is one of less, more"),
        (("command", 'git = "x"\ncommand'), "git, commit and build"),
    ],
)
def test_mistakes_are_one_line(tmp_path, change, said):
    with pytest.raises(OmnesError) as caught:
        description.read(written(tmp_path, PROGRAM.replace(*change, 1)))
    assert said in caught.value.message and "\n" not in caught.value.message


@pytest.mark.parametrize(
    "text, value", [("1.5", 1.5), ("-2", -2.0), ("1.5D-03", 0.0015), ("2m 1.5", 121.5), ("1e3", 1000.0), ("5.", 5.0)]
)
def test_numbers(text, value):
    assert description.numbers("^x (.*)$", f"x {text}\n") == [value]


def test_what_is_no_number_is_none():
    assert math.isnan(description.numbers("^x (.*)$", "x ***\n")[0])


def test_figures():
    text = "t 1.5\nt 2.5\n"
    assert Figure("t", r"^t ([\d.]+)").read(text) == 2.5
    assert Figure("t", r"^t ([\d.]+)", of="sum").read(text) == 4.0
    assert Figure("u", r"^u ([\d.]+)").read(text) is None


def test_checks():
    near = Check(r"^e (-?[\d.]+)", 1e-3)
    assert near.wrong("e 1.0001\n", "e 1.0\n") is None
    assert "on the stock MPI 1" in (near.wrong("e 1.1\n", "e 1.0\n") or "")
    assert "1 times" in (near.wrong("e 1\n", "e 1\ne 2\n") or "")
    assert "matches" in (near.wrong("", "e 1\n") or "")
    assert Check("^valid").wrong("valid\n", "") is None


def test_grid_is_the_squarest():
    assert [description.grid(ranks) for ranks in (1, 2, 4, 8, 12)] == [(1, 1), (1, 2), (2, 2), (2, 4), (3, 4)]


def test_intervals_are_exact():
    """The tables of order statistics: of 10 values the second and the ninth, of 6 all."""
    for count, low, high in ((6, 1, 6), (10, 2, 9), (20, 6, 15)):
        found = known(range(1, count + 1))
        assert found.sure and (found.low, found.high) == (low, high)
    few = known([2.0, 1.0, 3.0])
    assert not few.sure and (few.low, few.median, few.high) == (1.0, 2.0, 3.0) and not few.differs_from(9)
    assert known([1.1] * 10).differs_from(1)


def test_ratios_are_above_one_where_ours_is_better():
    assert ratios([2.0], [1.0], "less") == ratios([1.0], [2.0], "more") == [2.0]


def test_records_outlive_interruptions_and_make_the_page(tmp_path):
    records = Records(tmp_path / "some.jsonl")
    facts = {"name": "m", "processor": "P", "cores": 2, "cpus": 2, "caches": {"L1": "32K"}, "memory": "1G"}
    records.add("campaign", None, begun="2026-01-01T00:00", machine={**facts, "system": "Linux", "load": 0.0})
    key = Key("tiny", "Open MPI", 2)
    for number in range(6):
        for way, seconds in ((STOCK, 2.0), (OMNES, 1.0), (NOT_ADOPTING, 0.5)):
            records.add("run", key, way=way, round=number, figures={WALL: 3 * seconds, "loop": seconds})
    records.add("failed", key, way=HEAP, what="it crawls")
    operations = {"allreduce": {"calls": 100, "seconds": 0.5, "bytes": 800}}
    told = {"waiting": 0.1, "served": 200, "passed": 0, "reasons": [], "operations": operations}
    records.add("profile", key, seconds=2.0, in_collectives=0.5, **told)
    with records.path.open("a") as file:
        file.write('{"record": "run", "unfin')
    again = Records(records.path)
    assert again.cases[key].done() == 6 and again.cases[key].both(OMNES, "loop") == ([2.0] * 6, [1.0] * 6)
    text = applications_page.write(again, [description.read(written(tmp_path, PROGRAM))]).read_text()
    twice, four_times = "**2.000** [2.000, 2.000]", "**4.000** [4.000, 4.000]"
    assert f"| tiny | Open MPI | 2 | 25% | 6 | {twice} | {twice} | {four_times} | {four_times} | failed" in text
    assert "allreduce 0.5 s in 100 calls of 8 bytes" in text and "omnes heap failed: it crawls" in text


def test_a_case_without_runs_has_no_rounds():
    assert Measured().done() == 0


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(installing, "missing", lambda packages: list(packages))
    needing = written(tmp_path, PROGRAM.replace("command", 'packages = ["no-such"]\ncommand', 1))
    with pytest.raises(OmnesError, match="tiny needs what Debian calls no-such: bench/run applications --install tiny"):
        installing.bring(description.read(needing), "openmpi", None, False)


def test_a_program_is_measured(tmp_path, mpi: Mpi):
    """All ways once, its result compared with the stock MPI's; a wrong result is said."""
    (tmp_path / "sum.c").write_text(SUM)
    program = compile_c(tmp_path / "sum.c", mpi, tmp_path)
    of = description.read(written(tmp_path, PROGRAM.replace("/bin/true", str(program))))
    (tmp_path / "inputs").mkdir()
    case = Case(of, "openmpi", mpi, 2, tmp_path / "inputs")
    records = Records(tmp_path / "some.jsonl")
    measuring.measure([case], 1, records, lambda *_: None)
    measured = records.cases[measuring.key_of(case)]
    assert not measured.failed and measured.done() == 1
    assert measured.profile["served"] >= 20 and "allreduce" in measured.profile["operations"]
    assert measured.rounds[OMNES][0]["loop"] == 1.5
    with pytest.raises(RunFailed, match="on the stock MPI 4"):
        run(case, OMNES, "sum 4\n")
    some = Records(tmp_path / "of-one-way.jsonl")
    measuring.measure([case], 1, some, lambda *_: None, (STOCK, OMNES))
    page = Path(applications_page.write(some, [of])).read_text()
    assert set(some.cases[measuring.key_of(case)].rounds) == {STOCK, OMNES}
    assert "| omnes, wall time |" in page and "| omnes heap, wall time |" not in page
    assert _rounds(page) == 1


def _rounds(page: str) -> int:
    head, _, row = page.partition("## All programs")[2].strip().splitlines()[:3]
    names, values = ([cell.strip() for cell in line.split("|")] for line in (head, row))
    return int(values[names.index("rounds")])


@pytest.mark.parametrize(
    "words, said",
    [(["no-such"], "no program 'no-such'"), (["--results", "/nowhere/x", "--page"], "no results in")],
)
def test_mistakes_on_the_command_line(words, said):
    done = bench("applications", *words)
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr
