"""omnes as a component of Open MPI: Debian's loads mca_coll_omnes.so by itself, and nothing is preloaded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launching import LIMIT, TRANSPORTS, compile_c, compile_fortran, expect_ok, mpirun
from omnes import _core
from omnes.launching import libraries, mpi
from test_fortran import SOURCES
from test_mpi4py import SELECTIONS, suite  # noqa: F401

COMPONENT = libraries.folder() / "openmpi/mca_coll_omnes.so"
PATH = f"SYSTEM_DEFAULT:{COMPONENT.parent}"
PROGRAMS = Path(__file__).parent / "programs"
FORMS = {"movement": ("1000",), "reductions": ("1000",), "nonblocking": (), "persistent": ("100",)}


@pytest.fixture(scope="module")
def debian() -> mpi.Mpi:
    if not COMPONENT.exists():
        pytest.skip("no component: it is built where Open MPI's internal headers are (Debian: libopenmpi-dev)")
    return mpi.identify(Path(shutil.which("mpiexec.openmpi")))


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("debian")


@pytest.fixture
def run(debian, programs, tmp_path):
    """run(ranks, program, ..., **variables)"""

    def with_component(ranks, program, *words, preloaded=False, **variables):
        path = program if isinstance(program, Path) else compile_c(PROGRAMS / f"{program}.c", debian, programs)
        variables = {"OMPI_MCA_mca_base_component_path": PATH, "OMNES_STATS": str(tmp_path), **variables}
        return mpirun(debian, ranks, path, *words, with_omnes=preloaded, variables=variables)

    return with_component


@pytest.fixture
def report(tmp_path):
    """report(): what rank 0 has written."""
    return lambda: json.loads((tmp_path / "rank-0.json").read_text())


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("program", FORMS)
def test_all_forms_are_served(run, report, program, transport):
    expect_ok(run(3, program, *FORMS[program], **TRANSPORTS[transport]))
    assert report()["entries"]
    assert report()["passed"] == []


@pytest.mark.parametrize(
    "program",
    [
        "types",
        "threads",
        "dups",
        "lifecycle",
        "lifetimes",
        "repeats",
        "varied",
        "freed",
        "room_for_more",
        "at_finalize",
    ],
)
def test_what_programs_do(run, program):
    words = {"lifetimes": ["200"]}
    expect_ok(run(3, program, *words.get(program, [])))


@pytest.mark.parametrize("transport", ["messages", "nodes"])
@pytest.mark.parametrize("program", ["threads", "dups"])
def test_communicators_that_form_by_messages(run, program, transport):
    expect_ok(run(3, program, **TRANSPORTS[transport]))


@pytest.mark.parametrize("number", range(0, 12, 3))
def test_each_algorithm(run, number):
    """One launch forces one algorithm of each operation."""
    forced = {}
    for operation in _core.operations():
        names = [entry["name"] for entry in _core.catalogue() if entry["operation"] == operation]
        forced[f"OMNES_{operation.upper()}"] = names[number % len(names)]
    for program in ["movement", "reductions"]:
        expect_ok(run(4, program, "100", **forced))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_collectives_that_open_mpi_makes_itself(run, report, tmp_path, monkeypatch, transport):
    """In functions that make communicators, windows and files; a library in front of it sees none of these calls."""
    monkeypatch.chdir(tmp_path)
    expect_ok(run(4, "internals", **TRANSPORTS[transport]))
    assert report()["passed"] == []
    served = report()["entries"]
    expect_ok(run(4, "internals", preloaded=True, OMPI_MCA_coll="^omnes", **TRANSPORTS[transport]))
    seen = report()["entries"]
    calls = {name: sum(entry["calls"] for entry in entries) for name, entries in (("own", served), ("front", seen))}
    assert calls["own"] > 2 * calls["front"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_between_groups(run, report, transport):
    """Of a call with a root Open MPI need not tell all ranks of a component."""
    expect_ok(run(3, "between", *(["quick"] if transport == "messages" else []), **TRANSPORTS[transport]))
    left = report()["passed"]
    reason = "with a root on an intercommunicator, persistent or before all others"
    assert {entry["reason"] for entry in left} == {reason}
    assert {entry["operation"] for entry in left if entry["form"] != "persistent"} == {"bcast"}
    rooted = {"bcast", "reduce", "gather", "gatherv", "scatter", "scatterv"}
    assert {entry["operation"] for entry in left} == rooted


def test_errors_are_the_stock_ones(run):
    served = run(2, "errors")
    stock = run(2, "errors", OMPI_MCA_coll="^omnes")
    assert (served.returncode, served.stdout) == (stock.returncode, stock.stdout)


@pytest.mark.parametrize("source", SOURCES)
def test_fortran(run, report, programs, source):
    if not shutil.which("mpif90.openmpi"):
        pytest.skip("no mpif90.openmpi")
    expect_ok(run(3, compile_fortran(source, "openmpi", programs)))
    assert {entry["operation"] for entry in report()["entries"]} >= {"bcast", "reduce", "allreduce", "gatherv"}


@pytest.mark.parametrize("selection", ["communicators-2", "blocking-2", "nonblocking-3", "between-groups-4"])
def test_mpi4py(run, suite, selection, monkeypatch):  # noqa: F811
    modules, ranks = SELECTIONS[selection]
    shown = subprocess.run(["mpicc.openmpi", "--showme:libdirs"], capture_output=True, text=True, check=True)
    monkeypatch.setenv("MPI4PY_MPIABI", "openmpi")
    monkeypatch.setenv("LD_LIBRARY_PATH", shown.stdout.split()[0])
    done = run(ranks, Path(sys.executable), str(suite), "-q", "--no-builddir", "-i", modules)
    assert done.returncode == 0, done.stdout + done.stderr


def test_where_a_library_is_preloaded_the_component_steps_aside(run, report):
    done = run(3, "movement", "10", preloaded=True)
    expect_ok(done)
    assert done.stderr.count("steps aside, as ") == 1
    assert report()["entries"]


def test_parameters(debian):
    """Named, explained, and as Open MPI shows its own."""
    ompi_info = debian.launcher.with_name("ompi_info")
    words = [str(ompi_info), "--param", "coll", "omnes", "--level", "9"]
    environment = {"PATH": "/usr/bin", "OMPI_MCA_mca_base_component_path": PATH, "OMPI_MCA_coll_omnes_wait": "yield"}
    shown = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT, check=True).stdout
    assert 'parameter "coll_omnes_priority" (current value: "90"' in shown
    assert 'parameter "coll_omnes_wait" (current value: "yield"' in shown
    assert "How ranks wait: spin, yield, auto" in shown
    for operation in _core.operations():
        assert f'"coll_omnes_{operation}"' in shown and f'"coll_omnes_i{operation}"' in shown


def test_a_parameter_is_a_setting(run, report):
    expect_ok(run(3, "movement", "10", OMPI_MCA_coll_omnes_bcast="chain"))
    algorithms = {entry["algorithm"] for entry in report()["entries"] if entry["operation"] == "bcast"}
    assert {name.partition(":")[0] for name in algorithms} == {"chain"}


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        (
            "OMPI_MCA_coll_omnes_bcast",
            "knomail",
            'OMNES_BCAST: no algorithm "knomail" for bcast; did you mean knomial? valid: ',
        ),
        ("OMNES_CHECK", "1", "OMNES_CHECK: not served by a component of Open MPI; preload libomnes-ompi.so"),
        ("OMNES_RECORD", ".", "OMNES_RECORD: not served by a component of Open MPI; preload libomnes-ompi.so"),
    ],
)
def test_a_wrong_setting_is_an_error_of_mpi_init(run, variable, value, said):
    done = run(1, "movement", "10", **{variable: value})
    assert done.returncode != 0
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize(("variable", "value"), [("OMPI_MCA_coll", "^omnes"), ("OMPI_MCA_coll_omnes_priority", "-1")])
def test_not_wanted(run, tmp_path, variable, value):
    expect_ok(run(2, "movement", "10", **{variable: value}))
    assert not list(tmp_path.glob("rank-*.json"))


def test_switched_off(run, report):
    expect_ok(run(2, "movement", "10", OMNES_OFF="1"))
    assert report()["entries"] == []
    assert {entry["reason"] for entry in report()["passed"]} == {"OMNES_OFF"}


def test_exports_nothing_but_the_component(debian):
    shown = subprocess.run(["nm", "--dynamic", "--defined-only", COMPONENT], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in shown.stdout.splitlines()] == ["mca_coll_omnes_component"]
