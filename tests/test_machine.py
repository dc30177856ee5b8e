"""The machine's levels, on this machine and on described ones."""

from __future__ import annotations

import os

import pytest

from omnes import _core
from omnes.reporting.machine import facts

# description (hwloc's synthetic form), then for each expected level: name, groups, CPUs of the first group
MACHINES = [
    ("pu:1", [("node", 1, [0])]),
    (
        "package:2 l3:1 core:2 pu:2",
        [("node", 1, list(range(8))), ("socket", 2, [0, 1, 2, 3]), ("l3", 2, [0, 1, 2, 3]), ("core", 4, [0, 1])],
    ),
    # more memories than sockets, as in AMD's NPS modes
    ("package:1 numa:4 l3:2 core:1 pu:1", [("socket", 1, list(range(8))), ("numa", 4, [0, 1]), ("l3", 8, [0])]),
]


@pytest.mark.parametrize(("description", "expected"), MACHINES)
def test_levels_of_a_described_machine(description, expected):
    levels = {level["name"]: level for level in _core.machine(description)["levels"]}
    for name, count, first in expected:
        assert levels[name]["count"] == count
        assert levels[name]["cpus"][0] == first


def test_levels_go_from_wide_to_narrow_and_partition_the_cpus():
    levels = _core.machine("package:2 numa:2 l3:2 l2:2 core:1 pu:2")["levels"]
    assert [level["name"] for level in levels][0] == "node"
    counts = [level["count"] for level in levels]
    assert counts == sorted(counts)
    for level in levels:
        assert sorted(cpu for group in level["cpus"] for cpu in group) == levels[0]["cpus"][0]


def test_this_machine_knows_the_cpus_we_may_use():
    machine = _core.machine()
    assert machine["cpus"] == sorted(os.sched_getaffinity(0))
    assert machine["levels"][0]["name"] == "node"
    assert len(machine["text"].splitlines()) == len(machine["levels"])


def test_a_wrong_description_is_one_clear_line():
    with pytest.raises(
        ValueError, match=r"^machine 'nonsense' is no file, and not a description such as 'package:2 l3:1 core:4 pu:2'$"
    ):
        _core.machine("nonsense")
    with pytest.raises(ValueError, match=r"^machine 'non\\nsense' is no file"):
        _core.machine("non\nsense")


def test_what_a_busy_machine_makes_free_has_no_bandwidth():
    level = {"by": "memory", "name": "node", "send": 1e-7, "latency": 1e-7, "recv": 1e-7, "wire": [[0, 1, 0.0]]}
    found = dict(facts({"level": [level], "copy": [[0, 0, 1e-10]]}))
    assert found["node: bandwidth of the longest messages"] == "not found: the machine was busy"
    assert found["copy within a rank, from cache"] == "10 GB/s"
