"""bench/run: plans over peers, what was measured outlives a kill, mistakes are one line, the page tells it all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab import campaign, pack, peers, plan, pypi
from launching import LIMIT, PREFIXES, ROOT, YIELDING
from omnes import _core
from omnes.bench import against_peers, limits
from omnes.bench.records import Key, Measured, Records
from omnes.bench.session import OPERATIONS
from omnes.bench.timing import Cell, Samples
from omnes.errors import OmnesError
from omnes.launching import mpi as mpis
from omnes.terminal import units

pytestmark = pytest.mark.usefixtures("to_measure")

PLAN = """
why = "As little as can be."
ranks = [2]
seconds = 0.05

[[cells]]
operations = ["allreduce", "bcast", "barrier"]
sizes = "8,1K"
"""


@pytest.fixture
def inputs(tmp_path) -> list[str]:
    """The arguments that name a tiny plan and peers that are installed already."""
    (tmp_path / "tiny.toml").write_text(PLAN)
    words = [str(tmp_path / "tiny.toml")]
    for name, mpi, family, omnes in (
        ("stock", "openmpi", "ompi", False),
        ("other", "mpich", "mpich", False),
        ("ours", "openmpi", "ompi", True),
    ):
        file = tmp_path / f"{name}.toml"
        lines = ['why = "For the test."', f'prefix = "{PREFIXES[mpi]}"', f'family = "{family}"']
        lines += [f"omnes = {str(omnes).lower()}", "[variables]"]
        lines += [f'{variable} = "{value}"' for variable, value in YIELDING.items()]
        file.write_text("\n".join(lines))
        words += ["--peer", str(file)]
    return [*words, "--results", str(tmp_path / "results")]


def start(words, **more) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "bench/run"), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **pipes, **more)


def bench_run(*words) -> tuple[int, str, str]:
    process = start(words)
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def records_in(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def kill_after(records: int, words, folder: Path) -> None:
    """Starts a campaign, and kills it once so much is known."""
    process = start(words, start_new_session=True)
    deadline = time.monotonic() + LIMIT
    while not (folder / "results.jsonl").exists() or len(records_in(folder)) < records:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_run_that_was_killed_goes_on_where_it_was(inputs, tmp_path):
    (tmp_path / "tiny.toml").write_text("launches = 2\n" + PLAN)
    kill_after(4, inputs, tmp_path)
    before = [record for record in records_in(tmp_path) if record["record"] == "cell"]
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"record": "cell", "plan": "ti')  # as if it had been killed here

    code, out, err = bench_run(*inputs)
    assert code == 0, err
    after = [record for record in records_in(tmp_path) if record["record"] == "cell"]
    assert after[: len(before)] == before and len(before) >= 2
    cells = [("allreduce", 8), ("allreduce", 1024), ("bcast", 8), ("bcast", 1024), ("barrier", 0)]
    assert [(cell["launch"], cell["operation"], cell["bytes"]) for cell in after] == [
        (launch, *cell) for launch in range(2) for cell in cells
    ]
    assert all(sorted(cell["seconds"]) == ["other", "ours", "stock"] and not cell["failed"] for cell in after)
    assert records_in(tmp_path)[-1] == {"record": "end"}
    assert out.split() == [str(tmp_path / name) for name in ("results.md", "results-tiny-2-ours.svg")]

    page = (tmp_path / "results.md").read_text()
    assert "## tiny: 2 ranks, each bound to a core" in page and "| allreduce 1K |" in page and ", 2 launches;" in page
    assert "| a cache line from one core to the next |" in page
    picture = (tmp_path / "results-tiny-2-ours.svg").read_text()
    assert "allreduce" in picture and picture.count("<path") < 40


def test_a_peer_that_is_wrong_or_dies_is_left_out_of_that_cell_only(tmp_path):
    """Its allreduce is wrong, its bcast of 1 KiB ends it; the barrier after that is measured on a new job."""
    mpi = mpis.at(str(PREFIXES["openmpi"]), os.environ)
    library = tmp_path / "broken.so"
    source = Path(__file__).parent / "programs/broken_peer.c"
    subprocess.run([str(mpi.compiler()), "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    (tmp_path / "tiny.toml").write_text(PLAN)
    for name, variables in (("stock", ""), ("broken", f'[variables]\nLD_PRELOAD = "{library}"')):
        (tmp_path / f"{name}.toml").write_text(
            f'why = ""\nprefix = "{PREFIXES["openmpi"]}"\nfamily = "ompi"\n{variables}\n'
        )
    chosen = [peers.read(tmp_path / f"{name}.toml") for name in ("stock", "broken")]
    records = Records(tmp_path / "results.jsonl")
    campaign.run([plan.read(tmp_path / "tiny.toml")], chosen, tmp_path, records, lambda *_: None)

    read = {(key.cell.operation, key.cell.bytes): of for key, of in Records(tmp_path / "results.jsonl").cells.items()}
    assert all("stock" in measured.samples for measured in read.values())
    failed = {place: measured.failed["broken"] for place, measured in read.items() if measured.failed}
    assert list(failed) == [("allreduce", 8), ("allreduce", 1024), ("bcast", 1024)]
    assert "has a wrong element 0" in failed["allreduce", 8]
    assert "ended at 'check bcast 1024" in failed["bcast", 1024]
    assert "broken" in read["barrier", 0].samples and "broken" in read["bcast", 8].samples


def test_other_settings_are_another_campaign(inputs, tmp_path):
    (tmp_path / "tiny.toml").write_text(PLAN.replace("8,1K", "8"))
    kill_after(1, inputs, tmp_path)
    (tmp_path / "tiny.toml").write_text(PLAN.replace("0.05", "0.06"))
    code, _, err = bench_run(*inputs)
    assert code == 1 and "results.jsonl was begun with other plans (tiny): name a new file" in err


def test_settings_of_the_environment_are_refused(inputs, monkeypatch):
    monkeypatch.setenv("OMPI_MCA_coll", "^sm")
    code, _, err = bench_run(*inputs)
    assert code == 1 and "unset what would change the measurement: OMPI_MCA_coll\n" in err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere"], "no plan 'nowhere' in"),
        (["--peer", "lam"], "no peer 'lam' in"),
        (["--peer", "nowhere.toml"], "nowhere.toml: No such file or directory"),
        (["--page", "--results", "nowhere"], "no results in nowhere.jsonl; name some"),
    ],
)
def test_unknown_plans_and_peers_are_errors_of_one_line(words, complaint):
    code, _, err = bench_run(*words)
    assert code == 1 and err.count("\n") == 1 and complaint in err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (PLAN.replace("ranks = [2]", ""), "give ranks, a list of numbers of at least 2, or per_core"),
        (PLAN.replace("[2]", "[1]"), "give ranks, a list of numbers of at least 2, or per_core"),
        (PLAN.replace("ranks = [2]", "per_core = [1]"), "give ranks, a list of numbers of at least 2, or per_core"),
        (PLAN.replace("allreduce", "sort"), "cells: operations: there is no 'sort'; valid: barrier, bcast"),
        (PLAN.replace("sizes", "size"), "cells: there is no 'size'; valid: operations, sizes"),
        (PLAN.replace('"8,1K"', '"12"'), "cells: 12 bytes are no whole number of doubles"),
        (PLAN.replace("0.05", '"long"'), "seconds is to be like 1.0, not 'long'"),
        (PLAN.replace("why", "="), "tiny.toml: Invalid"),
        ("launches = 0\n" + PLAN, "launches is to be 1 or more, not 0"),
        ('bandwidth = "quick"\n' + PLAN, "'quick' is no rate"),
        ('bandwidth = "1gbit"\n' + PLAN, "bandwidth is of links between hosts: give hosts, too"),
    ],
)
def test_mistakes_in_plans(tmp_path, text, complaint):
    (tmp_path / "tiny.toml").write_text(text)
    with pytest.raises(OmnesError) as fault:
        plan.read(tmp_path / "tiny.toml")
    assert complaint in str(fault.value) and "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('why = ""\nfamily = "ompi"', "give packages or a prefix, one of them"),
        ('family = "ompi"\nprefix = "/"', "'why' is missing"),
        ('why = ""\nfamily = "ompi"\nprefix = "/"\nonly = "bound"', "only is 'bound'; valid: shared"),
    ],
)
def test_mistakes_in_peers(tmp_path, text, complaint):
    (tmp_path / "peer.toml").write_text(text)
    with pytest.raises(OmnesError, match=complaint):
        peers.read(tmp_path / "peer.toml")


def test_all_plans_and_peers_of_the_project_can_be_read():
    names = {peers.read(path).name for path in (ROOT / "bench/peers").glob("*.toml")}
    assert {"openmpi-5", "mpich-5", "omnes-openmpi-5", "omnes-mpich-5"} <= names
    for path in (ROOT / "bench/plans").glob("*.toml"):
        read = plan.read(path)
        assert set(read.peers) <= names and read.cells


def test_the_interval_of_a_median_is_between_two_samples():
    assert Samples([float(value) for value in range(1, 16)]).interval == (3.0, 13.0)
    assert Samples([3.0, 1.0, 2.0]).interval == (1.0, 3.0)


LIMITS = {"handover": 1.0, "meet": 10.0, "copy_l1": 8.0, "copy_l2": 4.0, "copy_l3": 2.0, "copy_memory": 1.0}
CACHES = {"L1": "64", "L2": "256", "L3": "1K"}


@pytest.mark.parametrize(
    ("cell", "ranks", "expected"),
    [
        (Cell("barrier", 0, "double"), 2, 1.0),
        (Cell("bcast", 16, "double"), 2, 1 + 16 / 8),
        (Cell("bcast", 128, "double"), 2, 1 + 128 / 4),
        (Cell("bcast", 16, "double", buffers="cold"), 2, 1 + 16 / 1),
        (Cell("allgather", 8, "double"), 4, 10 + 3 * 8 / 8 * 2),  # two ranks on a core, each needs it in every call
        (Cell("bcast", 8, "double"), 4, 1 + 8 / 8 * 2),  # two ranks on a core, which may be calls apart
        (Cell("gatherv", 8, "double"), 4, 1 + 3 * 8 / 8),  # only one receives
        (Cell("alltoallw", 512, "double"), 2, 1 + 512 / 1),
    ],
    ids=str,
)
def test_the_limit_of_a_cell(cell, ranks, expected):
    assert limits.least(cell, ranks, LIMITS, CACHES, cores=2) == pytest.approx(expected)


def test_a_packed_benchmark_needs_nothing_else(tmp_path):
    """No package, no virtual environment: python -I -S knows the standard library alone."""
    library = pypi.prefix(tmp_path / "cache", ("mpi==1",)) / "lib"
    (library / "site-packages").mkdir(parents=True)
    for name in ("libmpi.so", "libmpi.a"):
        (library / name).touch()
    (tmp_path / "peer.toml").write_text('why = ""\nfamily = "ompi"\npackages = ["mpi==1"]')
    peer = peers.read(tmp_path / "peer.toml")
    folder = pack.pack(ROOT / "bench", [peer], tmp_path / "cache", tmp_path / "packed")

    assert [path.name for path in pypi.prefix(folder / "cache", peer.packages).rglob("*")] == ["lib", "libmpi.so"]
    assert {path.name for path in (folder / "python/omnes/lib").iterdir()} >= {"libomnes-ompi.so", "libomnes-mpich.so"}
    command = [sys.executable, "-I", "-S", str(folder / "bench/run")]
    for words, code, said in ((["--help"], 0, "Usage: run"), (["nowhere"], 1, "no plan 'nowhere'")):
        answer = subprocess.run([*command, *words], capture_output=True, text=True, timeout=LIMIT)
        assert answer.returncode == code and said in answer.stdout + answer.stderr, answer.stderr
    with pytest.raises(OmnesError, match="is there already"):
        pack.pack(ROOT / "bench", [peer], tmp_path / "cache", tmp_path / "packed")


def test_the_operations_are_those_of_the_core():
    assert list(OPERATIONS) == list(_core.operations())


def test_several_launches_count_by_their_medians(tmp_path):
    """The peer is twice as fast in one of three, in which the third did not take part; one launch alone is no proof."""
    records = Records(tmp_path / "r.jsonl")
    records.add_campaign({"peers": {"a": {"omnes": False}, "b": {"omnes": False}, "ours": {"omnes": True}}})
    cell = Cell("bcast", 8, "double")
    for launch, (a, b) in enumerate([(0.5, None), (2.0, 3.0), (4.0, 5.0)]):
        samples = {"a": Samples([a]), "ours": Samples([1.0])} | ({"b": Samples([b])} if b else {})
        failed = {} if b else {"b": "said nothing"}
        records.add_cell(Key("plan", 2, cell, launch), Measured(True, launch < 2, 1.0, samples, failed))
    (table,) = against_peers.tables(Records(tmp_path / "r.jsonl"))
    times = table.cells[cell]
    assert (times.of("a"), times.of("b"), times.of("ours"), times.of("c")) == (2.0, 4.0, 1.0, None)
    assert times.against("a", "ours") == 2.0 and times.between("a", "ours") == (0.5, 4.0)
    assert times.against(None, "ours") is None and times.against("c", "ours") is None
    assert (times.stable, times.seconds, times.failed) == (False, 3.0, {"b": "said nothing"})


def test_the_best_peer_is_that_of_the_cell(tmp_path):
    records = Records(tmp_path / "r.jsonl")
    records.add_campaign({"peers": {"a": {"omnes": False}, "b": {"omnes": False}, "ours": {"omnes": True}}})
    for bytes_, a, b in ((8, 4.0, 2.0), (16, 1.0, 3.0)):
        samples = {"a": Samples([a]), "b": Samples([b]), "ours": Samples([1.0])}
        records.add_cell(Key("plan", 2, Cell("bcast", bytes_, "double")), Measured(True, True, 1.0, samples))
    (table,) = against_peers.tables(Records(tmp_path / "r.jsonl"))
    by_size = {cell.bytes: value for cell, value in against_peers.ratios(table, against_peers.BEST, "ours").items()}
    assert by_size == {8: 2.0, 16: 1.0}
    assert units.geometric_mean(by_size.values()) == pytest.approx(2**0.5)
