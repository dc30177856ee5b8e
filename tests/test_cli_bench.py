"""omnes bench: jobs take turns, results are right before they are timed, and the table says who is faster."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from cli import fails, omnes
from launching import YIELDING
from omnes.bench.measure import Samples, ratio
from omnes.bench.session import OPERATIONS


@pytest.fixture(autouse=True)
def yielding(monkeypatch):
    for name, value in YIELDING.items():
        monkeypatch.setenv(name, value)


def bench(*words):
    result = omnes("bench", "--time", "0.05", "--json", "-", *map(str, words))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_all_operations_on_stock_and_omnes(mpi):
    data = bench("-n", 2, "-b", "8,64K", "--mpi", mpi.prefix)
    assert [(cell["operation"], cell["bytes"]) for cell in data["cells"]] == [
        (operation, count) for operation in OPERATIONS for count in ([0] if operation == "barrier" else [8, 65536])
    ]
    assert [job["name"] for job in data["jobs"]] == ["stock", "omnes"]
    assert "LD_PRELOAD" in data["jobs"][1]["command"] and "LD_PRELOAD" not in data["jobs"][0]["command"]
    for cell in data["cells"]:
        assert all(len(job["samples"]) >= 5 and job["median"] > 0 for job in cell["jobs"].values())
        assert cell["ratios"]["omnes"] > 0


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
    assert "the broken job: check allreduce 8 double: rank 0 has a wrong element 0" in message


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("scan",), "no operation 'scan' to measure; there are barrier, bcast"),
        (("-b", "12"), "12 bytes are no whole number of doubles: use multiples of 8"),
        (("-b", "many"), "'many' is no size"),
        (("--mpi", "/nowhere"), "launcher /nowhere not found"),
        (("--peer", "x"), "'x' is no peer: write NAME:VARIABLE=VALUE"),
    ],
)
def test_errors_are_one_line(words, complaint):
    assert complaint in fails("bench", *words)


def test_the_ratio_is_taken_within_rounds():
    slow, fast = Samples([2.0, 20.0, 4.0]), Samples([1.0, 10.0, 1.0])
    assert ratio(slow, fast).values == [2.0, 2.0, 4.0]
    assert ratio(slow, fast).median == 2.0
