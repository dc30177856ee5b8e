"""Where a program's time goes: waiting for late ranks is told from moving data, and laid at the right door."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import cli
from launching import LIMIT, YIELDING, output_of
from omnes.traces import shares, statistics, waiting

SECOND = 1_000_000_000  # ns
ROUNDS, LATE = 20, 100_000  # of late.c, and us: more than a busy machine keeps a rank from its CPU, added up
PAUSE, SLOW = 0.4, 0.2  # seconds, of seldom.c: one pause, and all that rank 1 is kept in MPI_Allreduce


def omnes(*words):
    done = cli.omnes(*map(str, words))
    assert done.exit_code == 0, done.output
    return done.output


def fails(code, *words):
    assert cli.omnes(*map(str, words)).exit_code == code
    return cli.fails(*map(str, words))


def run_late(mpi, build, *options, late=1, ranks=3):
    """Of tests/programs/late.c: one rank comes late to each of its calls of MPI_Allreduce."""
    words = ["run", "-n", str(ranks), "--mpirun", str(mpi.launcher), *map(str, options)]
    words += ["--", str(build("late", mpi)), str(late), str(ROUNDS), str(LATE)]
    environment = {**os.environ, **YIELDING}
    return subprocess.run(
        [sys.executable, "-m", "omnes", *words], capture_output=True, text=True, timeout=LIMIT, env=environment
    )


@pytest.fixture(scope="module", params=["omnes", "stock"])
def profile(request, mpi, build, tmp_path_factory):
    """A recorded run, and what was said of it."""
    folder = tmp_path_factory.mktemp("profile")
    off = ["--no-omnes"] if request.param == "stock" else []
    files = [f"--json={folder}/stats.json", f"--csv={folder}/stats.csv", "--profile", folder / "app.json"]
    done = run_late(mpi, build, *off, "--stats", "--by-site", *files)
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "stats.json").read_text())
    assert bool(report["entries"]) == (request.param == "omnes")
    return folder, report, done.stderr


def test_others_wait_for_the_planted_late_rank(profile):
    _, report, said = profile
    [first, *_] = shares.late(report)
    assert first["rank"] == 1 and first["last"] > ROUNDS / 2
    assert first["others_wait"] > 0.5 * sum(one["others_wait"] for one in report["per_rank"])
    waits = {one["rank"]: one["waiting"] for one in report["per_rank"]}
    assert min(waits, key=waits.get) == 1
    assert re.search(r"rank 1 was last in \d+ calls: others waited", said)


def test_others_wait_on_other_nodes_too(mpi, build, tmp_path, monkeypatch):
    monkeypatch.setenv("OMNES_FAKE_NODES", "3")
    done = run_late(mpi, build, f"--json={tmp_path}/stats.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "stats.json").read_text())
    # By the broadcasts, for which nobody is late.
    assert report["nodes"] == 3 and 0 < report["clocks"] < LATE * 1e-6 / 4
    [first, *_] = shares.late(report)
    assert first["rank"] == 1 and first["last"] > ROUNDS / 2


def test_imbalance_shows_by_rank(profile):
    _, report, _ = profile
    inside = {one["rank"]: one["in_collectives"] for one in report["per_rank"]}
    assert min(inside, key=inside.get) == 1  # it computes meanwhile
    for one in report["per_rank"]:
        assert 0 <= one["waiting"] <= one["in_collectives"] <= one["in_mpi"] <= one["seconds"]
    assert [len(row) for row in report["timeline"]["waiting"]] == [waiting.BINS] * 3


def test_kinds_say_calls_bytes_and_what_their_time_was(profile):
    _, report, _ = profile
    rows = {(row["operation"], row["size"]): row for row in report["kinds"]}
    allreduce = rows["allreduce", 3]
    assert (allreduce["calls"], allreduce["bytes"], allreduce["mean_bytes"]) == (3 * ROUNDS, 8, 8)
    assert allreduce["waiting"] + allreduce["moving"] == pytest.approx(allreduce["seconds"])
    assert allreduce["waiting"] > rows["bcast", 3]["waiting"]  # there nobody was kept
    assert (rows["bcast", 3]["bytes"], rows["gather", 3]["bytes"]) == (4, 4)
    by_rank = allreduce["seconds_by_rank"]
    assert by_rank["min"] <= by_rank["mean"] <= by_rank["max"]
    assert {one["members"]: one["calls"] for one in report["communicators"]} == {
        "0-2": 9 * ROUNDS,
        "0,2": 2 * ROUNDS,
    } | {one["members"]: one["calls"] for one in report["communicators"] if one["size"] == 1}
    assert [(one["function"], one["calls"]) for one in report["functions"]] == [("MPI_Sendrecv", 2)]


def test_call_sites_are_functions_of_the_program(profile):
    _, report, _ = profile
    by_function = {one["function"]: one for one in report["sites"]}
    assert by_function["reduce_all"]["calls"] == 3 * ROUNDS
    assert by_function["reduce_all"]["waiting"] == max(one["waiting"] for one in report["sites"])


def test_the_answer_comes_first_and_fits_80_columns(profile):
    folder, report, said = profile
    lines = said.splitlines()
    assert re.match(r"\d+ % of .* in collectives \(\d+ to \d+ % by rank\), \d+ % in MPI", lines[0])
    until = next(at for at, line in enumerate(lines) if line.lstrip().startswith("Collectives of each"))
    assert all(len(line.rstrip()) <= 80 for line in lines[:until] if not line.startswith("of the time"))
    table = (folder / "stats.csv").read_text().splitlines()
    assert len(table) == 1 + len(report["kinds"]) and table[0].startswith("operation,form,size,nodes,bytes")


def test_advice_says_what_cannot_be_gained(profile):
    folder, report, _ = profile
    data = json.loads(omnes("advise", folder / "app.json", "--json"))
    assert data["waiting"] == pytest.approx(report["waiting"]["mean"] * report["seconds"]["mean"])
    assert data["moving"] + data["waiting"] <= data["seconds"] and data["ratio"] >= 1
    assert "most for rank 1" in omnes("advise", folder / "app.json")


def test_the_page_has_a_timeline_and_the_imbalance(profile, tmp_path):
    pytest.importorskip("matplotlib")
    folder, _, _ = profile
    page = tmp_path / "page.html"
    omnes("report", "-o", page, "--profile", folder / "app.json", "--only", "bcast", "--scale", "2..4")
    text = page.read_text()
    assert "Ranks in collectives, as time goes by" in text and "What each rank&#x27;s time goes into" in text


@pytest.mark.parametrize("off", [[], ["--no-omnes"]], ids=["omnes", "stock"])
def test_few_slow_calls_among_many_count_once_each(mpi, build, tmp_path, off):
    """By the program's own clock, which it reads around each call: so it sees a little more than is reported."""
    words = ["run", "-n", "2", "--mpirun", str(mpi.launcher), *off, "--by-site", f"--json={tmp_path}/stats.json"]
    environment = {**os.environ, **YIELDING}
    said = output_of(sys.executable, "-m", "omnes", *words, build("seldom", mpi), environment=environment)
    receiving, reducing, slow = map(float, said.split())
    report = json.loads((tmp_path / "stats.json").read_text())
    [received] = [one["seconds"] for one in report["functions"] if one["function"] == "MPI_Recv"]
    assert receiving / 2 < received <= receiving
    second = report["per_rank"][1]
    unseen = 0.4 * SLOW  # less than one half of them. Of quick calls only some are timed, whoever has the CPU in others
    assert slow - unseen < second["in_collectives"] and second["in_mpi"] <= second["seconds"]
    rows = [row for row in report["kinds"] if row["operation"] == "allreduce"]
    in_rows = max(row["seconds_by_rank"]["max"] for row in rows)
    # Quick ones are taken to be like those that are timed.
    assert slow - unseen < in_rows <= slow + 2 * (reducing - slow)
    [calls] = [row for row in report["kinds"] if row["operation"] == "bcast" and row["bytes"] == 4]
    assert calls["seconds_by_rank"]["max"] < PAUSE  # not all the time since the call of nothing
    by_site = sum(one["seconds"] for one in report["sites"])
    assert by_site == pytest.approx(sum(row["seconds"] for row in report["kinds"]), rel=0.01)


