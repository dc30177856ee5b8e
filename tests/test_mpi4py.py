"""mpi4py's own tests (those that exercise collectives and what they rest on) pass as they do on the stock MPI."""

from __future__ import annotations

import subprocess
import sys
import tarfile

import mpi4py
import pytest

from launching import PREFIXES, ROOT, mpirun

# Test modules of mpi4py and ranks: collectives of buffers and of objects, and communicators.
SELECTIONS = [("test_(cco_buf|cco_obj|comm|op)[.]", 2), ("test_(cco_obj|comm|op)[.]", 4)]


@pytest.fixture(scope="session")
def suite():
    """The source distribution's main test program; kept between runs."""
    folder = ROOT / ".cache" / f"mpi4py-{mpi4py.__version__}"
    if not folder.exists():
        requirement = f"mpi4py=={mpi4py.__version__}"
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py"]
        subprocess.run([*download, "--dest", folder.parent, requirement], check=True, timeout=110)
        with tarfile.open(folder.parent / f"{folder.name}.tar.gz") as archive:
            archive.extractall(folder.parent, filter="data")
    return folder / "test" / "main.py"


@pytest.mark.parametrize(("modules", "ranks"), SELECTIONS, ids=["two", "four"])
def test_collectives(mpi, suite, monkeypatch, tmp_path, modules, ranks):
    name = "openmpi" if mpi.family == "ompi" else "mpich"
    monkeypatch.setenv("MPI4PY_MPIABI", name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(PREFIXES[name] / "lib"))
    words = [sys.executable, suite, "-q", "--no-builddir", "-i", modules]
    run = mpirun(mpi, ranks, *words, variables={"OMNES_STATS": str(tmp_path)}, timeout=110)
    assert run.returncode == 0, run.stdout + run.stderr
    assert '"operation":"allreduce"' in (tmp_path / "rank-0.json").read_text()
