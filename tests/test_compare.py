"""omnes compare: a program by turns on the stock MPI and on omnes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from launching import LIMIT, YIELDING
from omnes.bench import by_turns
from omnes.bench.by_turns import Result, Run, Side
from omnes.commands.compare import verdict

TIME = r"time: ([\d.]+)"


def compare(program, *words, stdin="", code=0):
    command = [sys.executable, "-m", "omnes", "compare", "-n", "2", *words, "--", *map(str, program)]
    done = subprocess.run(
        command,
        env={**os.environ, **YIELDING},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_says_what_a_program_gains(mpi, build, tmp_path):
    file = tmp_path / "runs.json"
    program = build("compared", mpi)
    done = compare([program], "--repeat", "2", "--figure", TIME, f"--json={file}")
    last = done.stdout.splitlines()[-1]
    assert last.startswith("omnes: ") and "of the time in collectives before" in last, done.stdout
    assert "differs" not in done.stdout
    data = json.loads(file.read_text())
    assert [(side["name"], len(side["seconds"])) for side in data["sides"]] == [("stock", 2), ("omnes", 2)]
    assert all(side["in_collectives"] > 0 for side in data["sides"])
    assert all(figure < seconds for side in data["sides"] for figure, seconds in zip(side["figure"], side["seconds"]))
    assert data["sides"][1]["ratio"] > 0 and data["sides"][1]["output_differs"] is None


def test_finds_outputs_that_differ(mpi, build):
    done = compare([build("compared", mpi), "differs"], "--repeat", "1")
    assert "omnes: the output differs: residual: 1.500e-03" in done.stdout
    done = compare([build("compared", mpi), "nearly"], "--repeat", "1", "--variant", "mine:OMNES_ALLREDUCE=linear")
    assert "differs" not in done.stdout and "\nmine: " in done.stdout


def test_compares_bytes_that_are_no_text(mpi, build):
    figure = b"n\xb0 (\\d+): \xe9".decode(errors="surrogateescape")  # as it comes from a shell
    done = compare([build("compared", mpi), "bytes"], "--repeat", "1", "--figure", figure)
    assert "omnes: the output differs: n\\xb0 7: \\xe9t\\xe9 \\xff\n" in done.stdout
    assert "7 [7, 7]" in done.stdout


def test_the_stock_mpi_is_timed_by_the_same_clock(mpi, build, tmp_path):
    file = tmp_path / "stats.json"
    words = ["run", "--no-omnes", "--stats", "--stats-json", str(file), "-n", "2", str(build("compared", mpi))]
    command = [sys.executable, "-m", "omnes", *words]
    done = subprocess.run(
        command, env={**os.environ, **YIELDING}, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0 and "the MPI ran all 200 calls" in done.stdout + done.stderr, done.stdout + done.stderr
    report = json.loads(file.read_text())
    assert [(entry["operation"], entry["calls"]) for entry in report["passed"]] == [("allreduce", 200)]
    assert report["entries"] == [] and report["passed"][0]["seconds"] > 0


def test_gives_the_input_to_every_run(mpi, build):
    done = compare([build("compared", mpi), "reads"], "--repeat", "1", "--figure", r"read: (\d+)", stdin="42\n")
    assert "42 [42, 42]" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--figure", "("], 2, "--figure: '(' is no regular expression"),
        (["--figure", "nowhere"], 1, "stock: nothing in the output matches --figure 'nowhere'"),
        (["--figure", "time"], 1, "--figure: 'time' is no number; group its digits"),
        (["--higher"], 2, "--higher is about a figure: add --figure REGEX"),
        (["--variant", "mine"], 2, "'mine' is no variant: write NAME:VARIABLE=VALUE"),
        (["--variant", "omnes:OMNES_WAIT=spin"], 2, "two sides have one name"),
        (["--variant", "mine:OMNES_BCAST=nonsense"], 1, "mine: exit code"),
    ],
)
def test_wrong_words_are_one_line(mpi, build, words, code, says):
    done = compare([build("compared", mpi)], "--repeat", "1", *words, code=code)
    assert says in done.stderr and done.stderr.strip().count("\n") == 0


def test_figures_are_above_0(mpi, build):
    done = compare([build("compared", mpi), "reads"], "--figure", r"read: (\d+)", stdin="0\n", code=1)
    assert "stock: --figure: 'read: 0': ratios are of numbers above 0" in done.stderr


def test_says_that_a_program_fails(mpi, build):
    done = compare([build("compared", mpi), "fails"], code=1)
    assert "stock: exit code 3" in done.stderr


def result(name, seconds, share=None):
    return Result(Side(name, None), [Run(one, "") for one in seconds], share)


def test_verdicts_have_their_confidence():
    stock = result("stock", [1.12] * 8, 0.23)
    assert verdict(stock, result("omnes", [1.0] * 8, 0.12), "less", False) == (
        "omnes: 1.12x faster (1.12 to 1.12), 23 % of the time in collectives before, 12 % after"
    )
    assert verdict(stock, result("omnes", [1.12 * 2] * 8), "less", False) == "omnes: 2.00x slower (2.00 to 2.00)"
    noisy = result("omnes", [1.0, 1.3] * 4)
    assert "no difference beyond noise" in verdict(stock, noisy, "less", False)
    assert "6 runs or more" in verdict(result("stock", [1.0]), result("omnes", [0.5]), "less", False)


def test_only_what_stock_prints_alike_is_compared():
    common = by_turns._common(["a 1\nb 2.0\nt 3\n", "b 2.0\na 1\nt 4\n"])
    assert by_turns._missing(common, "t 9\nb 2.0000001\na 1\nmore\n", 1e-6) is None
    assert by_turns._missing(common, "t 9\nb 2.1\na 1\n", 1e-6) == "b 2.0"
    assert by_turns._missing(common, "t 9\na 1\n", 1e-6) == "b 2.0"
