"""The compiled core refuses wrong arguments by ValueError, whatever they are; it neither crashes nor hangs."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import omnes
from omnes import _core

# Values of each kind of argument: usual ones first, then what no caller should give.
INTEGERS = (2, 0, 1, -1, 3, 1 << 20, (1 << 31) - 1, -(1 << 31), 1 << 31, 1 << 63, 1 << 64, -(1 << 63) - 1)
NUMBERS = (1.0, 0.0, -1.0, float("nan"), float("inf"), 1e308)
TEXTS = ("", "0", "off", "this", "a\nb", "a\0b", "\udcff", "/dev/zero", "2x2", "x" * 10000, "n[1-10000000]")
LISTS = ([], [0, 0], [0, 1], [-1, 0], [0, 0, 0], [1 << 31], [1 << 64], [(1 << 31) - 1, 0], [-(1 << 31), 0])
LEVELS = ([], [("node", [0, 1])], [("node", [])], [("", [0, 0]), ("node", [0, 0])], [("node", [-1, 0])], [("n", [0])])


def declared() -> dict[str, list[tuple[str, str]]]:
    """Functions and their parameters with kinds, as the stub says."""
    stub = Path(inspect.getfile(_core)).with_name("_core.pyi")
    if not stub.exists():
        stub = Path(omnes.__file__).with_name("_core.pyi")
    found = {}
    for name, parameters in re.findall(r"^def (\w+)\(([^)]*)\)", stub.read_text(), re.MULTILINE):
        found[name] = re.findall(r"(\w+): ([\w\[\], ]+?)(?: = [^,]+)?(?:,\s*|\s*$)", parameters)
    return found


def usual(name: str, kind: str):
    named = {"operation": "bcast", "algorithm": "knomial", "choice": "knomial", "type": "f64", "op": "sum"}
    named |= {"reduction": "f64 sum", "ranks": "2x2", "list": "n[1-2]", "text": "0 1 8", "rounds": 1, "rank": 0}
    named |= {"root": 0, "radix": 2, "bytes": 8, "segments": 1, "file": "/dev/null", "alpha": 1e-6, "beta": 1e-9}
    if name in named and not (name == "ranks" and kind == "int") and not (name == "text" and kind == "choice"):
        return named[name]
    return {"int": 2, "float": 1.0, "str": "", "bool": False, "Sequence[int]": []}.get(kind, [])


def hostile(kind: str) -> tuple:
    kinds = {"int": INTEGERS, "float": NUMBERS, "str": TEXTS, "bool": (False, True), "Sequence[int]": LISTS}
    return (*kinds.get(kind, LEVELS), None, object())


def call(function, arguments: dict) -> None:
    with contextlib.suppress(ValueError, TypeError):  # a number that the core has no type for is one of another type
        function(**arguments)


@pytest.mark.timeout(300)
def test_no_function_dies_of_its_arguments():
    """In a process of its own, which may take little memory and time."""
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, timeout=280, check=False, cwd=Path(__file__).parent
    )
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-200:]


def public_functions() -> set[str]:
    return {name for name in dir(_core) if callable(getattr(_core, name)) and not name.startswith("_")} - {"Traffic"}


def test_the_stub_names_every_function_with_its_parameters():
    assert public_functions() == set(declared())
    for name, parameters in declared().items():
        signature = getattr(_core, name).__nb_signature__[0][0]
        assert [parameter for parameter, _ in parameters] == re.findall(r"(\w+): ", signature)


def test_every_function_says_what_it_does():
    for name in public_functions():
        assert getattr(_core, name).__doc__.split("\n", 1)[1].strip(), name  # below the signature


def test_the_package_says_that_it_has_types():
    assert (Path(omnes.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        (lambda: _core.choose("bcast", 0, 8, 1), "p 0 is outside 1..1048576"),
        (lambda: _core.choose("bcast", 2, 8, 1, node=[-1, 0]), "unit -1 is outside 0..2147483647"),
        (lambda: _core.choose("bcast", 2, 8, 1, node=[0]), "level 'node' places 1 ranks, not 2"),
        (lambda: _core.segment_bytes(0), "p 0 is outside"),
        (lambda: _core.default_settings(0, True), "p 0 is outside"),
        (lambda: _core.why_not("bcast", "knomial", 0), "p 0 is outside"),
        (
            lambda: _core.schedule_text("bcast", "chain", 1024, 0, segments=1 << 20),
            "segments 1048576 is outside 1..1024",
        ),
        (lambda: _core.traffic("bcast", "knomial", 0), "p 0 is outside"),
        (lambda: _core.traffic("bcast", "knomial", 2, 2), "root 2 is outside 0..1"),
        (lambda: _core.read_traffic("0 1 8", -1), "p -1 is outside"),
        (lambda: _core.read_traffic("0 1 9999999999999999"), "line 1: expected 'rank rank bytes'"),
        (lambda: _core.sum_traffic(-1, []), "p -1 is outside"),
        (lambda: _core.renumbering("bcast", "knomial", 8, [("node", [])]), "p 0 is outside"),
        (lambda: _core.inner_units([]), "no CPUs"),
        (lambda: _core.time_copy((1 << 64) - 1, 1), "bytes .* is outside"),
        (lambda: _core.time_copy(8, -1), "rounds -1 is outside"),
        (lambda: _core.expand_hostlist("a[1-10000000]"), "more than 1048576 names"),
        (lambda: _core.expand_hostlist("a[1-600000],b[1-600000]"), "more than 1048576 names"),
        (lambda: _core.expand_hostlist("a[1-1000][1-1000][1-1000][1-1000][1-1000][1-1000]"), "more than 1048576"),
        (lambda: _core.expand_hostlist("x" * 100 + "[1-1000000]"), "longer than 64 MiB together"),
        (lambda: _core.expand_hostlist(f"a[{'0' * 999}1-99999]"), "longer than 64 MiB together"),
        (lambda: _core.job("1048577x1"), "is no number from 1 to 1048576"),
    ],
)
def test_what_is_wrong_is_said(what, complaint):
    with pytest.raises(ValueError, match=complaint):
        what()


def test_the_last_numbers_of_a_hostlist_are_reached():
    assert _core.expand_hostlist("a[2147483646-2147483647]") == ["a2147483646", "a2147483647"]


def _tables_of_traffic():
    traffic = _core.traffic("alltoall", "linear", 4)
    levels = [[("node", [0, 0, 1, 1])], [("node", [0, 1])], [("node", [-1, 0, 1, 1])], [("n", [0, 0, 0, 0])] * 2]
    bandwidths = [[], [1.0], [8.0, 1.0], [0.0, 1.0], [-1.0, 1.0], [float("nan"), 1.0], [float("inf")] * 2]
    for one, rates, method in itertools.product(levels, bandwidths, ("auto", "structure", "general", "metis", "odd")):
        for fixups in (0, -1, 1 << 30):
            yield traffic.map, {"levels": one, "bandwidths": rates, "method": method, "fixups_up_to": fixups}
    for parts in ([], [(None, [0], 1.0)], [(traffic, [0, 1, 2, 3], float("nan"))], [(traffic, [0, 1, 2, 9], 1.0)]):
        yield _core.sum_traffic, {"p": 4, "parts": parts}
    yield _core.sum_traffic, {"p": 4, "parts": [(traffic, [0, 0, 0, 0], 1e300)]}


def main() -> None:
    """Every function, with all arguments usual but one, or but two of its numbers and lists."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    for name, parameters in declared().items():
        function = getattr(_core, name)
        base = {parameter: usual(parameter, kind) for parameter, kind in parameters}
        print(name, flush=True)  # the last one printed is the one that died
        for parameter, kind in parameters:
            for value in hostile(kind):
                call(function, {**base, parameter: value})
        small = [(parameter, kind) for parameter, kind in parameters if kind in ("int", "list[int]")]
        for (one, kind), (other, other_kind) in itertools.combinations(small, 2):
            for value, other_value in itertools.product(hostile(kind)[:6], hostile(other_kind)[:6]):
                if (1 << 20) not in (value, other_value):
                    call(function, {**base, one: value, other: other_value})
    for function, arguments in _tables_of_traffic():
        call(function, arguments)


if __name__ == "__main__":
    main()
