"""Ranks renumbered at run time: right results on real MPIs with both fix-ups, and what is said of it."""

from __future__ import annotations

import json

from cli import fails, omnes
from launching import expect_ok, mpirun
from omnes import _core
from omnes.placement import patterns

# Algorithms whose messages cross two nodes of two ranks less when these play others.
FORCED = {
    "OMNES_ALLGATHER": "bruck",
    "OMNES_ALLGATHERV": "recursive_doubling",
    "OMNES_ALLREDUCE": "circulant",
    "OMNES_ALLTOALL": "bruck",
    "OMNES_BARRIER": "dissemination",
    "OMNES_BCAST": "scatter_bine",
    "OMNES_REDUCE": "circulant",
    "OMNES_REDUCE_SCATTER": "recursive_halving",
    "OMNES_REDUCE_SCATTER_BLOCK": "recursive_halving",
}
# The same run leaves these to the model.
BY_MODEL = ("gather", "scatter", "scan", "exscan")

WAYS = {"ompi": ("exch", "blocking"), "mpich": ("reorder", "nonblocking")}  # one launch on each


def _case(entry: dict) -> tuple[str, int, int, str]:
    return entry["operation"], entry["bytes"], entry.get("root", 0), entry["algorithm"]


def _by_model(operation: str, size: int, commutative: bool) -> str:
    answer = _core.choose(operation, 4, size, size // 8, commutative, [0, 0, 1, 1])
    assert "the model: " in answer["why"]
    return answer["text"]


def test_results(mpi, build, tmp_path, monkeypatch):
    """All operations; roots, places, types, sizes and reductions as for other choices."""
    remap, form = WAYS[mpi.family]
    left = {f"OMNES_{operation.upper()}": "model" for operation in BY_MODEL}
    variables = {"OMNES_FAKE_NODES": "2", "OMNES_REMAP": remap, "OMNES_STATS": str(tmp_path), **FORCED, **left}
    run = mpirun(mpi, 4, build("catalogue", mpi), form, "all", variables=variables)
    expect_ok(run)
    reports = [json.loads((tmp_path / f"rank-{rank}.json").read_text())["entries"] for rank in range(4)]
    ran = {f"{entry['operation']} {entry['algorithm']}" for entry in reports[0]}
    for variable, name in FORCED.items():
        assert f"{variable.removeprefix('OMNES_').lower()} {name} remap={remap}" in ran
    assert all(" us expected" in entry.get("model", "") for entry in reports[0] if entry["operation"] in BY_MODEL)
    chosen = [{_case(entry) for entry in entries if entry["operation"] in BY_MODEL} for entries in reports]
    assert all(of_rank == chosen[0] for of_rank in chosen) and {case[0] for case in chosen[0]} == set(BY_MODEL)
    monkeypatch.setenv("OMNES_SCAN", "model")
    for _, size, _, algorithm in (case for case in chosen[0] if case[0] == "scan"):
        # Of sizes a report says the power of two below, and of reductions not whether they commute.
        expected = {
            _by_model("scan", scale * size // 4, commutes) for scale in range(4, 8) for commutes in (True, False)
        }
        assert algorithm.partition(" ")[0] in expected


def test_explain_says_whether_and_why(monkeypatch):
    monkeypatch.setenv("OMNES_ALLGATHER", "ring")
    words = ("explain", "allgather", "-b", "64K", "--nodes")
    answer = json.loads(omnes(*words, "8x8 cyclic", "--json").output)["renumbering"]
    assert answer["renumbered"] and answer["text"] == "ring remap=reorder" and answer["gain"] > 2
    assert "Ranks: not renumbered, the ranks lie well for it" in omnes(*words, "8x8").output
    monkeypatch.setenv("OMNES_REMAP", "off")
    assert "Ranks: not renumbered, OMNES_REMAP=off" in omnes(*words, "8x8 cyclic").output
    assert "Ranks:" not in omnes("explain", "allgather", "-n", "8").output


def test_the_machine_decides(tmp_path, monkeypatch):
    """One whose network is as fast as a node's memory has nothing to gain."""
    levels = patterns.placing("8x8 cyclic").levels
    machine = _core.default_machine()
    assert _core.renumbering("allgather", "ring", 65536, levels, machine)["renumbered"]
    for slow, quick in {"0.79e-6": "0.033e-6", "0.314e-9": "0.2e-9", "out = 0.22e-9": "out = 0"}.items():
        machine = machine.replace(slow, quick)
    assert not _core.renumbering("allgather", "ring", 65536, levels, machine)["renumbered"]
    assert _core.renumbering("allgather", "ring", 65536, levels)["renumbered"]
    (tmp_path / "quick.toml").write_text(machine)
    monkeypatch.setenv("OMNES_MACHINE", str(tmp_path / "quick.toml"))
    assert not _core.renumbering("allgather", "ring", 65536, levels)["renumbered"]


def test_wrong_words_are_one_line(monkeypatch):
    assert "on one host there is nothing to deal ranks to" in fails("bench", "-n", "4", "--nodes", "cyclic")
    assert "no OMNES_REMAP 'on'; there are off, exch, reorder" in fails(
        "simulate", "-n", "8", "--platform", "fat-tree:2x4", "--remap", "on"
    )