def a_file(rank, timed, node=0, size=2, **more):
    """Of a rank. timed: operation -> calls: number, begin, ns, root."""
    kinds = [
        {"operation": operation, "bytes": 8, "calls": len(calls), "timed": [[*call, 0] for call in calls]}
        for operation, calls in timed.items()
    ]
    entries = [
        {"operation": operation, "form": "blocking", "size": size, "nodes": 1, "bytes": 8, "algorithm": "a", "root": 0}
        | {"group": 0, "calls": len(calls), "volume": 8 * len(calls), "fastest": 1e-9}
        | {"seconds": sum(call[2] for call in calls) * 1e-9}
        for operation, calls in timed.items()
    ]
    return {
        "rank": rank,
        "size": size,
        "node": node,
        "library": "ompi",
        "seconds": 10.0,
        "begun": 0,
        "groups": [f"0-{size - 1}" if size > 2 else "0,1"],
        "entries": entries,
        "passed": [],
        "notes": [],
        "functions": [],
        "sites": [],
        "timed": [{"communicator": "1", "group": 0, "kinds": kinds}],
        **more,
    }


@pytest.mark.parametrize(
    ("operation", "begins", "root", "expected", "latest"),
    [
        ("allreduce", (0, 3, 1), 0, (3, 0, 2), 1),
        ("barrier", (0, 0, 0), 0, (0, 0, 0), 0),
        ("bcast", (0, 3, 1), 2, (1, 0, 0), 2),
        ("scatterv", (0, 3, 1), 1, (3, 0, 2), 1),
        ("reduce", (0, 3, 1), 0, (3, 0, 2), 1),
        ("scan", (0, 3, 1), 0, (0, 0, 2), 1),
        ("neighbor_alltoall", (0, 3, 1), 0, (0, 0, 0), None),
    ],
)
def test_who_waits_for_whom(operation, begins, root, expected, latest):
    waits, found = waiting._waits(operation, begins, [begin + 5 for begin in begins], root)
    assert (tuple(waits), found) == (expected, latest)
    left_early, _ = waiting._waits(operation, begins, [begin + 0.5 for begin in begins], root)
    assert all(waited <= 0.5 for waited in left_early)


