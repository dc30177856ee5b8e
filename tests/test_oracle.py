"""bench/run oracle: bounds that can be reckoned by hand, and a slice that is simulated once."""

from __future__ import annotations

import pytest

import oracle
from lab import lower_bound
from launching import bench
from omnes import programs
from omnes.simulation import platforms, smpi
from test_simulate import needs_simgrid

TWO_HOSTS = lower_bound.Links(1e-6, 2e-7, 3e-7, 1e9, [(frozenset([0]), 1), (frozenset([1]), 2)])


@pytest.mark.parametrize(
    ("host", "operation", "size", "seconds"),
    [
        ([0, 0], "barrier", 0, 8e-7),  # a message in memory
        ([0, 1], "bcast", 8, 1.6e-6),  # a message between hosts
        ([0, 0, 0, 0], "bcast", 8, 1.4e-6),  # three messages, 0.3 us apart
        ([0, 1], "bcast", 1 << 20, 1e-6 + 2**20 / 1e9),
        ([0, 0, 1, 1], "alltoall", 1 << 20, 1e-6 + 4 * 2**20 / 1e9),
        ([0, 0, 0, 1], "reduce_scatter", 1 << 20, 1e-6 + 3 * 2**20 / 1e9),  # three parts come in
        ([0, 0, 0, 1], "reduce", 1 << 20, 1e-6 + 2**20 / 1e9),
        ([0, 1, 1, 1], "gather", 1 << 20, 1e-6 + 3 * 2**20 / 1e9),
        ([0, 0], "bcast", 1 << 20, 2e-7),  # links within a host are shared by nobody
    ],
)
def test_bounds_are_as_reckoned(host, operation, size, seconds):
    assert lower_bound.seconds(TWO_HOSTS, host, operation, size) == pytest.approx(seconds)


def test_a_torus_is_cut_in_slabs():
    cuts = dict(oracle.torus_cuts((4, 2, 2)))
    assert cuts[frozenset([5])] == 6
    assert cuts[frozenset([0, 1, 4, 5, 8, 9, 12, 13])] == 8  # half of the first dimension, which runs fastest


@pytest.mark.parametrize("ranks", oracle.SHAPES)
def test_machines_hold_the_ranks(ranks):
    for machine in oracle.machines(ranks):
        platform = platforms.parse(machine.platform)
        assert len(platform.hosts) * platform.cores == ranks
        assert {host for inside, _ in machine.links.cuts for host in inside} <= set(range(len(platform.hosts)))


@needs_simgrid
def test_simgrid_tells_its_algorithms():
    binary = smpi.compiled(programs.source("simbench"), False)
    names = smpi.named(binary, smpi.Machine(platforms.parse("torus:2"), 2, 1, "random"), "bcast")
    assert {"NTSL", "mpich", "binomial_tree"} <= set(names) and "automatic" not in names


@needs_simgrid
def test_a_slice_is_simulated_once_and_told(tmp_path):
    """Of one host whose ranks share no memory, where lanes and levels bring nothing."""
    words = ["oracle", "--only", "one fast host", "--operations", "barrier,reduce_scatter", "-b", "8"]
    words += ["-o", str(tmp_path / "oracle")]
    for _ in range(2):
        bench(*words).check_returncode()
    lines = (tmp_path / "oracle.jsonl").read_text().splitlines()
    assert len(lines) == len(set(lines)) > 10
    page = (tmp_path / "oracle.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| 64 | one fast host | block | 2 |"))
    assert float(row.split("|")[8]) >= oracle.WORST_OF_ALL
    assert f"{len(lines)} simulations; 0 took less than their bound." in page
