"""Ranks renumbered at run time: right results on real MPIs with both fix-ups, and what is said of it."""

from __future__ import annotations

import json

from cli import fails, omnes
from launching import mpirun
from omnes import _core, placing

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


WAYS = {"ompi": ("exch", "blocking"), "mpich": ("reorder", "nonblocking")}  # one launch on each


def test_results(mpi, build, tmp_path):
    """All operations; roots, places, types, sizes and reductions as for other choices."""
    remap, form = WAYS[mpi.family]
    variables = {"OMNES_FAKE_NODES": "2", "OMNES_REMAP": remap, "OMNES_STATS": str(tmp_path), **FORCED}
    run = mpirun(mpi, 4, build("catalogue", mpi), form, "all", variables=variables, timeout=110)
    assert (run.returncode, run.stdout) == (0, "OK\n"), run.stdout + run.stderr
    report = json.loads((tmp_path / "rank-0.json").read_text())
    ran = {f"{entry['operation']} {entry['algorithm']}" for entry in report["entries"]}
    for variable, name in FORCED.items():
        assert f"{variable.removeprefix('OMNES_').lower()} {name} remap={remap}" in ran


def test_explain_says_whether_and_why(monkeypatch):
    monkeypatch.setenv("OMNES_ALLGATHER", "ring")
    words = ("explain", "allgather", "--nodes", "8x8", "-b", "64K")
    answer = json.loads(omnes(*words, "--cyclic", "--json").output)["renumbering"]
    assert answer["renumbered"] and answer["text"] == "ring remap=reorder" and answer["gain"] > 2
    assert "Ranks: not renumbered, the ranks lie well for it" in omnes(*words).output
    monkeypatch.setenv("OMNES_REMAP", "off")
    assert "Ranks: not renumbered, OMNES_REMAP=off" in omnes(*words, "--cyclic").output
    assert "Ranks:" not in omnes("explain", "allgather", "-n", "8").output


def test_the_machine_decides():
    """One whose network is as fast as a node's memory has nothing to gain."""
    levels = placing.from_pattern("8x8", cyclic=True).levels
    machine = _core.default_machine()
    assert _core.renumbering("allgather", "ring", 65536, levels, machine)["renumbered"]
    for slow, quick in {"0.79e-6": "0.033e-6", "0.314e-9": "0.2e-9", "out = 0.22e-9": "out = 0"}.items():
        machine = machine.replace(slow, quick)
    assert not _core.renumbering("allgather", "ring", 65536, levels, machine)["renumbered"]


def test_wrong_words_are_one_line(monkeypatch):
    assert "on one host there is nothing to deal ranks to" in fails("bench", "-n", "4", "--placement", "cyclic")
    assert "no OMNES_REMAP 'on'; there are off, exch, reorder" in fails(
        "simulate", "-n", "8", "--platform", "fat-tree:2x4", "--remap", "on"
    )
