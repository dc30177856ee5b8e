"""omnes list, verify, draw and info: what they show, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli import fails, fit, omnes, unwrapped
from omnes import _core
from omnes.algorithms import catalogue, verification
from omnes.algorithms.verification import Outcome
from omnes.drawing import rounds, svg
from omnes.launching import features

ALGORITHMS = [f"{algorithm['operation']}/{algorithm['name']}" for algorithm in _core.catalogue()]


def drawable(what: str, p: int) -> rounds.Drawing:
    algorithm = catalogue.one(what)
    return rounds.draw(algorithm, p, 0 if algorithm["operation"] in catalogue.ROOTED else None, 0, 1)


def test_help_of_every_command_has_an_example():
    for command in omnes("--help").output.split("Commands:")[1].split("\n"):
        if command.strip():
            name = command.split()[0]
            assert f"omnes {name}" in omnes(name, "--help").output.split("Usage:")[1].split("\n", 1)[1]


def test_list_names_every_algorithm():
    output = omnes("list").output
    assert all(what.split("/")[1] in output for what in ALGORITHMS)
    assert json.loads(omnes("list", "bcast", "--json").output) == catalogue.select("bcast")


def test_list_says_which_operations_with_unequal_parts_an_algorithm_serves():
    output = " ".join(omnes("list").output.split())
    assert "linear everybody sends to the root (also gatherv;" in output
    assert "everybody sends to everybody at once (also alltoallv, alltoallw;" in output
    assert "all at once (also neighbor_alltoallv, neighbor_alltoallw;" in output
    assert "of their distance (also alltoallw; takes k=√p)" in output  # and no operation with equal parts
    assert "from:" in omnes("list", "gatherv").output


def test_other_names_are_listed_and_found():
    assert "(or binomial; takes k=2, segment)" in " ".join(omnes("list", "bcast").output.split())
    assert catalogue.one("bcast/binomial") == catalogue.one("bcast/knomial")
    assert omnes("draw", "gather/flat", "-n", "4").output == omnes("draw", "gather/linear", "-n", "4").output


@pytest.mark.parametrize("operation", _core.operations())
def test_list_tells_how_to_force_an_algorithm(operation):
    last = omnes("list", operation).output.splitlines()[-4:]
    title, by_variable, by_form, by_info = last
    assert max(map(len, last)) <= 80
    variable, _, choice = by_variable.split()[0].partition("=")
    assert title == "To force one:" and variable == f"OMNES_{operation.upper()}"
    assert _core.parse_choice(operation, choice)["text"] == choice
    assert by_form.split()[0] == f"OMNES_I{operation.upper()}=..." and "nonblocking and persistent" in by_form
    assert by_info.split()[0] == f"omnes_{operation}" and "MPI_Comm_set_info" in by_info


def test_list_of_all_tells_how_to_force_any():
    assert [line.split()[0] for line in omnes("list").output.splitlines()[-3:]] == [
        "OMNES_<OPERATION>=ALGORITHM[:k=N,segment=BYTES]",
        "OMNES_I<OPERATION>=...",
        "omnes_<operation>",
    ]
    assert "To force" not in omnes("list", "--json").output


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("list", "broadcast"), "no operation 'broadcast'; did you mean 'bcast'? there are"),
        (("verify", "bcast/nothing"), "no bcast algorithm 'nothing'; there are"),
        (("verify", "-n", "0"), "'0' is no range"),
        (("draw", "bcast", "-n", "4"), "write OPERATION/ALGORITHM"),
        (("draw", "bcast/knomial", "-n", "4", "--root", "4"), "no root 4 among 4 ranks: ranks are 0..3"),
        (("draw", "bcast/knomial", "-n", "4", "--rank", "9"), "no rank 9 among 4: ranks are 0..3"),
        (("draw", "bcast/linear", "-n", "4", "--radix", "3"), "bcast/linear cannot do this"),
        (("draw", "bcast/knomial", "-n", "4", "-o", "x.png"), "the file name must end in .txt, .svg, .html, .goal"),
    ],
)
def test_errors_are_one_line(words, complaint):
    assert complaint in fails(*words)


def test_verify_a_few_ranks():
    result = omnes("verify", "-n", "1..5", "-j", "1", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0 and {outcome["fault"] for outcome in report["outcomes"]} == {""}
    assert {f"{outcome['operation']}/{outcome['algorithm']}" for outcome in report["outcomes"]} == set(ALGORITHMS)
    assert report["proved"] == sum(outcome["proved"] for outcome in report["outcomes"])


CHAIN = """\
# From rank 0 to rank 1.
bcast p 2 rank 0 root 0 radix 0 segments 1 pieces 1
0 send to 1: recv[0]

