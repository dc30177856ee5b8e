"""Boxes in boxes, as SVG and as a page: what lies within what."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape

# All lengths in SVG units (pixels at scale 1).
_LEAF = (40, 24)
_PAD = 7  # within a box, and between the boxes in it
_HEAD = 16  # for a box's label
_GLYPH = 6.2  # of a label
_MARGIN = 24
_TITLE = 48  # with the note below it
_ASPECT = 1.8  # width to height of what a box holds, if it can be

_STYLE = (
    "text{font:11px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.box{stroke:#8a97a5;fill:#fff}"
    ".even{fill:#f4f6f8}.leaf{fill:#e2ecf6}.off{fill:#fff;stroke-dasharray:3 2}"
    ".lead1{fill:#bcd6ee}.lead2{fill:#8fbbe2}.lead3{fill:#f3c98b}.lead4{fill:#e89a4f}.lead5{fill:#d9713a}"
)
_PAGE_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "pre{background:#f4f6f8;padding:.8rem;overflow-x:auto;font-size:13px}figure{overflow-x:auto;margin:0}"
)


@dataclass
class Box:
    label: str
    inside: list[Box] = field(default_factory=list)
    style: str = ""
    hover: str = ""
    # Found by _measure: the size, and where each box inside lies in this one.
    size: tuple[float, float] = _LEAF
    at: list[tuple[float, float]] = field(default_factory=list)


def svg(title: str, note: str, box: Box) -> str:
    _measure(box)
    width, height = box.size[0] + 2 * _MARGIN, box.size[1] + _TITLE + _MARGIN
    width = max(width, max(len(title) * 9, len(note) * _GLYPH) + 2 * _MARGIN)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
        f'<text class="title" x="{_MARGIN}" y="22">{escape(title)}</text>',
        f'<text x="{_MARGIN}" y="{_TITLE - 8}">{escape(note)}</text>',
    ]
    _draw(box, _MARGIN, _TITLE, 0, out)
    return "\n".join(out) + "\n</svg>\n"


def html(title: str, note: str, box: Box, text: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_PAGE_STYLE}</style>\n<h1>{escape(title)}</h1>\n"
        f"<figure>{svg(title, note, box)}</figure>\n<pre>{escape(text)}</pre>\n</html>\n"
    )


def _measure(box: Box) -> None:
    """Sets boxes in rows, so many in each that the whole is about as wide as a screen is."""
    label = len(box.label) * _GLYPH + 2 * _PAD
    box.at = []
    if not box.inside:
        box.size = (max(_LEAF[0], label), _LEAF[1])
        return
    for one in box.inside:
        _measure(one)
    widest = max(one.size[0] for one in box.inside) + _PAD
    highest = max(one.size[1] for one in box.inside) + _PAD
    columns = max(1, round(math.sqrt(len(box.inside) * _ASPECT * highest / widest)))
    columns = math.ceil(len(box.inside) / math.ceil(len(box.inside) / columns))  # rows of nearly equal length
    x, y, row, right = float(_PAD), float(_HEAD + _PAD), 0.0, 0.0
    for index, one in enumerate(box.inside):
        if index and index % columns == 0:
            x, y, row = _PAD, y + row + _PAD, 0.0
        box.at.append((x, y))
        x += one.size[0] + _PAD
        row, right = max(row, one.size[1]), max(right, x)
    box.size = (max(right, label), y + row + _PAD)


def _draw(box: Box, x: float, y: float, depth: int, out: list[str]) -> None:
    style = box.style or ("leaf" if not box.inside else "even" if depth % 2 == 0 else "")
    hover = f"<title>{escape(box.hover)}</title>" if box.hover else ""
    out.append(
        f'<rect class="box {style}" x="{x:g}" y="{y:g}" width="{box.size[0]:g}" height="{box.size[1]:g}" rx="3">'
        f"{hover}</rect>"
    )
    if box.inside:
        out.append(f'<text x="{x + _PAD:g}" y="{y + _HEAD - 1:g}">{escape(box.label)}</text>')
    else:
        middle = f'x="{x + box.size[0] / 2:g}" y="{y + box.size[1] / 2 + 4:g}" text-anchor="middle"'
        out.append(f'<text {middle} pointer-events="none">{escape(box.label)}</text>')
    for one, (dx, dy) in zip(box.inside, box.at):
        _draw(one, x + dx, y + dy, depth + 1, out)
