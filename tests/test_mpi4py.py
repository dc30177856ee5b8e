"""mpi4py's own tests (those that exercise collectives and what they rest on) pass as they do on the stock MPI."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile

import mpi4py
import pytest

from launching import FULL, LIMIT, PREFIXES, ROOT, mpirun

# Test modules of mpi4py and ranks. Names of modules: vec are the unequal operations, nb the nonblocking, pr the
# persistent and ngh the neighborhood ones. scripts/mpi4py-suite runs everything.
SELECTIONS = {
    "communicators-2": ("test_(cco_obj|comm|comm_topo|op|request)[.]", 2),
    "communicators-4": ("test_(cco_obj|comm|op)[.]", 4),
    "blocking-2": ("test_cco_(buf|vec)[.]", 2),
    "blocking-3": ("test_cco_vec[.]", 3),
    "nonblocking-2": ("test_cco_nb_(buf|vec)[.]", 2),
    "nonblocking-3": ("test_cco_nb_vec[.]", 3),
    "persistent-2": ("test_cco_pr_(buf|vec)[.]", 2),
    "persistent-3": ("test_cco_pr_vec[.]", 3),
    "neighborhoods-3": ("test_cco_(ngh_buf|ngh_obj|pr_ngh_buf)[.]", 3),
    "between-groups-4": ("test_cco_(buf|vec|obj)_inter[.]", 4),
}


@pytest.fixture(scope="session")
def suite():
    """The source distribution's main test program; kept between runs."""
    folder = ROOT / ".cache" / f"mpi4py-{mpi4py.__version__}"
    if not folder.exists():
        requirement = f"mpi4py=={mpi4py.__version__}"
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py"]
        subprocess.run([*download, "--dest", folder.parent, requirement], check=True, timeout=LIMIT)
        with tarfile.open(folder.parent / f"{folder.name}.tar.gz") as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
            archive.extractall(folder.parent)
    return folder / "test" / "main.py"


@pytest.fixture
def run_suite(mpi, suite, monkeypatch):
    """run_suite(selection, variables)"""
    name = "openmpi" if mpi.family == "ompi" else "mpich"
    monkeypatch.setenv("MPI4PY_MPIABI", name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(PREFIXES[name] / "lib"))

    def run(selection, variables):
        modules, ranks = SELECTIONS[selection]
        return mpirun(mpi, ranks, sys.executable, suite, "-q", "--no-builddir", "-i", modules, variables=variables)

    return run


# What is checked, and told, is the same on both MPIs: each selection on one of them.
@pytest.mark.parametrize(
    ("mpi", "selection"),
    [
        ("openmpi", "communicators-2"),
        ("openmpi", "nonblocking-2"),
        ("mpich", "blocking-2"),
        ("mpich", "neighborhoods-3"),
    ],
    indirect=["mpi"],
)
def test_nothing_is_told_of_correct_calls(run_suite, selection):
    run = run_suite(selection, {"OMNES_CHECK": "1"})
    assert run.returncode == 0 and "omnes: check:" not in run.stderr, run.stdout + run.stderr


# More ranks than two: each selection on one of the MPIs.
IN_TURNS = {"openmpi": ["communicators-4", "blocking-3", "persistent-3"], "mpich": ["nonblocking-3"]}
ELSEWHERE = {"openmpi": IN_TURNS["mpich"], "mpich": IN_TURNS["openmpi"]}
CASES = [(mpi, one) for mpi, others in ELSEWHERE.items() for one in SELECTIONS if FULL or one not in others]


@pytest.mark.parametrize(("mpi", "selection"), CASES, indirect=["mpi"])
def test_collectives(run_suite, tmp_path, selection):
    run = run_suite(selection, {"OMNES_STATS": str(tmp_path)})
    assert run.returncode == 0, run.stdout + run.stderr
    report = json.loads((tmp_path / "rank-0.json").read_text())
    assert report["entries"]
    # The host has to complain about what is wrong.
    if selection.split("-")[0] in ("blocking", "nonblocking", "persistent", "neighborhoods", "between"):
        assert report["passed"] == []