bcast p 2 rank 1 root 0 radix 0 segments 1 pieces 1
0 recv from 0: recv[0]
"""


def test_verify_schedules_of_a_file(tmp_path):
    file = tmp_path / "chain.txt"
    file.write_text(CHAIN)
    result = omnes("verify", "--schedules", str(file))
    assert (result.exit_code, result.output) == (0, f"{file} is proved on 2 ranks\n")
    file.write_text(CHAIN.replace("0 recv from 0: recv[0]\n", ""))
    result = omnes("verify", "--schedules", str(file), "--json")
    report = json.loads(result.output)
    assert result.exit_code == 1 and report["proved"] is False and report["fault"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("", "no schedules"), ("0 send to 1: recv[0]\n", "begins with '0 send"), (CHAIN + "0 sends\n", "expected")],
)
def test_what_is_no_file_of_schedules_is_an_error(tmp_path, text, complaint):
    file = tmp_path / "none.txt"
    file.write_text(text)
    assert complaint in fails("verify", "--schedules", str(file))
    assert "leave out bcast" in fails("verify", "bcast", "--schedules", str(file))


def test_what_draw_writes_is_proved(tmp_path):
    file = tmp_path / "drawn.txt"
    file.write_text(
        "".join(omnes("draw", "allreduce/ring", "-n", "4", "--rank", str(rank)).output for rank in range(4))
    )
    assert omnes("verify", "--schedules", str(file)).exit_code == 0


def test_the_fault_at_the_smallest_p_is_reported():
    outcomes = [
        Outcome("bcast", name, p, 1, "", fault)
        for name, p, fault in [("a", 5, "late"), ("a", 3, "early"), ("b", 2, ""), ("a", 4, "later")]
    ]
    assert [fault.fault for fault in verification.smallest_faults(outcomes)] == ["early"]


def test_draw_text():
    assert omnes("draw", "bcast/knomial", "-n", "4").output == (
        "bcast/knomial, 4 ranks, root 0\n"
        "2 rounds, 3 messages, from 2 sends\n"
        "\n"
        "rank  round 1  round 2\n"
        "0     →1,2[0]\n"
        "1     ←0[0]\n"
        "2     ←0[0]    →3[0]\n"
        "3              ←2[0]\n"
        "\n"
        "→ sends to; ← receives from; [block indices]\n"
    )


def test_draw_along_nodes():
    assert omnes("draw", "bcast/hierarchical", "-n", "6", "--root", "4", "--nodes", "2x3").output == (
        "bcast/hierarchical, 6 ranks, root 4\n"
        "2 rounds, 5 messages, from 3 sends\n"
        "\n"
        "rank  round 1        round 2\n"
        "0     ←4[0]          →1,2[0]\n"
        "1                    ←0[0]\n"
        "2                    ←0[0]\n"
        "3     ←4[0]\n"
        "4     →0[0] →3,5[0]\n"
        "5     ←4[0]\n"
        "\n"
        "→ sends to; ← receives from; [block indices]\n"
    )
    refused = fails("draw", "scan/hierarchical", "-n", "6", "--nodes", "2x3 cyclic")
    assert "cannot do this: needs the ranks of each unit to be consecutive" in refused
    assert "--nodes is for hierarchical algorithms" in fails("draw", "bcast/linear", "-n", "6", "--nodes", "2x3")


@pytest.mark.parametrize("what", ALGORITHMS)
@pytest.mark.parametrize("p", [1, 2, 4, 8])
def test_every_algorithm_can_be_drawn(what, p):
    drawing = drawable(what, p)
    tree = ElementTree.fromstring(svg.render(drawing))
    arrows = [path for path in tree.iter("{http://www.w3.org/2000/svg}path") if "message" in path.get("class", "")]
    assert len(arrows) == len(drawing.messages)
    assert (drawing.rounds > 0) == (p > 1)
    assert all(0 <= m.source < p and 0 <= m.target < p and m.source != m.target for m in drawing.messages)


@pytest.mark.parametrize(
    ("what", "p", "count"),
    [
        ("bcast/knomial", 16, 4),
        ("allreduce/ring", 5, 8),
        ("allreduce/all_to_all", 9, 1),
        ("barrier/dissemination", 9, 4),
        ("allgather/ring", 6, 5),
    ],
)
def test_rounds(what, p, count):
    assert drawable(what, p).rounds == count


def test_draw_files(tmp_path):
    for suffix, start in ((".svg", "<svg"), (".html", "<!doctype html>"), (".txt", "reduce/knomial, 5 ranks, root 2")):
        file = tmp_path / f"picture{suffix}"
        assert omnes("draw", "reduce/knomial", "-n", "5", "--root", "2", "-o", str(file)).exit_code == 0
        assert file.read_text().startswith(start)


def test_draw_one_rank_shows_the_schedule():
    shown = omnes("draw", "bcast/knomial", "-n", "4", "--rank", "1").output
    assert shown == _core.schedule_text("bcast", "knomial", 4, 1)


def test_draw_json():
    data = json.loads(omnes("draw", "bcast/linear", "-n", "3", "--json").output)
    assert data["rounds"] == 1 and [(m["source"], m["target"]) for m in data["messages"]] == [(0, 1), (0, 2)]


def test_info(monkeypatch):
    monkeypatch.setenv("OMNES_SLOT_BYTES", "8K")  # as in the source paper
    monkeypatch.setenv("OMNES_SLOTS", "8")
    facts = json.loads(omnes("info", "--json").output)
    assert facts["segment_bytes"]["8"] == 768 << 10 and facts["segment_bytes"]["16"] == 3 << 19
    assert any(found["family"] == "ompi" for found in facts["mpis"])
    output = omnes("info").output
    assert all(path in output for path in facts["libraries"].values())
    assert "segment" in output and "persistent collectives: yes" in unwrapped(output) and fit(output)


def test_what_an_mpi_offers(mpi):
    expected = {"persistent": True, "large_counts": not mpi.open_mpi, "progress_hook": True}
    assert features.offers(mpi) == expected
    moved = dataclasses.replace(mpi, launcher=Path("/nowhere/bin/mpirun"))
    assert features.offers(moved) is None
