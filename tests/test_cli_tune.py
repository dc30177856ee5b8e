"""omnes tune, profiles and tables: what is measured, which rules come of it, and that the library obeys them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tomllib

from cli import fails, omnes
from launching import YIELDING, mpirun, the_mpi
from omnes.bench.records import Records
from omnes.bench.timing import Samples
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.traces import statistics
from omnes.tuning import cases, cutoffs, rules
from omnes.tuning.cases import Case, between
from omnes.tuning.search import Found

TWO = Ranks(2, 2)
SIZES = [8, 64, 512, 4096, 32768]


@pytest.fixture(autouse=True)
def no_table_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("OMNES_TABLE", raising=False)


def chosen(operation: str, size: int, table: Path | str, ranks: Ranks = TWO) -> str:
    return prediction.chosen(operation, ranks, size, table=str(table))["text"]


def made_up(operation: str, gains: dict[int, float], winner: str = "chain", noise: float = 0.0) -> list[Found]:
    """By size: how many times faster the winner is than what omnes chooses, in every round, within noise."""
    found = []
    for case in cases.of_grid([operation], [TWO], list(gains)):
        rounds = [1e-6 * (1 + noise * (i % 5 - 2)) for i in range(25)]
        samples = {case.default(False): Samples([1e-6 * gains[case.bytes]] * 25), winner: Samples(rounds)}
        found.append(Found(case, case.default(False), samples, samples))
    return found


def table_of(found: list[Found], folder: Path) -> Path:
    file = folder / "table.toml"
    file.write_text(rules.toml(found, ["made up"], shared_heap=False))
    return file


def test_rules_stand_where_the_winner_won(tmp_path):
    table = table_of(made_up("bcast", {8: 0.9, 64: 1.2, 512: 1.3, 4096: 1.0, 32768: 1.5}), tmp_path)
    won = {size: chosen("bcast", size, table) == "chain" for size in (8, 63, 64, 200, 512, 513, 4096, 32768, 32769)}
    assert won == {**dict.fromkeys(won, False), **dict.fromkeys((64, 200, 512, 32768), True)}
    assert "chain" not in (chosen("bcast", 64, table, Ranks(3, 3)), chosen("bcast", 64, table, Ranks(2, 1)))
    assert chosen("allreduce", 64, table) == chosen("allreduce", 64, "off")


def test_a_cutoff_is_where_all_larger_sizes_gain():
    gains = {8: 1.5, 16: 0.9, 32: 1.1, 64: 1.3}
    assert cutoffs.crossing(gains) == 32
    assert cutoffs.crossing({**gains, 16: 1.01}) == 8
    assert cutoffs.crossing({**gains, 64: 1.0}) is None


def test_settings_stand_in_the_table_where_they_differ(tmp_path):
    slot_bytes, single_copy, direct_copy = cutoffs.with_defaults(8, own_cpus=False)
    kept = cutoffs.Tuned(single_copy, single_copy.default, 0)
    tuned = [cutoffs.Tuned(slot_bytes, "16K", 0.2), kept, cutoffs.Tuned(direct_copy, "1G", 0.2)]
    table = tmp_path / "table.toml"
    table.write_text(rules.toml(made_up("bcast", {8: 1.5}), ["made up"], False, cutoffs.toml(tuned)))
    assert tomllib.loads(table.read_text())["settings"] == {"slot_bytes": "16K", "direct_copy": "1G"}
    assert chosen("bcast", 8, table) == "chain"
    assert not cutoffs.toml([kept])


def test_the_smallest_size_stands_for_all_below(tmp_path):
    table = table_of(made_up("bcast", {8: 1.5, 64: 0.5}), tmp_path)
    assert [chosen("bcast", size, table) for size in (0, 1, 8)] == ["chain"] * 3


@pytest.mark.parametrize(("gain", "noise", "wins"), [(1.5, 0.3, True), (1.1, 0.3, False), (1.02, 0.0, False)])
def test_noise_and_little_gains_make_no_rules(gain, noise, wins):
    assert bool(rules.rules(made_up("bcast", {8: gain}, noise=noise))) == wins


def test_what_won_once_has_to_win_again():
    (once,) = made_up("bcast", {8: 1.5})
    assert once.choice == "chain" and once.promising
    assert replace(once, confirmed={}).choice == once.default
    (lost,) = made_up("bcast", {8: 1.0})
    assert replace(once, confirmed=lost.samples).choice == once.default


def test_one_choice_for_all_sizes_where_ranks_know_none(tmp_path):
    """Rules of alltoallv cannot ask for sizes: a winner at one of them must not lose at another."""
    table = table_of(made_up("alltoallv", {8: 1.5, 64: 1.0}, "pairwise"), tmp_path)
    assert chosen("alltoallv", 0, table) == "pairwise" and "_bytes" not in table.read_text().partition("[measured]")[0]
    assert not rules.rules(made_up("alltoallv", {8: 1.5, 64: 0.9}, "pairwise"))


def test_crossings_are_halved_on_a_logarithmic_scale():
    left, right = (Case(TWO, "bcast", size, size, size) for size in (8, 4096))
    middle = between(left, right)
    assert middle and (middle.bytes, middle.low, middle.high) == (128, 128, 128)
    assert between(left, replace(left, bytes=16, low=16, high=16)) is None


def test_candidates_begin_with_the_present_choice_and_are_no_twins():
    """On two ranks all trees send the same message."""
    machine = MachineCosts.load(None)
    names = cases.candidates(Case(TWO, "bcast", 8, 8, 8), machine, 20, False)
    assert names[0] == "linear" and "knomial" not in names and "chain" not in names and len(names) > 2
    assert len(cases.candidates(Case(Ranks(8, 8), "allreduce", 65536, 8, 8), machine, 3, False)) == 4


def entry(operation: str, size: int, bytes_: int, seconds: float, mean: float = 0, nodes: int = 1) -> dict:
    return {
        "operation": operation,
        "form": "blocking",
        "size": size,
        "nodes": nodes,
        "bytes": bytes_,
        "calls": 10,
        "seconds": seconds,
        "mean_bytes": mean or bytes_,
    }


def test_a_profile_says_what_to_tune():
    entries = [
        entry("bcast", 4, 1024, 1.0, mean=1500),
        {**entry("bcast", 4, 1024, 2.0, mean=1501), "form": "persistent"},
        entry("allreduce", 8, 8, 5.0, nodes=2),
        entry("allreduce", 1, 8, 50.0),
        entry("barrier", 4, 0, 0.001),
        entry("gatherv", 4, 0, 1.0, mean=20),
    ]
    found = cases.of_profile({"entries": entries}, cases.tunable())
    assert found == [
        Case(Ranks(8, 4), "allreduce", 8, 8, 15),
        Case(Ranks(4, 4), "bcast", 1504, 1024, 2047),
        Case(Ranks(4, 4), "gatherv", 16, 0, 0),
    ]


def test_waiting_is_what_other_ranks_spend_less():
    shared = {"calls": 2, "volume": 200}
    of_ranks = [{**shared, "seconds": 3.0, "fastest": 1.0}, {**shared, "seconds": 1.5, "fastest": 0.5}]
    total = statistics._total(of_ranks)
    assert (total["mean_bytes"], total["waiting"], total["beyond_fastest"]) == (100, 1.5, 2.5)


# One launch for both: a table rules a program, and its profile says so.
def test_a_profile_of_a_program_under_a_table(build, tmp_path, monkeypatch):
    table, profile = tmp_path / "table.toml", tmp_path / "profile.json"
    table.write_text("allreduce = [{min_ranks = 4, use = 'rabenseifner'}]\nbcast = [{min_ranks = 4, use = 'chain'}]")
    for name, value in {**YIELDING, "OMNES_TABLE": str(table)}.items():
        monkeypatch.setenv(name, value)
    program = str(build("profiled", the_mpi("openmpi")))
    assert omnes("run", "-n", "4", "--profile", str(profile), program).exit_code == 0
    recorded = statistics.load_profile(profile)
    found = {
        (one["operation"], one["size"]): (one["algorithm"], one["calls"], one["bytes"], one["mean_bytes"])
        for one in recorded["entries"]
    }
    assert found == {
        ("allreduce", 4): ("rabenseifner", 16, 512, 800),
        ("gatherv", 4): ("linear", 16, 0, 20),
        ("bcast", 2): ("linear", 16, 256, 400),
    }
    assert all(one["waiting"] >= 0 and one["beyond_fastest"] >= 0 for one in recorded["entries"])
    assert [(one["operation"], one["members"], one["calls"]) for one in recorded["called"]] == [
        ("allreduce", "0-3", 16),
        ("bcast", "0,2", 8),
        ("bcast", "1,3", 8),
        ("gatherv", "0-3", 16),
    ]


def test_ranks_with_different_tables_leave_it_to_the_host(build, tmp_path):
    """What the tables say has to be alike, not their names: ranks 0 and 2 agree, and so do 1 and 3."""
    of = the_mpi("openmpi")
    for rank in range(4):
        choice = ("chain", "binary")[rank % 2]
        (tmp_path / f"{rank}.toml").write_text(f"bcast = [{{use = '{choice}'}}]")
    script = f"OMNES_TABLE={tmp_path}/$OMPI_COMM_WORLD_RANK.toml exec {build('profiled', of)}"
    run = mpirun(of, 4, "sh", "-c", script, variables={"OMNES_STATS": str(tmp_path)})
    assert run.returncode == 0, run.stderr
    report = statistics.merge(tmp_path)
    assert report is not None
    assert [(one["operation"], one["size"], one["algorithm"], one["ranks"]) for one in report["entries"]] == [
        ("bcast", 2, "binary", 2),
        ("bcast", 2, "chain", 2),
    ]
    assert {one["reason"] for one in report["passed"]} == {"OMNES_ variables or tables differ between ranks"}


def test_a_wrong_table_ends_the_job_with_one_line_that_says_where(build, tmp_path):
    table = tmp_path / "table.toml"
    table.write_text("bcast = [\n  { use = 'knomail' },\n]")
    of = the_mpi("openmpi")
    run = mpirun(of, 1, build("profiled", of), variables={"OMNES_TABLE": str(table)})
    assert run.returncode != 0
    assert (
        f'{table}: line 2: rule 1 of bcast, use: no algorithm "knomail" for bcast; did you mean knomial? valid: '
        in run.stderr
    )


def test_tune_writes_a_table_and_goes_on_where_it_was(tmp_path, monkeypatch):
    for name, value in YIELDING.items():
        monkeypatch.setenv(name, value)
    table = tmp_path / "table.toml"
    words = ["tune", "allreduce", "-n", "2", "-b", "8", "--time", "0.05", "--candidates", "2", "--json"]
    words += ["-o", str(table), "--mpi", str(the_mpi("openmpi").launcher)]
    result = omnes(*words)
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.stdout)
    assert len(found["seconds"]) == 3 and min(found["seconds"].values()) > 0
    assert chosen("allreduce", 8, table) == found["choice"]
    explained = json.loads(omnes("explain", "allreduce", "-n", "2", "--table", str(table), "--json").output)
    measured = {one["candidate"]: one["measured"] for one in explained["candidates"] if one["measured"]}
    assert measured == pytest.approx(found["seconds"], rel=1e-3)

    samples = table.with_suffix(".jsonl")
    before = samples.read_bytes()
    assert omnes(*words).exit_code == 0 and samples.read_bytes() == before
    assert {key.plan for key in Records(samples).cells} <= {"search", "confirm"}
    monkeypatch.setenv("OMNES_WAIT", "spin")
    assert "was begun with another settings" in fails(*words)


def test_settings_are_tuned_by_jobs_that_differ_in_them(tmp_path, monkeypatch):
    monkeypatch.setattr(cutoffs, "SETTINGS", cutoffs.SETTINGS[1:2])
    monkeypatch.setattr(cutoffs, "_SIZES", (8192,))
    monkeypatch.setattr(cutoffs, "_MESSAGES", ("bcast",))
    for name, value in YIELDING.items():
        monkeypatch.setenv(name, value)
    table = tmp_path / "table.toml"
    words = ["tune", "barrier", "--settings", "-n", "2", "--time", "0.05", "--candidates", "1"]
    result = omnes(*words, "-o", str(table), "--mpi", str(the_mpi("openmpi").launcher))
    assert result.exit_code == 0, result.output
    plans = {key.plan: measured for key, measured in Records(table.with_suffix(".jsonl")).cells.items()}
    assert set(plans["switch of single_copy off 8K"].samples) == {"off", "8K"}
    assert set(tomllib.loads(table.read_text()).get("settings", {})) <= {one.name for one in cutoffs.SETTINGS}
    monkeypatch.setenv("OMNES_SINGLE_COPY", "1M")
    assert "unset what --settings is to find: OMNES_SINGLE_COPY" in fails(*words, "-o", str(tmp_path / "other.toml"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("tune", "--settings", "--nodes", "2x1", "-o", "t.toml"), "settings are about ranks that share memory"),
        (("tune", "broadcast", "-o", "t.toml"), "no operation 'broadcast'"),
        (("tune", "neighbor_alltoall", "-o", "t.toml"), "neighbor_alltoall has one algorithm: nothing to tune; valid"),
        (("tune", "-n", "1", "-o", "t.toml"), "-n starts at 2"),
        (("tune", "-b", "12", "-n", "2", "-o", "t.toml"), "12 bytes are no whole number of doubles"),
        (("tune", "-b", "0", "-n", "2", "-o", "t.toml"), "0 bytes have nothing to tune: sizes start at 8"),
        (("tune", "-n", "2", "-o", "nowhere/t.toml"), "cannot write nowhere/t.toml: no folder nowhere"),
        (("tune", "--from-profile", "nowhere.json", "-o", "t.toml"), "cannot read nowhere.json"),
        (("tune", "--from-profile", "x.json", "-n", "2", "-o", "t.toml"), "a profile says ranks and sizes itself"),
        (("explain", "bcast", "-n", "2", "--table", "nowhere.toml"), 'cannot read "nowhere.toml"'),
        (("list", "--table", "nowhere.toml"), 'cannot read "nowhere.toml" (No such file or directory); valid'),
        (("bench", "--table", "/dev/null", "--peer", "a:B=1"), "--table compares omnes with itself"),
    ],
)
def test_wrong_input_is_one_clear_line(words, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complaint in fails(*words)
    assert list(tmp_path.iterdir()) == []


def test_what_decides_before_tables_has_to_go(monkeypatch):
    monkeypatch.setenv("OMNES_BCAST", "linear")
    assert "unset what decides before any table: OMNES_BCAST" in fails("tune", "bcast", "-n", "2", "-o", "t.toml")


def test_rules_are_listed_in_the_order_in_which_they_are_asked(tmp_path):
    table = tmp_path / "table.toml"
    table.write_text("bcast = [{max_ranks = 3, use = 'chain'}]")
    listed = json.loads(omnes("list", "bcast", "--table", str(table), "--json").output)
    assert [rule["own"] for rule in listed] == [True] + [False] * (len(listed) - 1)
    assert listed[0]["text"] == f"{table}, rule 1 of bcast: max_ranks = 3" and listed[0]["use"] == "chain"
    text = omnes("list", "bcast", "--table", "off").output
    assert "table rule 1 of bcast" in text and table.name not in text
    rows = json.loads(omnes("predict", "bcast", "-n", "2", "-b", "8", "--table", str(table), "--json").output)
    assert [row["algorithm"] for row in rows["predictions"] if row["chosen"]] == ["chain"]
