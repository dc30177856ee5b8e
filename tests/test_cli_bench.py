"""omnes bench: jobs take turns, results are right before they are timed, and the table says who is faster."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cli import fails, omnes
from launching import YIELDING
from omnes.bench import contenders, overlap, timing
from omnes.bench.job import JobSpec, WrongResult
from omnes.bench.session import FORMS, OPERATIONS, REDUCING, WITH_COUNTS
from omnes.bench.timing import Cell, Samples, checked, ratio
from omnes.errors import OmnesError
from omnes.launching.mpi import Mpi


@pytest.fixture(autouse=True)
def yielding(monkeypatch):
    """And in batches that last as briefly as they may."""
    for name, value in YIELDING.items():
        monkeypatch.setenv(name, value)
    for module in (timing, overlap):
        monkeypatch.setattr(module, "BATCH_SECONDS", 0.0005)
    monkeypatch.setattr(timing, "LONGEST_BATCH", 0.001)


def bench(*words):
    result = omnes("bench", "--time", "0.05", "--json", *map(str, words))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def cells(data):
    return [(cell["operation"], cell["bytes"], cell["counts"]) for cell in data["cells"]]


def all_cells(*sizes):
    return [
        (operation, count, counts)
        for operation in OPERATIONS
        for count in ([0] if operation == "barrier" else sizes)
        for counts in ("equal", "unequal")[: 2 if operation in WITH_COUNTS else 1]
    ]


def test_all_operations_on_stock_and_omnes(mpi):
    data = bench("-n", 2, "-b", "8,64K", "--mpi", mpi.prefix)
    assert cells(data) == all_cells(8, 65536)
    assert [job["name"] for job in data["jobs"]] == ["stock", "omnes"]
    assert "LD_PRELOAD" in data["jobs"][1]["command"] and "LD_PRELOAD" not in data["jobs"][0]["command"]
    for cell in data["cells"]:
        assert all(len(job["samples"]) >= 5 and job["median"] > 0 for job in cell["jobs"].values())
        assert cell["ratios"]["omnes"] > 0


def test_cold_buffers(mpi):
    """Each time, several times what caches hold is filled: half of the operations on each MPI."""
    some = ["bcast", "scatterv"] if mpi.open_mpi else ["allreduce", "alltoall"]
    data = bench(*some, "--buffers", "cold", "-n", 2, "-b", "1K", "--counts", "equal", "--mpi", mpi.prefix)
    assert cells(data) == [cell for cell in all_cells(1024) if cell[2] == "equal" and cell[0] in some]
    assert all(cell["buffers"] == "cold" and cell["ratios"]["omnes"] > 0 for cell in data["cells"])


def test_the_limits_of_this_machine():
    found = bench("--limits")
    assert all(value > 0 for name, value in found.items() if not name.startswith("read"))
    assert "a cache line from one core to the next" in omnes("bench", "--limits").output


@pytest.mark.parametrize(("reduction", "type_name"), [("user", "double"), ("minloc", "double_int")])
def test_other_reductions(mpi, reduction, type_name):
    data = bench("--reduction", reduction, "-n", 3, "-b", 48, "--counts", "equal", "--mpi", mpi.prefix)
    assert [cell["operation"] for cell in data["cells"]] == list(REDUCING)
    assert all((cell["reduction"], cell["type"]) == (reduction, type_name) for cell in data["cells"])


def test_overlap_of_all_operations(mpi):
    data = bench("--nonblocking", "--tests", 2, "-n", 2, "-b", "8K", "--counts", "equal", "--mpi", mpi.prefix)
    assert cells(data) == [cell for cell in all_cells(8192) if cell[2] == "equal"] and data["tests"] == 2
    for cell in data["cells"]:
        assert cell["form"] == "nonblocking" and cell["ratios"]["omnes"] > 0
        for job in cell["jobs"].values():
            assert 0 <= job["overlap"] <= 100
            assert all(len(job["samples"][name]) >= 5 and job[name] > 0 for name in overlap.TIMES)


def test_overlap_with_a_sleep(mpi):
    data = bench("--nonblocking", "--asleep", "ibcast", "-n", 2, "-b", "1M", "--mpi", mpi.prefix)
    (cell,) = data["cells"]
    assert data["asleep"] and all(job["computation"] > 1e-6 for job in cell["jobs"].values())


def test_nonblocking_operations_may_be_named_as_in_mpi(mpi):
    data = bench("--nonblocking", "iscan", "allgatherv", "-n", 3, "-b", 8, "--counts", "equal", "--mpi", mpi.prefix)
    assert cells(data) == [("scan", 8, "equal"), ("allgatherv", 8, "equal")]


def test_persistent_against_the_other_forms(mpi):
    words = ("--persistent", *OPERATIONS, "-n", 2, "-b", 24, "--mpi", mpi.prefix)
    by_form = {form: [] for form in FORMS}
    for cell in bench(*words)["cells"]:
        by_form[cell["form"]].append((cell["operation"], cell["bytes"], cell["counts"]))
        assert all(("gain" in job) == (cell["form"] != "blocking") for job in cell["jobs"].values())
        assert list(cell["jobs"]) == ["stock", "omnes"]
    assert all(of_form == all_cells(24) for of_form in by_form.values())


@pytest.mark.parametrize(
    ("pure", "computation", "total", "expected"),
    [(10, 10, 10, 100), (10, 10, 20, 0), (10, 10, 15, 50), (10, 12, 14, 80), (10, 10, 30, 0), (10, 10, 9, 100)],
)
def test_the_overlap_is_what_the_total_does_not_show(pure, computation, total, expected):
    assert overlap.percent(pure, computation, total) == pytest.approx(expected)


def test_more_ranks_than_cpus(mpi):
    data = bench("allreduce", "-n", 2 * os.cpu_count() + 1, "-b", "16", "--type", "int", "--mpi", mpi.prefix)
    names = [job["name"] for job in data["jobs"]]
    assert names == ["stock", "omnes"] if mpi.open_mpi else ["stock", "stock, yielding", "omnes"]


def test_wrong_results_are_not_timed(mpi, tmp_path):
    library = tmp_path / "wrong.so"
    source = os.path.join(os.path.dirname(__file__), "programs/wrong_allreduce.c")
    subprocess.run([str(mpi.compiler()), "-shared", "-fPIC", source, "-o", str(library)], check=True)
    words = (
        "bench",
        "allreduce",
        "-n",
        "2",
        "-b",
        "8",
        "--mpi",
        str(mpi.prefix),
        "--peer",
        f"broken:LD_PRELOAD={library}",
    )
    message = fails(*words)
    assert "the broken job: check allreduce 8 double equal blocking sum warm: rank 0 has a wrong element 0" in message


class FakeJob:
    """Answers checks, and nothing else."""

    def __init__(self, name, mpi, right, with_omnes=False):
        self.spec = JobSpec(name, mpi, with_omnes)
        self._right = right

    def ask(self, command, _seconds):
        if not self._right:
            raise WrongResult(self.spec.name, command)


def test_where_the_stock_mpi_is_wrong_it_says_so_and_leaves_that_mpi_out(capsys):
    good, bad = (Mpi(Path(f"/{name}/bin/mpirun"), "hydra", name, "1") for name in ("good", "bad"))
    jobs = [
        FakeJob("omnes bad", bad, True, with_omnes=True),
        FakeJob("stock bad", bad, False),
        FakeJob("stock good", good, True),
    ]
    assert [job.spec.name for job in checked(Cell("gather", 8, "double"), jobs)] == ["stock good"]
    assert (
        capsys.readouterr().err
        == "not timed on bad 1: the stock bad job: check gather 8 double equal blocking sum warm\n"
    )
    with pytest.raises(WrongResult, match="omnes good"):
        checked(Cell("gather", 8, "double"), [FakeJob("omnes good", good, False, with_omnes=True)])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("sort",), "no operation 'sort'; there are barrier, bcast"),
        (("iscan",), "no operation 'iscan'; did you mean 'scan'?"),
        (("bcast", "--counts", "unequal"), "only these have unequal counts: gatherv, "),
        (("--persistent", "--nonblocking"), "two measurements: give one of them"),
        (("--tests", "3"), "add --nonblocking"),
        (("--asleep",), "add --nonblocking"),
        (("--persistent", "--buffers", "cold"), "a persistent operation has one buffer"),
        (("--reduction", "minloc", "--type", "int"), "reduction minloc is for double_int, not for int"),
        (("bcast", "--reduction", "user"), "none of these has a user reduction and warm buffers: bcast"),
        (("-b", "8", "--reduction", "minloc"), "8 bytes are no whole number of double_ints: use multiples of 16"),
        (("-b", "12"), "12 bytes are no whole number of doubles: use multiples of 8"),
        (("-b", "many"), "'many' is no size"),
        (("--mpi", "/nowhere"), "launcher /nowhere not found"),
        (("--bandwidth", "1gbit"), "one host has no links: add --nodes 4x2"),
        (("--nodes", "2x1", "--bandwidth", "quick"), "'quick' is no rate: write it as tc does"),
        (("--peer", "x"), "'x' is no peer: write NAME:VARIABLE=VALUE"),
    ],
)
def test_errors_are_one_line(words, complaint):
    assert complaint in fails("bench", *words)


def test_what_omnes_refuses_is_said(mpi):
    said = fails("bench", "bcast", "-n", "2", "--mpi", str(mpi.prefix), "--variant", "odd:OMNES_WAIT=sleep")
    assert "the odd job" in said and 'OMNES_WAIT: "sleep" is not valid; valid: auto, spin, yield' in said


def test_jobs_have_names_of_their_own():
    mpis = [Mpi(Path(f"/opt/{folder}/bin/mpirun"), "prrte", "Open MPI", "5.0.8") for folder in ("a", "b")]
    assert [spec.name for spec in contenders.jobs(mpis, False, [])] == [
        f"{way} Open MPI 5.0.8 by {of.launcher}" for of in mpis for way in ("stock", "omnes")
    ]
    for peer in ("tuned:A=1", "omnes:A=1"):
        with pytest.raises(OmnesError, match="two jobs have one name"):
            contenders.jobs(mpis[:1], False, ["tuned:A=2", peer])


def test_the_ratio_is_taken_within_rounds():
    slow, fast = Samples([2.0, 20.0, 4.0]), Samples([1.0, 10.0, 1.0])
    assert ratio(slow, fast).values == [2.0, 2.0, 4.0]
    assert ratio(slow, fast).median == 2.0
