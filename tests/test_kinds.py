"""bench/run kinds: all kinds of calls on both sides, and a page of them."""

from __future__ import annotations

import re

import pytest

from launching import PREFIXES, bench

pytestmark = pytest.mark.usefixtures("to_measure")


def test_all_kinds_are_timed_on_both_sides(tmp_path):
    page = tmp_path / "page.md"
    done = bench("kinds", "--mpi", str(PREFIXES["openmpi"]), "--times", "1", "--up-to", "1K", "-o", str(page))
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^\| (.+), (8|1024) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page.read_text(), re.M)
    assert len(rows) == int(re.search(r"^(\d+) kinds, ", page.read_text(), re.M)[1]) > 70
    ratios = [float(row[-1]) for row in rows]
    assert ratios == sorted(ratios) and min(ratios) > 0
    assert {"alltoallw, slabs of rows", "allreduce, in place", "split, free"} <= {row[0] for row in rows}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [(["-n", "1"], "kinds: -n takes 2 or more, --times 1 or more"), (["--up-to", "much"], "kinds: ")],
)
def test_mistakes_are_one_line(words, complaint):
    done = bench("kinds", *words)
    assert done.returncode != 0 and complaint in done.stderr and done.stderr.count("\n") == 1
