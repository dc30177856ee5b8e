"""One self-contained page: the picture, the rounds as text, and every rank's schedule."""

from __future__ import annotations

from html import escape

from omnes.drawing import svg, text
from omnes.drawing.rounds import Drawing

_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "pre{background:#f4f6f8;padding:.8rem;overflow-x:auto;font-size:13px}figure{overflow-x:auto;margin:0}"
)
_KEY = """Blue arrows carry data, orange ones are reduced into what the receiver has, dashed ones are published to all
other ranks. Point at an arrow for its blocks."""


def render(drawing: Drawing, schedules: list[str]) -> str:
    details = "\n".join(
        f"<details><summary>rank {rank}</summary><pre>{escape(schedule)}</pre></details>"
        for rank, schedule in enumerate(schedules)
    )
    title = escape(drawing.title)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>\n'
        f"<h1>{title}</h1>\n<p>{escape(drawing.summary)}. {_KEY}</p>\n"
        f"<figure>{svg.render(drawing)}</figure>\n"
        f"<h2>Round by round</h2>\n<pre>{escape(text.render(drawing, 160))}</pre>\n"
        f"<h2>Schedules</h2>\n{details}\n</html>\n"
    )
