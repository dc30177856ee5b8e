"""Slurm's daemons on the hosts of an emulated cluster: ranks started by srun, and by MPIs' launchers in allocations."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import LIMIT, ROOT, compile_c, the_mpi
from omnes.cluster import Cluster, NotHere
from omnes.launching import launch, libraries, mpi

OMNES = [sys.executable, "-m", "omnes"]
TOOLS = ("slurmctld", "slurmd", "srun")
DEBIAN = {name: Path(f"/usr/bin/mpirun.{name}") for name in ("openmpi", "mpich")}
# Hosts, and ranks of each. By themselves, now and then, Debian's MPICH hangs in MPI_Finalize where there are several of
# both, and its Open MPI crashes in MPI_Init where srun starts ranks on several hosts.
SHAPES = {("debian-mpich", False): (2, 1), ("debian-mpich", True): (2, 1), ("debian-openmpi", True): (1, 2)}
USUAL = (4, 2)


def on_slurm(*words: str, folder: Path, limit: float = LIMIT) -> tuple[int, str, str]:
    """What a command on the head says. All hosts see the folder, where it runs."""
    package = Path(launch.__file__).resolve().parents[1]
    cluster = Cluster(shared=(ROOT, package, folder))
    command = cluster.command(["bash", str(ROOT / "tests/slurm.sh"), *words])
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    return done.returncode, done.stdout, done.stderr


def on_slurm_again(*words: str, folder: Path, limit: float = 60) -> tuple[int, str, str]:
    """The same of steps of several groups: on a busy machine srun now and then waits on when all ranks, and Slurm's own
    processes beside them, have ended."""
    for _ in range(2):
        try:
            return on_slurm(*words, folder=folder, limit=limit)
        except subprocess.TimeoutExpired:
            continue
    return on_slurm(*words, folder=folder)


@pytest.fixture(scope="module", autouse=True)
def daemons(tmp_path_factory) -> None:
    path = f"{os.environ['PATH']}:/usr/sbin"
    for tool in TOOLS:
        if shutil.which(tool, path=path) is None:
            pytest.skip(f"no {tool} here: scripts/setup installs Slurm where there is apt-get")
    code, out, err = on_slurm("hostname", folder=tmp_path_factory.mktemp("daemons"))
    if code == NotHere.exit_code:
        pytest.skip(err.strip())
    assert (code, out) == (0, "head\n"), err


@pytest.fixture
def program(tmp_path):
    """program(NAME): of that MPI (one of PyPI, or debian-NAME), in the folder that all hosts see."""

    def compiled(name: str) -> Path:
        system = DEBIAN.get(name.removeprefix("debian-")) if name.startswith("debian-") else None
        if system and not system.exists():
            pytest.skip(f"no {system}: scripts/setup installs it where there is apt-get")
        of = mpi.at(str(system), os.environ) if system else the_mpi(name)
        return compile_c(ROOT / "tests/programs/exits.c", of, tmp_path)

    return compiled


def reported(file: Path) -> tuple[int, int]:
    report = json.loads(file.read_text())
    return report["ranks"], report["nodes"]


@pytest.mark.parametrize("name", ["openmpi", "mpich", "debian-openmpi", "debian-mpich"])
@pytest.mark.parametrize("by_srun", [False, True], ids=["own launcher", "srun"])
def test_one_job(program, name, by_srun, tmp_path):
    """By the launcher of the MPI within an allocation, or by srun with what the MPI can ask for its peers."""
    hosts, each = SHAPES.get((name, by_srun), USUAL)
    placed = ["-N", str(hosts), f"--ntasks-per-node={each}"]
    run = [*OMNES, "run", "--stats-json", "stats.json"]
    interface = f"--mpi={'pmix' if name.endswith('openmpi') else 'pmi2'}"
    words = [*run, "srun", *placed, interface] if by_srun else ["salloc", *placed, *run]
    code, out, err = on_slurm(*words, str(program(name)), "0", folder=tmp_path)
    assert (code, out.strip()) == (0, f"sum {sum(range(hosts * each))}"), out + err
    assert reported(tmp_path / "stats.json") == (hosts * each, hosts)


@pytest.mark.parametrize("allocated", [[], ["salloc", "-N", "3"]], ids=["a job of its own", "in an allocation"])
def test_heterogeneous_steps(program, allocated, tmp_path):
    """Two groups of ranks in one MPI_COMM_WORLD: each has omnes."""
    app = str(program("openmpi"))
    groups = ["-N", "1", "-n", "2", "--mpi=pmix", app, "0", ":", "-N", "2", "-n", "4", "--mpi=pmix", app, "0"]
    words = [*allocated, *OMNES, "run", "--stats-json", "stats.json", "srun", *groups]
    code, out, err = on_slurm_again(*words, folder=tmp_path)
    assert (code, out.strip()) == (0, "sum 15"), out + err
    assert reported(tmp_path / "stats.json") == (6, 3)


def documented() -> list[str]:
    """The commands that docs/clusters.md has for Slurm, beside those that install."""
    text = (ROOT / "docs/clusters.md").read_text()
    heads = ("Your cluster in five minutes", "Slurm")
    parts = [re.split(r"^## ", text.partition(f"\n## {head}\n")[2], flags=re.MULTILINE)[0] for head in heads]
    blocks = re.findall(r"^```\n(.*?)^```", "".join(parts), re.DOTALL | re.MULTILINE)
    lines = [line.partition("    #")[0] for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith(("salloc ", "srun ", "omnes "))]


def test_commands_of_the_document(program, tmp_path):
    program("openmpi").rename(tmp_path / "app")
    (tmp_path / "job").write_text(f"#!/bin/sh\nexport PATH={Path(sys.executable).parent}:$PATH\nset -ex\n")
    commands = documented()
    assert len(commands) == 7
    text = (
        "\n".join(commands)
        .replace("compare", "compare --repeat 1")
        .replace("doctor", f"doctor --mpi {the_mpi('openmpi').launcher}")
    )
    with (tmp_path / "job").open("a") as file:
        file.write(text.replace("/path/to/libomnes-ompi.so", str(libraries.path("ompi"))) + "\n")
    code, out, err = on_slurm_again("sh", "job", folder=tmp_path, limit=90)  # usually 22
    assert code == 0, out + err
    assert out.count("omnes: ") >= 2


def batch(folder: Path, *words: str) -> None:
    """Submits a job and waits for its end. `sbatch --wait` looks for it every ten seconds only."""
    script = 'sbatch "$@" && until [ -z "$(squeue --noheader)" ]; do sleep 0.1; done'
    code, out, err = on_slurm("sh", "-c", script, "sh", *words, folder=folder)
    assert code == 0 and "Submitted batch job" in out, out + err


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_arrays_of_jobs(program, name, tmp_path):
    """Two at once, which do not come into each other's way."""
    run = f"{' '.join(OMNES)} run --stats-json stats-$SLURM_ARRAY_TASK_ID.json {program(name)} 0 $SLURM_ARRAY_TASK_ID"
    (tmp_path / "job.sh").write_text(f"#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=2 --array=1-2\n{run}\n")
    batch(tmp_path, "--output=said-%a", "job.sh")
    for element in ("1", "2"):
        assert (tmp_path / f"said-{element}").read_text() == f"sum 6 {element}\n"
        assert reported(tmp_path / f"stats-{element}.json") == (4, 2)


def test_a_job_script_as_it_was(program, tmp_path):
    app, script = program("openmpi"), tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\nsrun --mpi=pmix {app} 0 first && mpirun {app} 0 second\n")
    script.chmod(0o755)
    run = f"PATH={the_mpi('openmpi').launcher.parent}:$PATH {' '.join(OMNES)} run --stats ./job.sh"
    batch(tmp_path, "-N", "4", "--ntasks-per-node=2", "--output=said", "--wrap", run)
    said = (tmp_path / "said").read_text()
    assert "sum 28 first\n" in said and "sum 28 second\n" in said
    assert said.count("of each of 8 ranks on 4 nodes (ompi): run by omnes") == 2, said
