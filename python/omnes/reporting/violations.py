"""Performance guidelines that a stock MPI or omnes breaks, from omnes check-guidelines --json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from omnes.errors import OmnesError
from omnes.reporting import page
from omnes.reporting.ratios import coloured
from omnes.terminal import files
from omnes.terminal.units import format_bytes


def section(paths: Sequence[Path]) -> page.Section:
    body = [
        "<p>An operation should take no longer than others that together do the same. A factor is its time over "
        "theirs; listed is what is broken, with 95 % confidence, on the stock MPI or on omnes.</p>"
    ]
    for path in paths:
        try:
            data = json.loads(files.read(path))
            body += _file(data)
        except (ValueError, KeyError, TypeError):
            raise OmnesError(f"{path} is not what omnes check-guidelines --json writes") from None
    return page.Section("guidelines", "Performance guidelines", "\n".join(body))


def _file(data: dict) -> list[str]:
    jobs = list(dict.fromkeys(one["job"] for one in data["verdicts"]))
    at = {(one["guideline"], one["bytes"], one["job"]): one for one in data["verdicts"]}
    broken = [one for one in data["verdicts"] if one["broken"]]
    cases = dict.fromkeys((one["guideline"], one["bytes"]) for one in sorted(broken, key=lambda one: -one["factor"]))
    rows = []
    for guideline, size in cases:
        found = [at.get((guideline, size, job)) for job in jobs]
        # A cell's colour is that of a ratio above 1 is good: so the inverse, with the factor in words.
        cells = [coloured(1 / one["factor"], f"{one['factor']:.2f}") if one else coloured(None) for one in found]
        rows.append([guideline, format_bytes(size), *cells])
    counts = []
    for job in jobs:
        mine = [one["broken"] for one in data["verdicts"] if one["job"] == job]
        counts.append((f"of {len(mine)} are broken on {job}", str(sum(mine))))
    where = f"{data['mpi']}, {data['ranks']} ranks{', bound to cores' if data['bound'] else ''}"
    heads = ["guideline", "part", *jobs]
    grid = page.table("Time of the left side / time of the right side", heads, rows, "map")
    return [f"<h3>{escape(where)}</h3>", page.facts(counts), grid if rows else "<p>None is broken.</p>"]
