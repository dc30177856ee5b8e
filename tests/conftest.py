"""Fixtures that all tests may use."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest

from launching import compile_c, the_mpi
from omnes.launching.mpi import NO_FABRICS, Mpi

for name, value in NO_FABRICS.items():
    os.environ.setdefault(name, value)


@pytest.fixture
def to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what measures MPIs as they are, and refuses to do so under such variables."""
    for name in NO_FABRICS:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI that scripts/setup installs."""
    return the_mpi(request.param)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled programs lie, those of all workers of pytest-xdist."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    return programs


@pytest.fixture(scope="session")
def build(programs: Path):
    """build(name, mpi, standard_abi=False): tests/programs/NAME.c, compiled."""

    def compiled(name: str, of: Mpi, standard_abi: bool = False) -> Path:
        return compile_c(Path(__file__).parent / "programs" / f"{name}.c", of, programs, standard_abi)

    return compiled


_BEGUN = time.time()
_SHARED = Path("/dev/shm")
_OF_MPIS = ("mpich_shm_*", "sm_segment.*")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Removes what jobs that a test killed could not: the MPIs' own shared memory that no process maps any more."""
    if hasattr(session.config, "workerinput"):  # of a worker: others may still start jobs
        return
    left = [
        path for pattern in _OF_MPIS for path in _SHARED.glob(pattern)
        if path.stat().st_mtime >= _BEGUN and path.stat().st_uid == os.getuid()
    ]  # fmt: skip
    mapped = _all_maps() if left else ""
    for path in left:
        if str(path) not in mapped:
            path.unlink(missing_ok=True)


def _all_maps() -> str:
    texts = []
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # it has ended, or is not ours
            texts.append(maps.read_text(errors="replace"))
    return "".join(texts)