def test_clocks_of_nodes_are_set_by_the_calls(tmp_path):
    """The second rank's clock is 7 s ahead; it is 1 s late for the first call, and the first as late for the second."""
    ahead = 7 * SECOND
    calls = [[(1, 0, SECOND + 100, 0), (2, 3 * SECOND, 100, 0)]]
    calls += [[(1, ahead + SECOND, 100, 0), (2, ahead + 2 * SECOND, SECOND + 100, 0)]]
    for rank in (0, 1):
        file = a_file(rank, {"allreduce": calls[rank]}, node=rank)
        (tmp_path / f"rank-{rank}.json").write_text(json.dumps(file))
    report = statistics.merge(tmp_path)
    assert [one["waiting"] for one in report["per_rank"]] == pytest.approx([1.0, 1.0], rel=1e-6)
    assert [one["others_wait"] for one in report["per_rank"]] == pytest.approx([1.0, 1.0], rel=1e-6)
    assert 0 < report["clocks"] <= 1e-6


def test_calls_with_a_root_bound_clocks_from_one_side(tmp_path):
    """The second's clock is 7 s ahead, and it is late for all that needs it, by as much."""
    ahead, late = 7 * SECOND, SECOND
    needs_all = [[(1, 0, late + 100, 0)], [(1, ahead + late, 100, 0)]]
    from_first = [[(1, 5 * SECOND, 10, 0)], [(1, ahead + 5 * SECOND, 100, 0)]]
    sparse = [[(1, 6 * SECOND, 10, 0)], [(1, ahead + 8 * SECOND, 10, 0)]]  # nobody sends anything: nobody waits
    for rank in (0, 1):
        timed = {"allreduce": needs_all[rank], "bcast": from_first[rank], "alltoallv": sparse[rank]}
        (tmp_path / f"rank-{rank}.json").write_text(json.dumps(a_file(rank, timed, node=rank)))
    report = statistics.merge(tmp_path)
    assert [one["waiting"] for one in report["per_rank"]] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert 0 < report["clocks"] < 2e-7


