"""omnes predict, explain and measure: what they say, and what they refuse; and how figures become a machine file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from cli import fails, omnes
from launching import the_mpi
from omnes import _core
from omnes.bench.timing import Samples
from omnes.commands import predict
from omnes.models import costs_file, prediction


def predictions(*words: str) -> list[dict]:
    return json.loads(omnes("predict", *words, "--json").output)["predictions"]


def test_the_papers_broadcast():
    words = ["bcast", "--model", "hockney", "--alpha", "2.37us", "--bandwidth", "3183MB/s", "-n", "8192", "-b", "128"]
    assert "31.3" in omnes("predict", *words).output
    assert predictions(*words)[0]["seconds"] == pytest.approx(31.3e-6, abs=0.05e-6)


def test_each_cell_lists_all_algorithms_that_can_the_fastest_first():
    rows = predictions("allreduce", "-n", "4..8", "-b", "8,64K")
    assert [(row["ranks"], row["bytes"]) for row in rows] == sorted((row["ranks"], row["bytes"]) for row in rows)
    of_8 = [row for row in rows if (row["ranks"], row["bytes"]) == (8, 65536)]
    assert {row["algorithm"] for row in of_8} == {a["name"] for a in _core.catalogue() if a["operation"] == "allreduce"}
    assert [row["seconds"] for row in of_8] == sorted(row["seconds"] for row in of_8)


def test_the_path_adds_up():
    for row in predictions("allreduce/rabenseifner", "--nodes", "8x4", "-b", "8..1M:8"):
        assert set(row["path"]) == set(prediction.PARTS) and sum(row["path"].values()) == pytest.approx(row["seconds"])


def test_hierarchical_ones_are_continued_from_fewer_nodes():
    """Of 512 ranks too many messages to simulate all."""
    words = ("alltoall", "--nodes", "64x8", "-b", "16K")
    (row,) = (row for row in predictions(*words) if row["algorithm"] == "hierarchical")
    assert row["method"] == "continued from fewer ranks" and row["simulated"] == 256
    answer = json.loads(omnes("explain", *words, "--json").output)
    assert "hierarchical" in {entry["candidate"] for entry in answer["candidates"]}
    everything = {entry["candidate"].partition(":")[0] for entry in (*answer["candidates"], *answer["excluded"])}
    assert everything == {a["name"] for a in _core.catalogue() if a["operation"] == "alltoall"}


def test_what_cannot_be_predicted_is_listed_with_its_reason():
    answer = omnes("explain", "alltoall", "--nodes", "3x5", "-b", "16K").output
    assert "Excluded: " in answer


def test_predictions_grow_with_ranks():
    seconds = [row["seconds"] for row in predictions("bcast/knomial", "-n", "16..8192", "-b", "16K", "--nodes", "x1")]
    assert len(seconds) == 10 and seconds == sorted(seconds)


def test_explain_names_choice_rule_runner_up_and_the_excluded(monkeypatch):
    answer = json.loads(omnes("explain", "allreduce", "-n", "6", "-b", "64K", "--ordered", "--json").output)
    candidates = {entry["candidate"] for entry in answer["candidates"]}
    assert answer["choice"] in candidates and "table rule" in answer["why"]
    assert answer["runner_up"] in candidates - {answer["choice"]}
    assert {"candidate": "ring", "why": "needs a predefined operation"} in answer["excluded"]
    monkeypatch.setenv("OMNES_ALLREDUCE", "knomial:k=3")
    text = omnes("explain", "allreduce", "-n", "6").output
    assert text.startswith("Chosen: knomial:k=3, by OMNES_ALLREDUCE") and "runner-up" in text


def test_explain_knows_that_buffers_are_adopted(monkeypatch):
    case = ("allreduce", "-n", "2", "--json", "-b")
    monkeypatch.setenv("OMNES_HEAP", "alloc_mem")
    before = json.loads(omnes("explain", *case, "256K").output)
    monkeypatch.setenv("OMNES_HEAP", "shared")
    shared = json.loads(omnes("explain", *case, "256K").output)
    monkeypatch.delenv("OMNES_HEAP")
    long, short = (json.loads(omnes("explain", *case, size).output) for size in ("256K", "16K"))
    assert before["buffers"] == shared["buffers"] == "" and before["why"] != shared["why"]
    assert short["buffers"].startswith("not adopted: ")
    kernel_answers = long["buffers"].startswith("adopted when they come back")
    assert kernel_answers or "kernel" in long["buffers"]
    assert long["why"] == before["why"]
    assert (
        f"Buffers: {long['buffers']} (OMNES_HEAP=auto)" in omnes("explain", "allreduce", "-n", "2", "-b", "256K").output
    )


def test_a_narrow_terminal_shows_all_names_and_figures():
    rows = predictions("allreduce", "-n", "4,64", "-b", "8,1M")
    console = Console(width=80, file=io.StringIO())
    console.print(predict.as_table("allreduce", rows, "machine: here", with_formula=False))
    text = console.file.getvalue()
    assert "…" not in text and max(map(len, text.splitlines())) <= 80
    assert all(title in text for title in ("algorithm", *prediction.PARTS))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("predict", "bcast"), "say how many ranks"),
        (("predict", "broadcast", "-n", "4"), "no operation 'broadcast'"),
        (("predict", "bcast/knomail", "-n", "4"), "no bcast algorithm 'knomail'; did you mean 'knomial'?"),
        (
            ("predict", "allgather/recursive_doubling", "-n", "6"),
            "recursive_doubling needs a power-of-two number of ranks",
        ),
        (("predict", "bcast", "-n", "4", "--nodes", "2x4"), "--nodes 2x4 are 8 ranks, but -n is 4"),
        (("predict", "bcast", "-n", "4", "--nodes", "two"), "'two' says not where ranks lie"),
        (("predict", "bcast", "-n", "2M"), "numbers of ranks are 1 to 1048576"),
        (("predict", "neighbor_alltoall/linear", "-n", "4"), "operations among neighbors depend on the topology"),
        (
            ("predict", "bcast/chain", "-n", "4", "--model", "hockney"),
            "no formula for bcast/chain; there are bcast/knomial",
        ),
        (("predict", "bcast", "-n", "4", "--model", "hockney", "--alpha", "2"), "'2' is no time"),
        (("predict", "bcast", "-n", "4", "--costs", "nowhere.toml"), "cannot read nowhere.toml"),
        (("predict", "reduce", "-n", "4", "--reduction", "f64 som"), "has no 'f64 som'; it has f64 sum"),
        (("explain", "bcast", "-n", "4..8"), "explain one case at a time"),
        (("measure", "-o", "nowhere/machine.toml"), "cannot write nowhere/machine.toml: no folder nowhere"),
    ],
)
def test_wrong_input_is_one_clear_line(words: tuple[str, ...], complaint: str):
    assert complaint in fails(*words)


def test_a_wrong_machine_file_is_named(tmp_path: Path):
    wrong = tmp_path / "machine.toml"
    wrong.write_text(_core.default_machine().replace("version = 1", "version = 9"))
    assert fails("predict", "bcast", "-n", "4", "--costs", str(wrong)).endswith(
        "machine.toml: machine file: version: valid: 1"
    )


def test_without_a_file_it_is_the_machine_that_a_job_would_know(tmp_path: Path, monkeypatch):
    own = tmp_path / "own.toml"
    own.write_text(_core.default_machine().replace('name = "default"', 'name = "own"'))
    monkeypatch.setenv("OMNES_MACHINE", str(own))
    assert prediction.MachineCosts.load(None).facts["name"] == "own"
    monkeypatch.setenv("OMNES_MACHINE", "off")
    assert prediction.MachineCosts.load(None).facts["name"] == "default"
    own.write_text("version = 9")
    monkeypatch.setenv("OMNES_MACHINE", str(own))
    assert f"{own}: machine file: does not say format" in fails("explain", "bcast", "-n", "4")


def test_curves_go_through_their_points_and_never_fall():
    pieces = costs_file.curve([(8, 1.0), (16, 3.0), (32, 2.0), (64, 6.0)])
    at = lambda n: next(alpha + beta * n for start, alpha, beta in reversed(pieces) if start <= n)  # noqa: E731
    assert [at(n) for n in (8, 16, 32, 48, 64, 128)] == pytest.approx([1, 3, 3, 4.5, 6, 12])
    assert at(0) == 0  # not below
    assert costs_file.curve([(8, 1.0)]) == [[0, 1.0, 0.0]]


@pytest.mark.parametrize("single_from", [96 * 1024, costs_file.NEVER])
def test_figures_become_the_machine_that_they_were_taken_on(single_from):
    """Timings as a machine of round figures would give them are predicted again, the sizes between them too."""
    figures = costs_file.Figures()

    def add(what: str, size: int, seconds: float, pairs: int = 1) -> None:
        figures.samples[what, size, pairs] = Samples([seconds] * 5)

    call, work, latency = 0.1e-6, 0.04e-6, 0.2e-6
    empty = call + 2 * work + latency
    for size in (0, 8, 8192, 16384, 131072, 1 << 20):
        copy, single = size * 0.1e-9, 2e-6 + size * 0.08e-9
        long = size >= single_from
        way = 2e-6 + size * 0.04e-9 if long else copy * (1 + min(1.0, 8192 / size) if size else 2)
        for what in ("publish", "pair"):
            add(what, size, empty + way)
        add("swap", size, empty + (single if long else 2 * copy))
        add("combine", size, empty + single)
        add("one_way", size, 4e-6 + size * 1e-9)
        add("exchange", size, 4e-6 + size * 1.5e-9)
        add("one_way", size, 4e-6 + size * 2e-9, pairs=4)
    add("call", 8, call)
    add("burst", 0, 1e-6)
    add("many", 2048, figures.at("publish", 8) + (costs_file.BURST - 1) * work)
    text = costs_file.machine_file(
        figures, "made up", "a test", 4, [(64, 1e-9), (1 << 20, 1e-4)], {"f64 sum": [(64, 1e-9)]}, single_from
    )
    machine = prediction.MachineCosts(text, _core.described_machine(text))
    near, far = prediction.Ranks(2, 2), prediction.Ranks(2, 1)
    for size in (8, 12000, 16384, 500_000, 1 << 20):
        expected = figures.at("publish", size) if ("publish", size, 1) in figures.samples else None
        seconds = prediction.predict("bcast", "linear", near, [size], machine)[0]["seconds"]
        if expected:
            assert seconds == pytest.approx(expected, rel=0.05), size
        network = prediction.predict("bcast", "knomial", far, [size], machine)[0]["seconds"]
        assert network == pytest.approx(call + 4e-6 + size * 1e-9, rel=0.05), size
    assert "out = 5e-10" in text and "exchange = 1.5" in text


def test_measure_writes_a_machine_file(tmp_path: Path):
    output = tmp_path / "machine.toml"
    result = omnes("measure", "-n", "2", "-o", str(output), "--rounds", "5", "--mpi", str(the_mpi("openmpi").launcher))
    assert result.exit_code == 0 and "a publish in shared memory" in result.output
    assert _core.described_machine(output.read_text())["levels"] == ["node", "network"]
    rows = predictions("allreduce", "-n", "2", "-b", "8,1M", "--costs", str(output))
    assert all(0 < row["seconds"] < 1 for row in rows)
