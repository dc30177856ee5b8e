"""Schedules and traffic of the algorithms that the table chooses, as pictures inside the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from omnes import _core
from omnes.algorithms import catalogue
from omnes.algorithms.selection import Decisions
from omnes.drawing import rounds, svg, traffic
from omnes.placement import patterns, renumbering
from omnes.reporting import page

RANKS = 8  # of a schedule
_MAX_SEGMENTS = 2  # drawn: more say the same again
_PLACES = "4x4"  # nodes and ranks of the traffic
_TITLE = 28  # height of a picture's own, which the caption replaces
_MAX_SHOWN = 4  # algorithms of an operation


def section(decisions: Sequence[Decisions], operations: Sequence[str]) -> page.Section:
    body = [
        "<p>The messages of the algorithms that were chosen above, round by round: blue arrows carry data, orange ones "
        "are combined with what the receiver has, dashed ones reach all ranks through memory. Point at an arrow for "
        f"its blocks. Below, unless all ranks send to all, who sends how much to whom among {_PLACES} ranks (nodes by "
        "ranks), and what renumbering them would bring.</p>"
    ]
    number = 0
    for operation in operations:
        chosen = {
            span.choice.algorithm: span.choice for one in decisions for d in one.of[operation] for span in d.spans
        }
        parts: list[str] = []
        for choice in list(chosen.values())[:_MAX_SHOWN]:
            number += 1
            what = f"{operation}/{choice.algorithm}"
            pictures = _schedule(operation, choice.algorithm, bool(choice.segment), number)
            if operation != "barrier":
                pictures += _traffic(operation, choice.algorithm)
            if pictures:
                summary = f"{what}: {catalogue.one(what)['summary']}"
                parts.append(page.details(summary, pictures, is_open=not parts and operation == operations[0]))
        body.append(page.of_operation(operation, "\n".join(parts)))
    return page.Section("schedules", "Schedules and traffic", "\n".join(body))


def _schedule(operation: str, name: str, segmented: bool, number: int) -> str:
    algorithm = catalogue.one(f"{operation}/{name}")
    segments = _MAX_SEGMENTS if segmented and algorithm["segmented"] else 1
    nodes = patterns.placing(f"2x{RANKS // 2}").nodes() if algorithm["hierarchical"] else []
    if _core.why_not(operation, name, RANKS, segments=segments, nodes=nodes):
        return ""
    root = 0 if operation in catalogue.ROOTED else None
    drawing = rounds.draw(algorithm, RANKS, root, 0, segments, nodes)
    return _figure(svg.render(drawing), f"{drawing.title}: {drawing.summary}", number)


def _traffic(operation: str, name: str) -> str:
    """Of hierarchical ones it would say nothing: they keep to the nodes by themselves."""
    where = patterns.placing(_PLACES)
    if catalogue.one(f"{operation}/{name}")["hierarchical"] or _core.why_not(operation, name, where.p):
        return ""
    source = _core.traffic(operation, name, where.p)
    if sum(map(len, source.rows().values())) == where.p * (where.p - 1):
        return ""
    found = renumbering.find(source, f"{operation}/{name}", where, 1, "auto", [])
    title = f"traffic of {operation}/{name}, {where.p} ranks on {where.text}; renumbered: {found.gain:.2f}× predicted"
    return _figure(traffic.svg(traffic.Picture(title, source.rows(), where.nodes(), found.real_of)), title, 0)


def _figure(picture: str, title: str, number: int) -> str:
    """A picture of its own becomes part of the page: without its style, its background, and names that others have."""
    picture = re.sub(r"<style>.*?</style>", "", picture, flags=re.DOTALL)
    picture = re.sub(r'<rect width="[\d.]+" height="[\d.]+" fill="#fff"/>\n', "", picture)
    picture = picture.replace('fill="#1a365d"', 'class="amount"')
    picture = re.sub(r'viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+" height="[\d.]+"', _without_title, picture)
    picture = picture.replace('id="tip"', f'id="tip-{number}"').replace("url(#tip)", f"url(#tip-{number})")
    name = f'aria-label="{escape(title)}"'
    picture = picture.replace("<svg ", f'<svg role="img" {name} ', 1)
    kind = "drawing" if number else "drawing fits"
    frame = f'<figure class="{kind}" role="group" tabindex="0" {name}>'
    return f"{frame}<figcaption>{escape(title)}</figcaption>{picture}</figure>"


def _without_title(match: re.Match[str]) -> str:
    width, height = float(match[1]), float(match[2]) - _TITLE
    return f'viewBox="0 {_TITLE} {width:g} {height:g}" width="{width:g}" height="{height:g}"'
