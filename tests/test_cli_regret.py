"""omnes regret: what it lists, and that the compiled-in choices on several nodes are good by the default machine."""

from __future__ import annotations

import json

import pytest

from cli import fails, omnes
from omnes.algorithms import tables
from omnes.models import quality
from omnes.models.prediction import MachineCosts, Ranks

# A corner of what `omnes regret` covers, with numbers of nodes and ranks that are no powers of two.
NODES, RANKS, SIZES = (2, 3, 4, 5, 8), (1, 3, 4, 8), (8, 512, 2048, 16384, 262144)
WORST, MEAN = 1.5, 1.1


@pytest.fixture(autouse=True)
def the_default_machine(monkeypatch):
    monkeypatch.setenv("OMNES_MACHINE", "off")
    monkeypatch.setenv("OMNES_TABLE", "off")


@pytest.mark.parametrize("operation", quality.OPERATIONS)
def test_choices_are_nowhere_far_from_the_best(operation: str):
    groups = quality.groups(NODES, RANKS, (False, True))
    found = quality.cases([operation], groups, SIZES, MachineCosts.load(None), tables.OFF)
    assert len(found) == len(groups) * (1 if operation == "barrier" else len(SIZES))
    worst = quality.worst(found)
    assert worst.regret < WORST, worst.record
    assert quality.mean(found) < MEAN


@pytest.mark.parametrize("operation", ["scan", "exscan"])
def test_scans_of_many_ranks_are_no_chains(operation: str):
    """Chains took up to 25 times as long."""
    for cyclic in (False, True):
        (case,) = quality.cases([operation], [Ranks(512, 8, cyclic)], [16384], MachineCosts.load(None), tables.OFF)
        assert case.regret < WORST, case.record


def test_many_cyclic_ranks_are_continued_from_whole_nodes():
    """Half of the ranks by their numbers lay unevenly on all nodes, where lanes cannot be predicted."""
    found = quality.cases(["alltoall"], [Ranks(384, 6, True)], [512], MachineCosts.load(None), tables.OFF)
    assert "lanes:node=linear,top=pairwise" in found[0].costs


def test_cases_are_listed_the_worst_first(tmp_path):
    table = tmp_path / "table.toml"
    table.write_text('scan = [{ use = "linear" }]\n')
    words = ("regret", "scan", "bcast", "--nodes", "2,4x4", "-b", "8,1K", "--table", str(table))
    answer = json.loads(omnes(*words, "--json").output)["cases"]
    assert len(answer) == 2 * 2 * 2 * 2
    bad = max(answer, key=lambda case: case["regret"])
    assert (bad["operation"], bad["choice"]) == ("scan", "linear") and "table.toml" in bad["why"]
    assert bad["regret"] == pytest.approx(bad["predicted"] / bad["best_predicted"]) and bad["best"] != "linear"
    text = omnes(*words, "--most", "1").output
    assert f"{bad['regret']:.2f}" in text and "geometric mean" in text


def test_a_good_choice_regrets_nothing():
    (case,) = quality.cases(["bcast"], [Ranks(2, 1)], [8], MachineCosts.load(None), tables.OFF)
    assert case.regret == 1 and case.best == case.choice


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("gatherv",), "no operation that is predicted 'gatherv'; did you mean 'gather'? there are barrier"),
        (("--nodes", "8"), "'8' says not where ranks lie"),
        (("--nodes", "1x1"), "numbers of ranks are 2 to"),
        (("alltoall", "--nodes", "64x8", "-b", "4M"), "would take more than 1G"),
    ],
)
def test_wrong_input_is_one_clear_line(words: tuple[str, ...], complaint: str):
    assert complaint in fails("regret", *words)
