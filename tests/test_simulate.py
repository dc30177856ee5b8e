"""omnes simulate: what is refused, what is written for SimGrid, and, where that is installed, what comes out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli import fails, omnes
from omnes.errors import OmnesError
from omnes.launching import libraries
from omnes.simulation import cells, platforms, smpi

HERE = ("--platform", "fat-tree:2x4")
PROGRAMS = Path(__file__).parent.parent / "python/omnes/programs"
needs_simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None or not libraries.simulated().is_file(),
    reason="no SimGrid (libsimgrid-dev), or omnes was built without its family smpi",
)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory):
    """Programs are compiled once for all tests, and go with them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.mark.parametrize(
    ("text", "hosts", "cores", "shape"),
    [
        ("fat-tree:8x16", 8, 16, "2;2,4;1,2;1,1"),
        ("fat-tree:8x16:leaf=4,up=2", 8, 16, "2;4,2;1,2;1,1"),
        ("torus:2x3x4:cores=8", 24, 8, "2,3,4"),
        ("dragonfly:2x3x4x5", 120, 16, "2,1;3,1;4,1;5"),
    ],
)
def test_platforms_have_the_hosts_that_are_asked_for(text, hosts, cores, shape):
    platform = platforms.parse(text)
    assert (len(platform.hosts), platform.cores) == (hosts, cores)
    assert ElementTree.fromstring(platform.xml)[0].attrib["topo_parameters"] == shape


def test_a_platform_may_be_a_file(tmp_path):
    path = tmp_path / "two.xml"
    path.write_text('<platform><cluster prefix="a" suffix=".z" radical="0-1,5"/><host id="b"/></platform>')
    assert platforms.parse(str(path)).hosts == ("a0.z", "a1.z", "a5.z", "b")


def test_ranks_lie_in_blocks_or_are_dealt_out_or_shuffled():
    platform = platforms.parse("fat-tree:4x2")
    assert platform.host_of_each_rank(4, 2, "block") == ["node-0", "node-0", "node-1", "node-1"]
    assert platform.host_of_each_rank(4, 2, "cyclic") == ["node-0", "node-1", "node-0", "node-1"]
    shuffled = platforms.host_numbers(64, 4, "random")
    assert shuffled == platforms.host_numbers(64, 4, "random") != sorted(shuffled)
    assert sorted(shuffled) == platforms.host_numbers(64, 4, "block")


def test_more_ranks_than_files_may_be_open_are_refused(monkeypatch):
    monkeypatch.setattr(smpi.resource, "getrlimit", lambda _: (1024, 4096))
    machine = smpi.Machine(platforms.parse("fat-tree:1024x16"), 8192, 16, "block")
    with pytest.raises(OmnesError, match=r"8192 ranks need 8256 open files; the limit is 4096 \(ulimit -Hn\)"):
        next(smpi.run(Path("program"), [], machine, "ompi", {}, [], 1))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--platform", "hypercube:8"), "'hypercube:8' is no platform; valid: fat-tree:HOSTSxCORES"),
        (("--platform", "fat-tree:8"), "'fat-tree:8' is no platform"),
        (("--platform", "fat-tree:8x2:leaf=3"), "leaf=3: 8 hosts do not fill leaf switches of 3"),
        (
            ("--platform", "fat-tree:8x2:bw=fast"),
            "'bw=fast' is no parameter of a fat-tree; valid: leaf=N, up=N, bw=12.5G",
        ),
        ((*HERE, "-n", "9"), "9 ranks, 4 on a host, need 3 hosts; fat-tree:2x4 has 2"),
        ((*HERE, "-n", "8", "--nodes", "4x2 random"), "no word 'random'; there are block, cyclic"),
        ((*HERE, "-n", "8", "gossip"), "no operation to simulate 'gossip'; there are barrier, bcast"),
        ((*HERE, "-n", "8", "bcast", "-b", "9"), "9 bytes are no whole number of elements, which have 4 bytes"),
        ((*HERE, "-n", "8", "bcast", "--algorithm", "bcast/warp"), 'no algorithm "warp" for bcast; valid: binary'),
        ((*HERE, "-n", "8", "--selector", "lam"), "no selector 'lam'; there are ompi, mpich, mvapich2, impi"),
    ],
)
def test_errors_are_one_line(words, message):
    assert message in fails("simulate", *words)


def test_results_outlive_an_interruption(tmp_path):
    path = tmp_path / "results.jsonl"
    cell = cells.SimulatedCell("bcast", 8, 64, 16, "block")
    results = cells.Results("torus:4", path)
    results.add(cell, "omnes", 1e-6)
    results.add(cell, "impi", "wrong result")
    assert cells.Results("torus:4", path).of == results.of
    assert cells.Results("torus:8", path).of == {}
    assert cells.Results("torus:4", path, "another build").of == {(cell, "impi"): "wrong result"}
    path.write_text("what?\n")
    with pytest.raises(OmnesError, match="line 1 is no result"):
        cells.Results("torus:4", path)


def simulated(*words: str) -> list[dict[str, object]]:
    return json.loads(omnes("simulate", *HERE, "--json", *words).stdout)


@needs_simgrid
@pytest.mark.parametrize("ranks", [1, 5, 8])
def test_all_operations_are_right_in_simulation(ranks):
    records = simulated(
        "-n", str(ranks), "--nodes", "block,cyclic", "-b", "8,4K,64K", "--selector", "none", *cells.SHAPES
    )
    assert len(records) == 2 * (3 * (len(cells.SHAPES) - 1) + 1)
    assert [record for record in records if "failed" in record] == []


@needs_simgrid
def test_every_algorithm_is_right_in_simulation():
    words = ("-n", "8", "-b", "64", "--selector", "none", "--algorithm", "all")
    records = simulated(*words, "bcast", "allreduce", "allgather", "alltoall")
    assert len({record["contender"] for record in records}) > 20
    assert [record for record in records if "failed" in record] == []


@needs_simgrid
def test_simulated_times_repeat_and_a_file_saves_them(tmp_path):
    words = ("-n", "8", "-b", "1K", "--selector", "ompi", "allreduce", "-o", str(tmp_path / "times.jsonl"))
    first = simulated(*words)
    assert [record["contender"] for record in first] == ["omnes", "ompi"]
    assert simulated(*words[:-2]) == first == simulated(*words)
    assert (tmp_path / "times.jsonl").read_text().count("\n") == 2


@needs_simgrid
def test_an_application_computes_the_same_on_omnes():
    words = ("-n", "8", "--selector", "mpich", "--program", str(PROGRAMS / "cg.c"), "32", "1")
    lines = omnes("simulate", *HERE, *words).output.splitlines()
    results = [line.split(",")[0] for line in lines if "norm" in line]
    assert len(results) == 2 and results[0] == results[1] and "norm 1.481682e+03" in results[0]


@needs_simgrid
def test_a_crash_of_a_program_is_one_line(tmp_path):
    source = tmp_path / "crash.c"
    source.write_text("#include <stdlib.h>\nint main(void) { abort(); }\n")
    answer = omnes("simulate", *HERE, "-n", "2", "--selector", "none", "--program", str(source))
    assert answer.exit_code != 0 and "the simulation failed" in answer.output
