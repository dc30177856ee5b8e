"""Who sends how much to whom, before and after ranks are renumbered: two matrices and the graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_SIDE = 420  # of a matrix and of the graph, in SVG units
_GAP = 36
_HEAD = 56
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.node{fill:none;stroke:#c05621;"
    "stroke-width:1}.edge{stroke:#2b6cb0;fill:none}.cut{stroke:#c05621}.frame{fill:#fff;stroke:#999}"
)
_PAGE = (
    "body{font:15px/1.5 sans-serif;max-width:90rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "figure{overflow-x:auto;margin:0}"
)
MAX_RANKS = 256

Rows = Mapping[int, Mapping[int, int]]


@dataclass(frozen=True)
class Picture:
    title: str
    rows: Rows  # what each virtual rank sends to each
    node: Sequence[int]  # of each real rank
    real_of: Sequence[int]


def svg(picture: Picture) -> str:
    """Matrices have the real ranks node by node, so what is outside the outlined squares travels between nodes."""
    p = len(picture.node)
    order = sorted(range(p), key=lambda rank: (picture.node[rank], rank))
    width, height = 3 * _SIDE + 4 * _GAP, _HEAD + _SIDE + _GAP
    identity = range(p)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(picture.title)}</title><style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="{_GAP}" y="22">{escape(picture.title)}</text>',
        _matrix(picture, identity, order, _GAP, "before: rows send, columns receive, node by node"),
        _matrix(picture, picture.real_of, order, 2 * _GAP + _SIDE, "after"),
        _graph(picture, order, 3 * _GAP + 2 * _SIDE),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def html(picture: Picture) -> str:
    title = escape(picture.title)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_PAGE}</style>\n'
        f"<h1>{title}</h1>\n<p>Dark is much. Outlined squares are nodes: what lies outside travels between nodes. In "
        "the graph the ranks of a node lie side by side, each with the number of the virtual rank that it plays; "
        f"orange edges cross between nodes.</p>\n<figure>{svg(picture)}</figure>\n</html>\n"
    )


def _matrix(picture: Picture, real_of: Sequence[int], order: Sequence[int], x: float, caption: str) -> str:
    p = len(order)
    cell = _SIDE / p
    at = {rank: place for place, rank in enumerate(order)}
    most = max((amount for row in picture.rows.values() for amount in row.values()), default=1)
    out = [f'<text x="{x}" y="{_HEAD - 10}">{escape(caption)}</text>']
    out.append(f'<rect class="frame" x="{x}" y="{_HEAD}" width="{_SIDE}" height="{_SIDE}"/>')
    for sender, row in picture.rows.items():
        for receiver, amount in row.items():
            left, top = x + at[real_of[receiver]] * cell, _HEAD + at[real_of[sender]] * cell
            shade = 0.15 + 0.85 * math.log1p(amount) / math.log1p(most)
            out.append(
                f'<rect x="{left:.2f}" y="{top:.2f}" width="{cell:.2f}" height="{cell:.2f}" fill="#1a365d" '
                f'fill-opacity="{shade:.2f}"/>'
            )
    for first, last in _runs([picture.node[rank] for rank in order]):
        corner, side = first * cell, (last - first) * cell
        out.append(
            f'<rect class="node" x="{x + corner:.2f}" y="{_HEAD + corner:.2f}" width="{side:.2f}" height="{side:.2f}"/>'
        )
    return "\n".join(out)


def _graph(picture: Picture, order: Sequence[int], x: float) -> str:
    """Ranks on a circle, node by node."""
    p = len(order)
    played = {real: virtual for virtual, real in enumerate(picture.real_of)}
    center_x, center_y, radius = x + _SIDE / 2, _HEAD + _SIDE / 2, _SIDE / 2 - 16
    angle = {played[rank]: 2 * math.pi * place / p for place, rank in enumerate(order)}
    spot = {v: (center_x + radius * math.sin(a), center_y - radius * math.cos(a)) for v, a in angle.items()}
    most = max((amount for row in picture.rows.values() for amount in row.values()), default=1)
    out = [f'<text x="{x}" y="{_HEAD - 10}">the graph, after</text>']
    for sender, row in picture.rows.items():
        for receiver, amount in row.items():
            crosses = picture.node[picture.real_of[sender]] != picture.node[picture.real_of[receiver]]
            (x1, y1), (x2, y2) = spot[sender], spot[receiver]
            width = 0.4 + 2.6 * math.log1p(amount) / math.log1p(most)
            out.append(
                f'<path class="edge{" cut" if crosses else ""}" stroke-width="{width:.2f}" stroke-opacity="0.5" '
                f'd="M{x1:.1f} {y1:.1f}Q{center_x:.1f} {center_y:.1f} {x2:.1f} {y2:.1f}"/>'
            )
    for virtual, a in angle.items():
        label_x, label_y = center_x + (radius + 10) * math.sin(a), center_y - (radius + 10) * math.cos(a)
        if p <= 64:
            out.append(f'<text x="{label_x:.1f}" y="{label_y + 4:.1f}" text-anchor="middle">{virtual}</text>')
    return "\n".join(out)


def _runs(values: Sequence[int]) -> list[tuple[int, int]]:
    starts = [i for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    return list(zip(starts, [*starts[1:], len(values)]))
