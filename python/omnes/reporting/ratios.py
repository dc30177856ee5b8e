"""Ratios of measured times as heat maps: a peer's time over omnes', from a campaign or from omnes bench --json."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from omnes.bench import against_peers
from omnes.bench.records import Records
from omnes.bench.timing import Cell
from omnes.errors import OmnesError
from omnes.reporting import page
from omnes.terminal import files
from omnes.terminal.units import format_bytes, geometric_mean

_FACTOR = 4.0  # where the colours end


@dataclass(frozen=True)
class Grid:
    title: str
    ours: str
    about: str
    values: Mapping[str, Mapping[Cell, float]]  # by peer, the best one first


def section(paths: Sequence[Path]) -> page.Section:
    body = [
        "<p>A ratio is a peer's time over omnes': above 1, omnes is faster. Each is the median of the ratios within "
        "rounds in which all took turns.</p>",
        _scale(),
    ]
    for path in paths:
        for grid in read(path):
            body.append(_grid(grid))
    return page.Section("ratios", "omnes against its peers", "\n".join(body))


def read(path: Path) -> Iterator[Grid]:
    text = files.read(path)
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        yield from _campaign(Records(path), path)
        return
    try:
        yield from _session(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OmnesError(f"{path} is neither a campaign (.jsonl) nor what omnes bench --json writes") from None


def _campaign(records: Records, path: Path) -> Iterator[Grid]:
    if not records.campaign:
        raise OmnesError(f"{path} is no campaign of bench/run: it has no first record")
    machine = records.campaign["machine"]
    about = f"{machine['processor']}, {machine['cores']} cores, {records.campaign['begun'][:10]}"
    for table in against_peers.tables(records):
        for ours in table.omnes:
            values = {peer: against_peers.ratios(table, peer, ours) for peer in (against_peers.BEST, *table.peers)}
            yield Grid(table.title, ours, about, values)


def _session(data: Mapping[str, Any]) -> Iterator[Grid]:
    where = f"{data['ranks']} ranks on {data['cpus']} CPUs, {'bound to cores' if data['bound'] else 'not bound'}"
    for job in data["jobs"]:
        if job["baseline"]:
            known = Cell.__dataclass_fields__
            values = {
                Cell(**{name: cell[name] for name in known if name in cell}): cell["ratios"][job["name"]]
                for cell in data["cells"]
                if job["name"] in cell.get("ratios", {})
            }
            if values:
                yield Grid(where, job["name"], f"one session of omnes bench, {job['mpi']}", {job["baseline"]: values})


def _grid(grid: Grid) -> str:
    first = next(iter(grid.values))
    values = list(grid.values[first].values())
    mean = geometric_mean(values)
    slower = sum(value < 1 for value in values)
    words = [
        f"<h3>{escape(grid.title)}: {escape(grid.ours)}</h3><p>{escape(grid.about)}.</p>",
        page.facts(
            [
                (f"geometric mean of {len(values)} ratios to {first}", number(mean) if mean else "-"),
                ("cells in which omnes is slower", str(slower)),
                ("worst ratio", number(min(values, default=math.nan))),
            ]
        ),
        '<div class="maps">',
        *(_map(peer, values) for peer, values in grid.values.items()),
        "</div>",
    ]
    return "\n".join(words)


def _map(peer: str, values: Mapping[Cell, float]) -> str:
    rows = list(dict.fromkeys(_row(cell) for cell in values))
    sizes = sorted({cell.bytes for cell in values})
    at = {(_row(cell), cell.bytes): value for cell, value in values.items()}
    body = [[row, *(coloured(at.get((row, size))) for size in sizes)] for row in rows]
    heads = ["", *(format_bytes(size) for size in sizes)]
    return page.table(f"{peer} / omnes, by bytes", heads, body, "map")


def coloured(value: float | None, words: str = "") -> str:
    """A cell of a heat map: above 1 good, below bad, the more the farther away on a logarithmic scale."""
    if value is None:
        return '<td class="none">–</td>'
    much = min(1.0, abs(math.log(value)) / math.log(_FACTOR))
    kind = "faster" if value >= 1 else "slower"
    return f'<td class="{kind}" style="--much:{much:.0%}">{words or number(value)[:-1]}</td>'


def number(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def _scale() -> str:
    shades = [("bad", 100), ("bad", 50), ("good", 0), ("good", 50), ("good", 100)]
    mixed = [f"color-mix(in oklab, var(--{colour}) {much}%, var(--card))" for colour, much in shades]
    steps = "".join(f'<i style="background:{colour}"></i>' for colour in mixed)
    return f'<div class="scale" aria-hidden="true">4 times slower {steps} 4 times faster</div>'


def _row(cell: Cell) -> str:
    return " ".join([cell.operation, *cell.unusual])
