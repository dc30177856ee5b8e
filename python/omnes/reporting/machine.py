"""The machine: what its file says in a few numbers, and what was timed for it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from omnes import _core
from omnes.models.prediction import MachineCosts
from omnes.reporting import charts, page
from omnes.reporting.charts import Series
from omnes.terminal import toml_files
from omnes.terminal.units import format_seconds

# What omnes measure times, as people call it, and between which levels' transports.
_TIMED = {
    "one_way": "a message of the MPI, one way",
    "exchange": "an exchange of two messages",
    "publish": "a publish in shared memory",
    "pair": "a message in shared memory",
}


def section(machine: MachineCosts) -> page.Section:
    values = toml_files.parse(machine.text or _core.default_machine(), machine.facts["name"])
    source = escape(f"{machine.facts['name']}: {machine.facts['source']}.")
    words = [f"<p>{source}</p>", page.facts(facts(values))]
    timed = values.get("measured", {})
    series = [_timed(timed[what], words_) for what, words_ in _TIMED.items() if what in timed]
    for colour, one in enumerate(series):
        one.colour = colour
    if series:
        caption = "Measured messages: medians, with 95 % confidence intervals"
        words.append(f'<div class="pair">{charts.chart(caption, series, "bytes")}{_reductions(values)}</div>')
    else:
        words.append(_reductions(values))
    words.append(_levels(values))
    return page.Section("machine", "The machine", "\n".join(words))


def facts(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for level in values["level"]:
        what = "omnes' shared memory" if level["by"] == "memory" else "the MPI's messages"
        small = level["send"] + level["latency"] + level["recv"]
        found.append((f"{level['name']}: an empty message through {what}", format_seconds(small)))
        if curve := level.get("wire") or level.get("single"):
            found.append((f"{level['name']}: bandwidth of the longest messages", _bandwidth(curve[-1][2])))
    found.append(("copy within a rank, from cache", _bandwidth(values["copy"][0][2])))
    return found


def _bandwidth(seconds: float) -> str:
    """Of so many seconds for each byte; a busy machine's measurements may say that they cost nothing."""
    return f"{1e-9 / seconds:.3g} GB/s" if seconds > 0 else "not found: the machine was busy"


def _timed(rows: list[list[float]], name: str) -> Series:
    alone = [row for row in rows if row[1] == 1 and row[0] > 0]
    return Series(
        name, dots=[(row[0], row[2]) for row in alone], line=[(row[0], row[2]) for row in alone],
        low_high=[(row[3], row[4]) for row in alone],
    )  # fmt: skip


def _reductions(values: Mapping[str, Any]) -> str:
    """Time of a byte in the longest pieces: what a reduction costs beside a copy."""
    curves = {"copy": values["copy"], **values["reduce"]}
    rows = [[name, *(f"{1e-9 / _slope(curve, size):.3g}" for size in _SIZES)] for name, curve in curves.items()]
    return page.table("Copies and reductions on one core, GB/s", ["", "4K", "256K", "4M"], rows)


_SIZES = (4096, 1 << 18, 4 << 20)


def _slope(curve: list[list[float]], size: int) -> float:
    """Seconds for a byte of so many."""
    _, alpha, beta = [row for row in curve if row[0] <= size][-1]
    return (alpha + beta * size) / size


def _levels(values: Mapping[str, Any]) -> str:
    rows = []
    for level in values["level"]:
        rows.append(
            [
                level["name"],
                level["by"],
                *(format_seconds(level[name]) for name in ("send", "latency", "recv")),
                f"{1e-9 / level['out']:.3g} GB/s" if level.get("out") else "no limit",
            ]
        )
    return page.table("Levels, nearest first", ["", "by", "work to send", "latency", "work to receive", "out"], rows)