def test_calls_that_some_have_not_kept_are_left_out():
    first = a_file(0, {"allreduce": [(1, 0, 20, 0), (2, 100, 20, 0), (3, 200, 20, 0)]})
    second = a_file(1, {"allreduce": [(1, 10, 10, 0), (3, 210, 10, 0)]})
    found = waiting.of_ranks([first, second])
    assert found is not None
    assert (
        found.share(0, ("0,1", "allreduce", 8)) == pytest.approx(0.5) and found.share(1, ("0,1", "allreduce", 8)) == 0
    )
    assert found.share(0, ("0,1", "bcast", 8)) is None


def test_waits_that_were_not_kept_are_waiting():
    """Of 100 calls of 10 ns each, for one of which a rank was late by 1000 ns, two others were kept."""
    files = [a_file(rank, {"allreduce": [(1, rank, 11 - rank, 0), (2, 100, 10, 0)]}) for rank in (0, 1)]
    for one, seconds in zip(files, (2000e-9, 1000e-9)):
        one["entries"][0] |= {"calls": 100, "seconds": seconds}
        one["timed"][0]["kinds"][0]["calls"] = 100
    found = waiting.of_ranks(files)
    assert found is not None
    key = ("0,1", "allreduce", 8)
    assert found.share(0, key) == pytest.approx(0.5) and found.share(1, key) == 0
    assert found.spent[0][key] == pytest.approx(2000e-9) and found.late[1][1] == pytest.approx(1000e-9)


def a_profile(tmp_path, **more):
    for rank in (0, 1):
        calls = [(number, number * 10_000_000, 9_000_000, 0) for number in range(1, 101)]
        (tmp_path / f"rank-{rank}.json").write_text(json.dumps(a_file(rank, {"allreduce": calls}, **more)))
    report = statistics.merge(tmp_path)
    path = tmp_path / "profile.json"
    stock = {"passed": report["entries"], "entries": []}
    path.write_text(json.dumps({**statistics.PROFILE, "program": ["./app"], **report, **stock}))
    return path


def test_what_moves_data_slowly_is_a_gain(tmp_path):
    """100 calls of 8 bytes that take 9 ms each, in 10 s: omnes needs microseconds, and 0.2 of what else kept them."""
    path = a_profile(tmp_path)
    data = json.loads(omnes("advise", path, "--json"))
    assert data["answer"].startswith("omnes would make the program 1.08x as fast")
    assert data["gain"] == pytest.approx(0.72, rel=0.01) and data["waiting"] == 0
    assert "--nodes" in fails(2, "advise", path, "--nodes", "3x3")
    apart = json.loads(omnes("advise", path, "--json", "--nodes", "2x1"))
    assert apart["kinds"][0]["predicted"] > data["kinds"][0]["predicted"]


def test_nothing_is_predicted_where_ranks_share_cpus(tmp_path):
    data = json.loads(omnes("advise", a_profile(tmp_path, shares_cpu=True), "--json"))
    assert data["gain"] == 0 and "share CPUs" in data["answer"]


def test_a_profile_without_times_of_calls_is_refused(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(statistics.PROFILE))
    assert "record it again" in fails(1, "advise", path)


def test_names_of_programs_may_be_any_bytes(mpi, build, tmp_path):
    program = os.fsencode(tmp_path) + b"/app\xff"
    shutil.copy(os.fsencode(build("late", mpi)), program)
    words = ["run", "-n", "2", "--mpirun", str(mpi.launcher), "--by-site", "--stats", f"--profile={tmp_path}/app.json"]
    words = [sys.executable, "-m", "omnes", *words, "--", program, "1", "2", "1"]
    done = subprocess.run(words, capture_output=True, timeout=LIMIT, env={**os.environ, **YIELDING})
    assert done.returncode == 0 and b"By call site" in done.stderr, done.stderr
    assert omnes("advise", tmp_path / "app.json")
    pytest.importorskip("matplotlib")
    omnes("report", "-o", tmp_path / "a.html", "--profile", tmp_path / "app.json", "--only", "bcast", "--scale", "2..4")
    assert "app?" in (tmp_path / "a.html").read_text()
