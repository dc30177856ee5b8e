"""bench/run cluster: the hosts of a job, what is measured on them and told, an end by time, mistakes in one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import cluster
from lab import allocation
from launching import LIMIT, PREFIXES, ROOT
from omnes.cluster import Cluster, NotHere
from omnes.errors import OmnesError
from omnes.launching import launch
from test_slurm import TOOLS

COMMAND = [sys.executable, str(ROOT / "bench/run"), "cluster"]
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("n1\nn2\n", {"n1": 1, "n2": 1}),
        ("n1:2\nn2 slots=4 max-slots=8   # fast\n\n", {"n1": 2, "n2": 4}),
        ("n1\nn1\nn2\nn2\nn2\n", {"n1": 2, "n2": 3}),  # of PBS and LSF
    ],
)
def test_files_of_hosts(text, slots, tmp_path):
    (tmp_path / "hosts").write_text(text)
    found = allocation.find(None, tmp_path / "hosts", None, {})
    assert (found.hosts, found.each) == (tuple(slots), min(slots.values()))


@pytest.mark.parametrize(
    ("tasks", "each", "expected"),
    [("2(x3),1,3", None, 1), ("4(x5)", None, 4), ("4(x5)", 2, 2), ("", None, 1), ("8", None, 1)],
)
def test_hosts_of_slurm(tasks, each, expected):
    slurm = {"SLURM_JOB_NODELIST": "n[01-03],m7,m9", "SLURM_TASKS_PER_NODE": tasks}
    found = allocation.find(None, None, each, slurm)
    assert (found.hosts, found.each) == (("n01", "n02", "n03", "m7", "m9"), expected)


@pytest.mark.parametrize(
    ("hosts", "each", "numbers"),
    [(1, 2, [1]), (2, 1, [2]), (4, 1, [2, 4]), (6, 2, [1, 2, 4, 6]), (8, 1, [2, 4, 8])],
)
def test_numbers_of_hosts(hosts, each, numbers):
    assert allocation.find(f"n[1-{hosts}]", None, each, {}).numbers == numbers


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    """In no job, whatever is set meanwhile."""
    monkeypatch.setattr(os, "environ", OUTSIDE.copy())


def said(*words: str) -> str:
    """By a command that fails: one line."""
    result = CliRunner().invoke(cluster.main, words)
    assert result.exit_code != 0 and result.output.count("\n") == 1, result.output
    return result.output


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "no hosts: run this in a job of Slurm (sbatch, salloc), or name them: --hosts n1,n2 or --hostfile FILE"),
        (["--hosts", "n1,n2", "sort"], "no operation 'sort'; there are barrier"),
        (["--hosts", "n1,n2", "-b", "12"], "12 bytes are no whole number of doubles"),
        (["--hosts", "n1"], "one rank on n1 has nothing to measure: give more hosts, or --per-host 2"),
        (["--hosts", "n1:x"], "'n1:x' is no host: write NAME or NAME:SLOTS"),
        (["--hosts", "n[1-"], "a bracket without its other half in 'n[1-'"),
        (["--hosts", ","], ", names no host"),
        (["--hosts", "n1,n2", "--hostfile", "hosts"], "both say which hosts there are: give one of them"),
        (["--hostfile", "/nowhere"], "cannot read /nowhere"),
        (["--hostfile", "/dev/null"], "cannot read /dev/null: not a regular file"),
        (["--hosts", "n1,n2", "--mpi", "/nowhere/bin/mpirun"], "launcher /nowhere/bin/mpirun not found"),
        (["--hosts", "n1,n2", "--launcher", "nowhere"], "launcher nowhere not found"),
        (["--hosts", "n1,n2", "--launcher", "env"], "cannot tell"),
        (["--hosts", "n1,n2", "--launcher", "'srun"], "--launcher"),
        (["--hosts", "n1,n2", "--results", "/nowhere/r"], "cannot write /nowhere/r.jsonl"),
        (["--page", "--results", "nowhere"], "no results in nowhere.jsonl; name some: --results FILE"),
    ],
)
def test_mistakes_are_one_line(words, complaint):
    assert complaint in said(*words)


def test_an_mpi_without_a_compiler(tmp_path):
    (tmp_path / "mpirun").symlink_to(PREFIXES["openmpi"] / "bin/mpirun")
    assert "has no mpicc beside" in said("--hosts", "n1,n2", "--mpi", str(tmp_path / "mpirun"))


def test_forced_choices_are_refused():
    os.environ["OMNES_BCAST"] = "knomial"
    assert "unset what decides before any table: OMNES_BCAST" in said("--hosts", "n1,n2")


def on_hosts(folder: Path, *words: str, hosts: int = 2, ranks: int = 1) -> tuple[int, str, str]:
    """On the head of emulated hosts; what they share beside the file system of the machine is the folder."""
    package = Path(launch.__file__).resolve().parents[1]
    command = Cluster(hosts, ranks, shared=(ROOT, package, folder)).command(words)
    done = subprocess.run(command, cwd=folder, env=OUTSIDE, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode == NotHere.exit_code:
        pytest.skip(done.stderr.strip())
    return done.returncode, done.stdout, done.stderr


TINY = ["-b", "8,4K", "--launches", "1", "--results", "r"]
OVER = "the time is over; the same command goes on where it was"
# The first run measures no cell, but says that they are as short as can be.
TWICE = '"$@" --minutes 0.001 && "$@" --minutes 9'


def check(folder: Path, mpi: str, cells: int) -> str:
    """What every measurement has to have; returns the page."""
    records = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    assert records[-1] == {"record": "end"}
    found = [record for record in records if record["record"] == "cell"]
    assert len(found) == cells
    assert all(cell["seconds"].keys() == {mpi, f"omnes-{mpi}"} and not cell["failed"] for cell in found), found
    chosen = [json.loads(line) for line in (folder / "r-choices.jsonl").read_text().splitlines()]
    assert len(chosen) == cells and not any(record["failed"] for record in chosen), chosen
    page = (folder / "r.md").read_text()
    for part in ("## Predictions\n", "cells: median error", "## The choice of algorithms\n", "| as omnes comes |"):
        assert part in page, page
    return page


def test_a_list_of_hosts_and_an_end_by_time(tmp_path):
    """A rank on each host; on two, and on all."""
    words = [*COMMAND, "allreduce", *TINY, "--hosts", "n[1-3]", "--mpi", str(PREFIXES["openmpi"])]
    code, out, err = on_hosts(tmp_path, *words, "--minutes", "0.001", hosts=3)
    assert code == 0 and OVER in err, out + err
    assert "Not all was measured" in (tmp_path / "r.md").read_text()
    costs = (tmp_path / "r-costs.toml").read_text()
    code, out, err = on_hosts(tmp_path, *words, "--minutes", "9", hosts=3)
    assert code == 0 and OVER not in err, out + err
    assert (tmp_path / "r-costs.toml").read_text() == costs and "2 nodes" in costs
    page = check(tmp_path, "open-mpi-5.0.11", 4)
    assert "3 hosts: n1, n2, n3; ranks on each: 1" in page and "Not all was measured" not in page
    assert "## hosts-2: 2 ranks on 2 hosts, bound as" in page
    assert "## hosts-3: 3 ranks on 3 hosts, bound as" in page
    assert "network: an empty message through the MPI's messages" in page
    assert f"\nbench/run cluster allreduce {' '.join(TINY)} --hosts 'n[1-3]'" in page


def test_a_host_that_is_not_there(tmp_path):
    words = [*COMMAND, "barrier", "--hosts", "n1,n9", "--mpi", str(PREFIXES["openmpi"])]
    code, out, err = on_hosts(tmp_path, *words)
    assert code == 1 and err.count("\n") == 1 and "no host 'n9'" in err and "(omnes measure -n 2" in err, out + err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mpi", "name", "launcher", "hosts", "table"),
    [
        ("mpich", "mpich-5.0.2", "", 2, "hosts-2: 2 ranks on 2 hosts"),
        ("openmpi", "open-mpi-5.0.11", "srun --mpi=pmix", 1, "hosts-1: 2 ranks"),
    ],
    ids=["own launcher", "srun"],
)
def test_in_a_job_of_slurm(mpi, name, launcher, hosts, table, tmp_path):
    """A rank on each of two hosts, by the MPI's own launcher; two on one, which meet in memory, by srun."""
    if missing := [tool for tool in TOOLS if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin") is None]:
        pytest.skip(f"no {missing[0]} here: scripts/setup installs Slurm where there is apt-get")
    run = [*COMMAND, "allreduce", *TINY, "--mpi", str(PREFIXES[mpi]), *(["--launcher", launcher] if launcher else [])]
    slurm = ["bash", str(ROOT / "tests/slurm.sh"), "salloc", "-N", str(hosts), f"--ntasks-per-node={2 // hosts}"]
    code, out, err = on_hosts(tmp_path, *slurm, "bash", "-c", TWICE, "bash", *run, hosts=hosts, ranks=2 // hosts)
    assert code == 0, out + err
    page = check(tmp_path, name, 2)
    assert f"## {table}, bound as their launcher does" in page and f"started by `{launcher or PREFIXES[mpi]}" in page


def test_no_hosts_in_a_file(tmp_path):
    (tmp_path / "hosts").write_text("# none\n")
    with pytest.raises(OmnesError, match="hosts names no host"):
        allocation.find(None, tmp_path / "hosts", None, {})
