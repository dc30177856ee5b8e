"""bench/run jobs: several jobs at once on both sides, and a page of them."""

from __future__ import annotations

import re

import pytest

from launching import PREFIXES, bench

pytestmark = pytest.mark.usefixtures("to_measure")


def test_jobs_run_at_once_on_both_sides(tmp_path):
    page = tmp_path / "page.md"
    settings = ["--mpi", str(PREFIXES["openmpi"]), "--times", "1", "--at-once", "1,2", "--steps", "20"]
    done = bench("jobs", *settings, "-o", str(page))
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\| (\d+) \| (\d) \| ([\d.]+) \| .+ \| ([\d.]+) \| ([\d.]+) \|$", page.read_text(), re.M)
    assert [row[:2] for row in rows] == [("8", "1"), ("8", "2"), ("65536", "1"), ("65536", "2")]


@pytest.mark.parametrize("words", [["--at-once", "2,many"], ["--times", "0"]])
def test_mistakes_are_one_line(words):
    done = bench("jobs", *words)
    assert done.returncode != 0 and done.stderr.startswith("jobs: -n, --steps, --times take 1 or more")
    assert done.stderr.count("\n") == 1
