"""omnes check-guidelines: factors are taken within rounds, and a real MPI is measured with and without omnes."""

from __future__ import annotations

import json

import pytest

from cli import fails, omnes
from launching import PREFIXES, YIELDING
from omnes.bench.session import OPERATIONS
from omnes.bench.timing import Cell, Samples
from omnes.models import guidelines


def results(times: dict[str, list[float]], part: int, ranks: int) -> dict[Cell, dict[str, Samples]]:
    """Of each operation at this size; twice as long at twice the size."""
    found = {}
    for name, values in times.items():
        found[guidelines.cell(name, part, ranks)] = {"stock": Samples(values)}
        found[guidelines.cell(name, 2 * part, ranks)] = {"stock": Samples([2 * value for value in values])}
    return found


def test_sizes_move_the_same_bytes():
    by_text = {one.text: one for one in guidelines.of_size(16, 4, OPERATIONS)}
    one = by_text["bcast <= scatter + allgather"]
    assert (one.left.bytes, [cell.bytes for cell in one.right]) == (64, [16, 16])
    assert by_text["allreduce: 2n <= 2 × n"].left.bytes == 128
    assert by_text["barrier <= allreduce"].left.bytes == 0


def test_only_what_all_operations_are_measured_for():
    texts = [one.text for one in guidelines.of_size(8, 2, ["bcast", "scatter"])]
    assert texts[0] == "scatter <= bcast" and "bcast <= scatter + allgather" not in texts
    assert {"bcast: n <= 2n", "scatter: 2n <= 2 × n"} < set(texts)


@pytest.mark.parametrize(
    ("allreduce", "broken"),
    [
        ([3.0] * 20, True),
        ([2.0] * 20, False),
        ([2.0 * 1.04] * 20, False),  # within the tolerance
        ([1.0, 4.0] * 10, False),  # nobody knows
    ],
)
def test_a_violation_is_one_beyond_tolerance_and_noise(allreduce, broken):
    of = results({"allreduce": allreduce, "reduce": [1.0] * 20, "bcast": [1.0] * 20}, 8, 2)
    rules = guidelines.of_size(8, 2, ["allreduce", "reduce", "bcast"])
    verdicts = {one.guideline.text: one for one in guidelines.judge(rules, 8, of)}
    one = verdicts["allreduce <= reduce + bcast"]
    assert one.right == 2.0 and one.broken(guidelines.TOLERANCE) == broken
    assert not verdicts["bcast: 2n <= 2 × n"].broken(guidelines.TOLERANCE)


def test_a_real_mpi_with_and_without_omnes(monkeypatch):
    for name, value in YIELDING.items():
        monkeypatch.setenv(name, value)
    words = ["bcast", "scatter", "-b", "8", "--time", "0.01", "--mpi", str(PREFIXES["mpich"]), "--json"]
    result = omnes("check-guidelines", *words)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert {one["job"] for one in data["verdicts"]} == {"stock", "omnes"}
    assert len(data["verdicts"]) == 2 * 5 and all(one["factor"] > 0 for one in data["verdicts"])
    for one in data["verdicts"]:
        assert one["broken"] == (one["interval"][0] > 1 + data["tolerance"])


def test_wrong_input_is_one_line():
    assert "no guideline for 'bcats'" in fails("check-guidelines", "bcats")
    assert "no whole number of doubles" in fails("check-guidelines", "-b", "12")
    assert "no mpirun or mpiexec" in fails("check-guidelines", "--mpi", "/proc/self")
