"""Heat maps of a table: rows are operations, columns sizes, the colour is the ratio of a peer's time to omnes'.

SVG with one path for all cells of a colour, so that a picture of some thousand cells stays below 40 KB. The numbers are
in the tables of the page.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from omnes.bench.against_peers import BEST, Table, ratios
from omnes.bench.timing import Cell
from omnes.terminal.units import format_bytes

# Ratios at which the colour changes, and the colours from red (omnes is slower) to blue (faster): ColorBrewer's RdBu.
_EDGES = (0.25, 0.5, 0.7, 0.9, 1.1, 1.4, 2, 4)
_COLOURS = ("#b2182b", "#d6604d", "#f4a582", "#fddbc7", "#ebebeb", "#d1e5f0", "#92c5de", "#4393c3", "#2166ac")

_ACROSS = 3  # panels beside each other
# Lengths in SVG units (pixels at scale 1).
_CELL_WIDTH, _CELL_HEIGHT = 24, 11
_LETTER = 5.2  # of a row's name
_TITLE, _FOOT, _GAP, _KEY = 18, 16, 12, 34

Values = Mapping[Cell, float]


def path(table: Table, ours: str, page: Path) -> Path:
    """Beside the page."""
    return page.with_name(f"{page.stem}-{table.plan}-{table.ranks}-{ours}.svg")


def draw(table: Table, ours: str, page: Path) -> Path:
    """One picture for each omnes: a map against the best peer, then one against each."""
    panels = [(f"{peer} / {ours}", ratios(table, peer, ours)) for peer in (BEST, *table.peers)]
    path(table, ours, page).write_text(sheet(panels))
    return path(table, ours, page)


def sheet(panels: Sequence[tuple[str, Values]], across: int = _ACROSS) -> str:
    """Maps with their titles, all with the same rows and columns."""
    cells = dict.fromkeys(cell for _, values in panels for cell in values)
    rows = {name: y for y, name in enumerate(dict.fromkeys(map(_row, cells)))}
    columns = {size: x for x, size in enumerate(sorted({cell.bytes for cell in cells}))}
    left = round(_LETTER * max(map(len, rows), default=0)) + 8
    map_width, map_height = _CELL_WIDTH * len(columns), _CELL_HEIGHT * len(rows)
    step = _TITLE + map_height + _FOOT
    width = left + (map_width + _GAP) * min(across, len(panels))
    height = step * -(-len(panels) // across)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + _KEY}" font-family="sans-serif" '
        'font-size="9" text-anchor="middle">',
        f'<path fill="#fff" d="M0 0h{width}v{height + _KEY}H0z"/>',
    ]
    for index, (title, values) in enumerate(panels):
        x, y = left + (map_width + _GAP) * (index % across), step * (index // across) + _TITLE
        if index % across == 0:
            out.append(f'<g text-anchor="end" transform="translate({left - 4} {y - 2})">')
            out += (f'<text y="{_CELL_HEIGHT * (at + 1)}">{escape(name)}</text>' for name, at in rows.items())
            out.append("</g>")
        out.append(f'<g transform="translate({x} {y})"><text x="{map_width / 2:g}" y="-5">{escape(title)}</text>')
        out += (
            f'<text x="{_CELL_WIDTH * (at + 0.5):g}" y="{map_height + 10}">{format_bytes(size) if size else "-"}</text>'
            for size, at in columns.items()
        )
        shades = {(rows[_row(cell)], columns[cell.bytes]): _shade(value) for cell, value in values.items()}
        out += [f'<g shape-rendering="crispEdges" transform="scale({_CELL_WIDTH} {_CELL_HEIGHT})">', *_paths(shades)]
        out.append("</g></g>")
    return "\n".join([*out, *_key(width, height), "</svg>"]) + "\n"


def _shade(ratio: float) -> int:
    return bisect.bisect(_EDGES, ratio)


def _paths(shades: Mapping[tuple[int, int], int]) -> Iterator[str]:
    """One for each colour, of runs of cells beside each other, in units of cells."""
    runs: dict[int, list[list[int]]] = {}
    for (y, x), shade in sorted(shades.items()):
        of_shade = runs.setdefault(shade, [])
        if of_shade and of_shade[-1][1] == y and sum(of_shade[-1][::2]) == x:
            of_shade[-1][2] += 1
        else:
            of_shade.append([x, y, 1])
    for shade, found in sorted(runs.items()):
        yield f'<path fill="{_COLOURS[shade]}" d="{"".join(f"M{x} {y}h{n}v1h-{n}z" for x, y, n in found)}"/>'


def _key(width: int, y: int) -> Iterator[str]:
    """The colours, with the ratios at which they change between them."""
    size = 36
    x = (width - size * len(_COLOURS)) // 2
    for at, colour in enumerate(_COLOURS):
        yield f'<path fill="{colour}" d="M{x + size * at} {y + 6}h{size}v10h-{size}z"/>'
    yield from (f'<text x="{x + size * (at + 1)}" y="{y + 27}">{edge:g}</text>' for at, edge in enumerate(_EDGES))
    yield f'<text x="{x - 6}" y="{y + 15}" text-anchor="end">omnes slower</text>'
    yield f'<text x="{x + size * len(_COLOURS) + 6}" y="{y + 15}" text-anchor="start">omnes faster</text>'


def _row(cell: Cell) -> str:
    """All that tells cells of one size apart."""
    return " ".join([cell.operation, *cell.unusual])
