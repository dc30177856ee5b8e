"""Heat maps of a table: rows are operations, columns sizes, the colour is the ratio of a peer's time to omnes'.

The scale is logarithmic and ends at a factor of 4 either way: blue where omnes is faster, red where it is slower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from omnes.bench.compare import BEST, Table, ratios
from omnes.bench.timing import Cell
from omnes.errors import OmnesError
from omnes.terminal.units import format_bytes

_FACTOR = 4.0  # where the colours end
_COLUMN_INCHES, _ROW_INCHES, _MARGIN_INCHES = 0.5, 0.2, 2.2
_PANELS = 2  # beside each other


def path(table: Table, ours: str, page: Path) -> Path:
    """Beside the page."""
    return page.with_name(f"{page.stem}-{table.plan}-{table.ranks}-{ours}.svg")


def draw(table: Table, ours: str, page: Path) -> Path:
    """One picture for each omnes: a map against the best peer, then one against each."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise OmnesError("heat maps need matplotlib: pip install matplotlib") from None
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(_row(cell) for cell in table.cells))
    columns = sorted({cell.bytes for cell in table.cells})
    peers = (BEST, *table.peers)
    down = math.ceil(len(peers) / _PANELS)
    width = _PANELS * (len(columns) * _COLUMN_INCHES + _MARGIN_INCHES)
    height = down * (len(rows) * _ROW_INCHES + 0.9)
    # The same picture from the same numbers, byte for byte; letters stay letters.
    with matplotlib.rc_context({"svg.hashsalt": "omnes", "svg.fonttype": "none", "font.size": 7}):
        figure = Figure(figsize=(width, height), layout="constrained")
        panels = list(figure.subplots(down, _PANELS, squeeze=False).flat)
        for panel, peer in zip(panels, peers):
            _panel(panel, ratios(table, peer, ours), rows, columns)
            panel.set_title(f"{peer} / {ours}", fontsize=8)
        for panel in panels[len(peers) :]:
            panel.set_axis_off()
        figure.savefig(path(table, ours, page), format="svg", metadata={"Date": None})
    return path(table, ours, page)


def _panel(axes, values: dict[Cell, float], rows: Sequence[str], columns: Sequence[int]) -> None:
    limit = math.log2(_FACTOR)
    colours = [[math.nan] * len(columns) for _ in rows]
    for cell, value in values.items():
        y, x = rows.index(_row(cell)), columns.index(cell.bytes)
        colours[y][x] = math.log2(value)
        words = f"{value:.2g}" if value < 100 else f"{value:.0f}"
        ink = "white" if abs(math.log2(value)) > limit / 2 else "black"
        axes.text(x, y, words, ha="center", va="center", fontsize=5, color=ink)
    axes.imshow(colours, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(len(columns)), [format_bytes(size) if size else "-" for size in columns])
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)


def _row(cell: Cell) -> str:
    """All that tells cells of one size apart."""
    return " ".join([cell.operation, *cell.unusual])
