"""omnes map: groups, costs, advice for launchers, pictures, and what it refuses."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from cli import fails, fit, omnes
from omnes import _core
from omnes.placement import patterns
from omnes.traces import statistics
from omnes.traces.members import parse_members


def mapped(*words: str) -> dict:
    return json.loads(omnes("map", *words, "--json").stdout)


def test_bruck_on_two_nodes_has_the_papers_parts():
    found = mapped("allgather/bruck", "-n", "8", "--nodes", "2x4")
    assert sorted(found["parts"]) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert found["bytes_before"] == [14, 42] and found["bytes_after"] == [48, 8]
    assert sorted(found["virtual_of"]) == list(range(8))
    assert all(found["real_of"][virtual] == real for real, virtual in enumerate(found["virtual_of"]))


def test_bytes_and_bandwidths_scale_the_cost():
    one = mapped("allgather/bruck", "--nodes", "2x4")
    more = mapped("allgather/bruck", "--nodes", "2x4", "-b", "1K", "--bandwidth", "10,2")
    assert more["bytes_after"] == [1024 * count for count in one["bytes_after"]]
    assert more["time_after"] == pytest.approx(1024 * (48 / 10 + 8 / 2))
    assert more["gain"] > 1 and more["fixup"] in ("exchange", "reorder")


def test_text_says_what_is_gained_or_that_nothing_is():
    output = omnes("map", "allgather/bruck", "--nodes", "8x8").output
    assert "bytes within" in output and "found by structure (symmetry: rotation)" in output
    assert "node 0 plays 0 8 16 24 32 40 48 56" in output
    assert "nothing to gain" in omnes("map", "allgather/ring", "--nodes", "8x8").output
    assert "a prefix follows the order" in omnes("map", "scan/linear", "--nodes", "2x2 cyclic").output


@pytest.mark.parametrize("method", ["general", "metis"])
def test_other_methods_are_as_good_on_small_graphs(method):
    if method == "metis":
        try:
            _core.require_metis()
        except ValueError as fault:
            assert fails("map", "allgather/bruck", "--nodes", "2x4", "--method", method) == f"omnes: {fault}"
            pytest.skip(str(fault))
    assert mapped("allgather/bruck", "--nodes", "2x4", "--method", method)["bytes_after"] == [48, 8]


def test_levels_nest():
    found = mapped("allreduce/recursive_doubling", "--nodes", "2x2x2x2 cyclic")
    assert found["levels"] == ["numa", "node", "switch", "beyond"]
    assert found["bandwidths"] == [8, 1, 0.125, 0.015625]
    assert found["time_after"] <= found["time_before"]


@pytest.mark.parametrize(
    ("pattern", "cyclic", "node"),
    [
        ("2x3", False, [0, 0, 0, 1, 1, 1]),
        ("2x3", True, [0, 1, 0, 1, 0, 1]),
        ("3,1,2", False, [0, 0, 0, 1, 2, 2]),
        ("3,1,2", True, [0, 1, 2, 0, 2, 0]),
    ],
)
def test_patterns_place_ranks(pattern, cyclic, node):
    assert patterns.placing(pattern + " cyclic" * cyclic).nodes() == node


def test_wider_and_nearer_levels_of_patterns():
    assert patterns.placing("2x2x1").levels == [("node", [0, 1, 2, 3]), ("switch", [0, 0, 1, 1])]
    assert patterns.placing("1x2x2x2 cyclic").levels[0] == ("numa", [0, 2, 0, 2, 1, 3, 1, 3])


def test_traffic_and_placement_from_files(tmp_path):
    traffic, machine = tmp_path / "traffic", tmp_path / "machine.json"
    traffic.write_text("0 2 100  # far\n2 0 100\n1 3 100\n0 1 1\n")
    machine.write_text('{"levels": [{"name": "node", "unit": [0, 0, 1, 1]}], "bandwidths": [4, 1]}')
    found = mapped("--traffic", str(traffic), "--nodes", str(machine))
    assert sorted(found["parts"]) == [[0, 2], [1, 3]]
    assert found["time_before"] == pytest.approx(300 + 1 / 4) and found["time_after"] == pytest.approx(300 / 4 + 1)


def test_advice_for_launchers(tmp_path):
    traffic = tmp_path / "traffic"
    traffic.write_text("0 2 100\n1 3 100\n")

    def advice(kind: str) -> list[str]:
        words = ("--traffic", str(traffic), "--nodes", "2x2", "--format", kind, "--hosts", "a,b")
        return omnes("map", *words).stdout.splitlines()

    assert advice("openmpi")[1:] == ["rank 0=a slot=0", "rank 1=b slot=0", "rank 2=a slot=1", "rank 3=b slot=1"]
    assert advice("mpich")[1:] == ["a:1", "b:1", "a:1", "b:1"]
    assert advice("cray")[1:] == ["0,2", "1,3"]
    assert advice("slurm") == ["a", "b", "a", "b"]


def test_pictures(tmp_path):
    for suffix, start in ((".svg", "<svg"), (".html", "<!doctype html>")):
        file = tmp_path / f"bruck{suffix}"
        assert omnes("map", "allgather/bruck", "--nodes", "2x4", "--draw", str(file)).exit_code == 0
        assert file.read_text().startswith(start)
    squares = ElementTree.parse(tmp_path / "bruck.svg").iter("{http://www.w3.org/2000/svg}rect")
    assert sum(square.get("class") == "node" for square in squares) == 4


def test_table_of_all_algorithms():
    output = omnes("map", "--all", "--nodes", "2x4").output
    assert fit(output)
    for order, table in zip(("2x4", "2x4 cyclic"), output.split("\n\n"), strict=True):
        lines = table.splitlines()
        assert lines[0] == f"| algorithm | {order} | cut | fix-up |"
        names = [line.split("|")[1].strip() for line in lines[2:]]
        assert {"allgather/bruck", "barrier/dissemination", "neighbor_alltoall/linear"} <= set(names)
        assert "allgatherv/bruck" not in names and "alltoallv/tuna" in names and len(names) == len(set(names))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "give one of OPERATION/ALGORITHM, --traffic FILE, --profile FILE and --all"),
        (("allgather/bruck",), "say where ranks lie"),
        (("allgather/bruck", "--nodes", "8"), "'8' says not where ranks lie"),
        (("allgather/bruck", "--nodes", "2x0"), "'2x0' says not where ranks lie"),
        (("allgather/bruck", "--nodes", "2x4", "-n", "9"), "2x4 places 8 ranks, not 9"),
        (("allgather/bruck", "--nodes", "2x4", "--bandwidth", "1"), "'1' is no list of 2 bandwidths"),
        (("allgather/bruck", "--nodes", "2x4", "--draw", "x.png"), "must end in .svg, .html"),
        (("allgather/bruck", "--nodes", "2x4", "--hosts", "a", "--format", "slurm"), "1 hosts for 2 nodes"),
        (("allgather/recursive_doubling", "--nodes", "3x2"), "needs a power-of-two number of ranks"),
        (("bcast/knomial", "--nodes", "2x4", "--method", "structure"), "this traffic has no structure"),
        (("bcast/knomial", "--nodes", "2x4", "--root", "8"), "no root 8 among 8 ranks"),
        (("--traffic", "/nowhere", "--nodes", "2x4"), "cannot read /nowhere"),
        (("allgather/bruck", "--nodes", "/nowhere"), "cannot read /nowhere"),
    ],
)
def test_errors_are_one_line(words, complaint):
    assert complaint in fails("map", *words)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{}", "is no placement"),
        ('{"levels": []}', "expected one or more levels"),
        ('{"levels": [{"name": "numa", "unit": [0, 0]}, {"name": "node", "unit": [0, 1]}]}', "must lie on one unit"),
    ],
)
def test_bad_placements(tmp_path, content, complaint):
    file = tmp_path / "machine.json"
    file.write_text(content)
    assert complaint in fails("map", "allgather/ring", "--nodes", str(file))


def test_bad_traffic(tmp_path):
    file = tmp_path / "traffic"
    file.write_text("0 1 2\n0 one 2\n")
    assert "line 2: expected 'rank rank bytes', found '0 one 2'" in fails(
        "map", "--traffic", str(file), "--nodes", "2x2"
    )
    file.write_text("0 9 2\n")
    assert "names rank 9, but only 4 ranks are placed" in fails("map", "--traffic", str(file), "--nodes", "2x2")


def _profile(file, entries, passed=(), ranks=8):
    names = ("operation", "algorithm", "members", "root", "calls", "mean_bytes")
    called = [dict(zip(names, entry)) for entry in entries]
    file.write_text(json.dumps({**statistics.PROFILE, "ranks": ranks, "called": called, "passed": list(passed)}))
    return str(file)


def test_a_profile_is_the_sum_of_its_calls(tmp_path):
    entries = [
        ("allgather", "ring remap=reorder", "0-6:2", 0, 40, 100),  # 10 calls of 4 ranks, each of which sends 3 parts
        ("bcast", "linear", "7,1", 1, 6, 50),  # 3 calls, from rank 1 to rank 7
        ("barrier", "linear", "3", 0, 9, 0),  # of one rank
    ]
    found = mapped("--profile", _profile(tmp_path / "app.json", entries), "--nodes", "2x4")
    assert found["bytes_before"] == [10 * 2 * 300, 10 * 2 * 300 + 150]
    assert found["bytes_after"] == [sum(found["bytes_before"]), 0]
    assert found["parts"] in ([[0, 2, 4, 6], [1, 3, 5, 7]], [[1, 3, 5, 7], [0, 2, 4, 6]])
    assert found["left_out"] == [] and found["fixup"] == ""
    advice = omnes("map", "--profile", str(tmp_path / "app.json"), "--nodes", "2x4", "--format", "mpich").stdout
    assert len(advice.splitlines()) == 9  # ranks alternate between the nodes


def test_a_profile_says_what_is_left_out(tmp_path):
    entries = [
        ("allreduce", "hierarchical", "0-7", 0, 16, 8),
        ("neighbor_alltoall", "linear", "0-7", 0, 8, 8),
        ("allgather", "hierarchical", "0-3", 0, 8, 1024),
        ("allgather", "hierarchical", "4-7", 0, 8, 1024),
    ]
    passed = [{"operation": "bcast", "calls": 6, "ranks": 2}]
    file = _profile(tmp_path / "app.json", entries, passed)
    found = mapped("--profile", file, "--nodes", "2x4 cyclic")
    assert sorted(reason.split(" calls: ")[0] for reason in found["left_out"]) == ["1", "2", "3"]
    assert found["bytes_after"][1] == 0 < found["bytes_before"][1]
    assert "left out: 2 calls: hierarchical" in omnes("map", "--profile", file, "--nodes", "2x4").output
    nothing = _profile(tmp_path / "none.json", entries[:1])
    assert "nothing to map; left out: 2 calls: hier" in fails("map", "--profile", nothing, "--nodes", "2x4")
    assert "of 8 ranks, but 2x2 places 4" in fails("map", "--profile", file, "--nodes", "2x2")
    (tmp_path / "old.json").write_text(json.dumps(statistics.PROFILE))
    assert "record it again" in fails("map", "--profile", str(tmp_path / "old.json"), "--nodes", "2x2")


@pytest.mark.parametrize(
    ("text", "members"),
    [("0-3", [0, 1, 2, 3]), ("5", [5]), ("0-6:3,1", [0, 3, 6, 1]), ("7-3:-2,0-1", [7, 5, 3, 0, 1])],
)
def test_members_are_runs_of_ranks(text, members):
    assert parse_members(text) == members
