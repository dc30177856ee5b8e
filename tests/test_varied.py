"""Plans whose calls vary: all are right before they are timed, all jobs draw the same counts, the page tells it all."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab import peers, plan
from launching import LIMIT, PREFIXES, ROOT, YIELDING, bench, the_mpi
from omnes.bench import against_peers, variety
from omnes.bench.job import Job, JobSpec, WrongResult
from omnes.bench.records import Key, Measured, Records
from omnes.bench.timing import Cell, Samples, take_turns
from omnes.errors import OmnesError
from omnes.launching.mpi import Mpi

pytestmark = pytest.mark.usefixtures("to_measure")

PLANS = ROOT / "bench/plans"
VARIED = plan.read(PLANS / "varied.toml").cells
MAX_COUNT = 1000  # doubles


@contextmanager
def job(mpi: Mpi, ranks: int, with_omnes: bool = False, **variables: str) -> Iterator[Job]:
    alive = Job(JobSpec("job", mpi, with_omnes, {**YIELDING, **variables}), ranks, False)
    try:
        alive.wait_until_ready()
        yield alive
    finally:
        alive.close()


def library(name: str, mpi: Mpi, folder: Path) -> str:
    """tests/programs/NAME.c, to be preloaded."""
    target = folder / f"{name}-{mpi.family}.so"
    source = Path(__file__).parent / f"programs/{name}.c"
    subprocess.run([str(mpi.compiler()), "-shared", "-fPIC", str(source), "-o", str(target)], check=True, timeout=LIMIT)
    return str(target)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("with_omnes", [False, True], ids=["stock", "omnes"])
def test_all_cells_of_the_plan_are_right(mpi, ranks, with_omnes):
    with job(mpi, ranks, with_omnes) as alive:
        for cell in VARIED:
            assert alive.ask(f"check {cell}", LIMIT) == {"ok": True}
            assert alive.ask(f"time {cell} {cell.sweep} 1", LIMIT)["loop"] > 0


WRONG = (
    Cell("bcast", 8 * MAX_COUNT, "double", counts="random"),
    Cell("bcast", 8, "int", form="new-type"),
    Cell("allgatherv", 8 * MAX_COUNT, "double", counts="sparse"),
    Cell("allreduce", 8, "double", form="split"),
    Cell("allreduce", 8, "double", form="64-communicators"),
    Cell("nothing", 0, "double", form="dup"),
    Cell("bcast", 8, "double", form="beside-pending"),
    Cell("twenty_calls", 0, "double"),
    Cell("alltoall", 8, "double", buffers="touching-256K"),
)


def complaint(alive: Job, cell: Cell) -> str:
    try:
        return str(alive.ask(f"check {cell}", LIMIT))
    except WrongResult as fault:
        return fault.what


def test_an_mpi_that_is_right_only_while_a_call_repeats_is_wrong(mpi, tmp_path):
    with job(mpi, 2, LD_PRELOAD=library("varied_peer", mpi, tmp_path)) as alive:
        assert alive.ask("check bcast 8 double equal blocking sum warm", LIMIT) == {"ok": True}
        assert [cell for cell in WRONG if "has a wrong element" not in complaint(alive, cell)] == []


def recorded(mpi: Mpi, cell: Cell, folder: Path, batches: int) -> list[list[list[int]]]:
    """Of each rank the numbers of all calls of these batches, each of one sweep."""
    record = folder / f"{mpi.family}-{cell.operation}-{cell.counts}"
    with job(mpi, 2, LD_PRELOAD=library("recording_peer", mpi, folder), RECORD=str(record)) as alive:
        for _ in range(batches):
            alive.ask(f"time {cell} {variety.SWEEP} 0", LIMIT)
        lines = [record.with_name(f"{record.name}-{rank}").read_text().splitlines() for rank in range(2)]
    return [[[int(word) for word in line.split()[1:]] for line in of_rank] for of_rank in lines]


def test_random_counts_are_those_of_all_ranks_and_jobs_and_of_no_call_before(tmp_path):
    cell = Cell("bcast", 8 * MAX_COUNT, "double", counts="random")
    first, second = (recorded(the_mpi(name), cell, tmp_path, 3) for name in PREFIXES)
    assert first == second and first[0] == first[1]
    sweeps = [first[0][start : start + variety.SWEEP] for start in range(0, 3 * variety.SWEEP, variety.SWEEP)]
    assert len(first[0]) == 3 * variety.SWEEP and sweeps[0] != sweeps[1] != sweeps[2]
    for sweep in sweeps:  # one of each range, each root as often, in no order
        counts = [count for count, _ in sweep]
        for part, count in enumerate(sorted(counts)):
            assert part * MAX_COUNT < count * variety.SWEEP and (count - 1) * variety.SWEEP < (part + 1) * MAX_COUNT
        assert [root for _, root in sweep].count(0) == variety.SWEEP // 2 and counts != sorted(counts)


def test_most_sparse_counts_are_zero_and_both_ends_know_them(tmp_path):
    cell = Cell("alltoallv", 8 * MAX_COUNT, "double", counts="sparse")
    (name, *_) = PREFIXES
    low, high = recorded(the_mpi(name), cell, tmp_path, 2)
    sent = [[of_low[:2], of_high[:2]] for of_low, of_high in zip(low, high)]
    for (of_low, of_high), matrix in zip(zip(low, high), sent):
        assert [of_low[2:], of_high[2:]] == [list(column) for column in zip(*matrix)]
    counts = [count for matrix in sent for row in matrix for count in row]
    assert sum(count > 0 for count in counts) * 4 == len(counts) and max(counts) <= MAX_COUNT
    assert {sum(count > 0 for row in matrix for count in row) for matrix in sent} >= {0, 1, 2}
    assert any(matrix[0][1] != matrix[1][0] for matrix in sent)


def test_batches_are_whole_sweeps(mpi):
    """All jobs see the same mean, however few calls fill a batch."""
    cell = Cell("alltoallv", 8 * MAX_COUNT, "double", counts="random")
    asked = []
    with job(mpi, 2) as alive:
        ask = alive.ask
        alive.ask = lambda command, seconds: asked.append(command) or ask(command, seconds)
        take_turns([(cell, alive)], 0.02)
    calls = [int(command.split()[-2]) for command in asked]
    assert calls and all(count > 0 and count % variety.SWEEP == 0 for count in calls)


NO_CALLS = (
    "sort 8 double equal dup",
    "bcast 8 double odd blocking",
    "bcast 8 double sparse blocking",
    "bcast 8 double random persistent",
    "barrier 0 double random blocking",
    "allreduce 8 double equal new-type",
    "neighbor_alltoall 8 double equal split",
    "nothing 0 double equal blocking",
    "twenty_calls 0 double equal dup",
)


def test_what_cannot_vary_is_no_command(mpi):
    with job(mpi, 2) as alive:
        for words in NO_CALLS:
            with pytest.raises(WrongResult, match=f"{words}.*: no such command"):
                alive.ask(f"check {words} sum warm", LIMIT)


PLAN = """
why = "As little as can be."
ranks = [2]
seconds = 0.05
"""


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ('cells = "nowhere"', "no plan 'nowhere' in"),
        ("cells = 3", "cells are tables, [[cells]], or the name of a plan that has some"),
        ("cells = [3]", "cells are tables, [[cells]], or the name of a plan that has some"),
        (
            '[[cells]]\noperations = ["allreduce", "scan"]\nsizes = "8"\nform = "new-type"',
            "none of allreduce, scan can be called so",
        ),
        ('[[cells]]\noperations = ["barrier"]\nsizes = "8"\ncounts = ["random"]', "none of barrier can be called so"),
        (
            '[[cells]]\nsizes = "8"\ncounts = ["odd"]',
            "counts: there is no 'odd'; valid: equal, unequal, random, sparse",
        ),
        ('[[cells]]\nsizes = "8"\narrivals = ["late"]', "arrivals: there is no 'late'; valid: together, "),
        ('[[cells]]\nsizes = "8"\nform = "dup"\narrivals = ["together"]', "arrivals are of blocking calls whose"),
        ('[[cells]]\nsizes = "8"\nform = "new"', "form: there is no 'new'; valid: blocking, nonblocking, persistent"),
    ],
)
def test_mistakes_in_plans(tmp_path, cells, complaint):
    (tmp_path / "tiny.toml").write_text(PLAN + cells)
    with pytest.raises(OmnesError) as fault:
        plan.read(tmp_path / "tiny.toml")
    assert complaint in str(fault.value) and "\n" not in str(fault.value)


def test_the_three_plans_have_the_same_cells_and_four_mpis_each():
    for name in ("varied", "varied-shared", "varied-hosts"):
        read = plan.read(PLANS / f"{name}.toml")
        assert read.cells == VARIED and all(cell.variety for cell in read.cells)
        taking_part = [peers.read(ROOT / f"bench/peers/{peer}.toml") for peer in read.peers]
        with_omnes = {peer.packages for peer in taking_part if peer.omnes}
        assert len(with_omnes) == 4 and with_omnes == {peer.packages for peer in taking_part if not peer.omnes}


def test_late_ranks(mpi):
    """The time begins when the last one has come; inside, early ones wait for it."""
    late = 0.2  # seconds
    with job(mpi, 2, with_omnes=True) as alive:
        for arrivals in ("one-late", "half-late", "sorted"):
            answer = alive.ask(f"late {Cell('allreduce', 8, 'double')} 2 0 {arrivals} {1e9 * late:.0f}", LIMIT)
            assert answer["loop"] >= late and answer["inside"] > late / 10
            assert answer["seconds"] < answer["loop"]
        spread = alive.ask(f"late {Cell('bcast', 8, 'double')} 20 0 uniform {1e7:.0f}", LIMIT)
        assert spread["loop"] > 1e-3 and spread["seconds"] > 0
        assert alive.ask(f"late {Cell('reduce', 8, 'double')} 2 1 together 0", LIMIT)["seconds"] > 0
        with pytest.raises(WrongResult, match="no such command"):
            alive.ask(f"late {Cell('bcast', 8, 'double')} 2 0 never 5", LIMIT)


def test_cells_with_late_ranks_take_turns(mpi):
    asked = []
    cells = [
        Cell("bcast", 8, "double", arrivals=arrivals) for arrivals in ("together", "sorted-10", "one-late-1-inside")
    ]
    with job(mpi, 2) as alive:
        ask = alive.ask
        alive.ask = lambda command, seconds: asked.append(command) or ask(command, seconds)
        samples, _ = take_turns([(cell, alive) for cell in cells], 0.02)
    assert all(of_cell.median > 0 for of_cell in samples)
    late = {command.split()[-2]: float(command.split()[-1]) for command in asked if command.startswith("late")}
    assert (
        list(late) == ["together", "sorted", "one-late"]
        and late["together"] == 0
        and late["sorted"] > late["one-late"] > 0
    )


def test_plans_with_late_ranks_have_the_same_cells():
    first, *others = (plan.read(PLANS / f"{name}.toml").cells for name in ("skewed", "skewed-shared", "skewed-hosts"))
    assert all(cells == first for cells in others) and all(cell.arrivals and cell.variety for cell in first)
    of_plan = {cell.arrivals for cell in first}
    assert {variety.together(arrivals) for arrivals in of_plan} <= of_plan <= set(variety.ARRIVALS)


def test_a_peer_with_omnes_is_compared_with_its_own_mpi(tmp_path):
    """Of two with that MPI with the one that has fewer settings."""
    records = Records(tmp_path / "r.jsonl")
    files = {
        "a": {"omnes": False, "packages": ["a==1"], "variables": {"A": "1"}},
        "b": {"omnes": False, "packages": ["a==1"], "variables": {}},
        "c": {"omnes": False, "packages": ["c==1"], "variables": {}},
        "ours": {"omnes": True, "packages": ["a==1"], "variables": {"B": "2"}},
        "lonely": {"omnes": True, "packages": ["d==1"], "variables": {}},
    }
    records.add_campaign({"peers": files})
    samples = {name: Samples([1.0]) for name in files}
    records.add_cell(Key("plan", 2, Cell("bcast", 8, "double")), Measured(True, True, 1.0, samples))
    (table,) = against_peers.tables(Records(tmp_path / "r.jsonl"))
    assert table.stock == {"ours": "b"}


def test_the_page_says_what_varies(tmp_path):
    (tmp_path / "like.toml").write_text(
        PLAN + '[[cells]]\noperations = ["bcast", "allgatherv"]\nsizes = "80"\ncounts = ["random"]\n'
        '[[cells]]\noperations = ["nothing", "allreduce"]\nsizes = "8"\nform = "dup"\n'
        '[[cells]]\noperations = ["bcast"]\nsizes = "8"\narrivals = ["together", "sorted-1", "sorted-1-inside"]\n'
    )
    (tmp_path / "tiny.toml").write_text(PLAN + 'cells = "like"')
    words = [str(tmp_path / "tiny.toml"), "--results", str(tmp_path / "results")]
    for name, omnes in (("stock", "false"), ("ours", "true")):
        lines = ['why = "For the test."', f'prefix = "{PREFIXES["openmpi"]}"', 'family = "ompi"', f"omnes = {omnes}"]
        (tmp_path / f"{name}.toml").write_text("\n".join(lines))
        words += ["--peer", str(tmp_path / f"{name}.toml")]
    answer = bench(*words)
    assert answer.returncode == 0, answer.stderr

    page = (tmp_path / "results.md").read_text()
    for line in ("| calls | the best peer | stock |", "| cell | stock | ours | ratio ours | stock / ours | limit |"):
        assert line in page
    for start in ("| random | ", "| dup | ", "| nothing dup | ", "| bcast 80 random | ", "| allreduce 8 dup | "):
        assert f"\n{start}" in page
    assert (
        "\n| arrivals | stock | ours |\n|---|---|---|\n| sorted-1 | " in page
        and "\n| bcast 8 sorted-1-inside | " in page
    )
    explained = [line for line in page.splitlines() if line.startswith("* ") and ": " in line]
    assert [line.split(":")[0] for line in explained][:6] == [
        f"* {word}" for word in ("random", "nothing", "dup", "together", "sorted", "inside")
    ]
    assert (tmp_path / "results-tiny-2-ours.svg").exists()
