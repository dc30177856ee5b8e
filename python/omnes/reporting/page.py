"""Puts sections together to one HTML file that needs no network, and shows one operation at a time to those who ask.

Which operation is shown is a radio button and a rule of CSS, so it works by keyboard, and without a script too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files


@dataclass(frozen=True)
class Section:
    name: str  # of the anchor
    title: str
    body: str


def render(title: str, about: Sequence[str], sections: Sequence[Section], operations: Sequence[str]) -> str:
    here = files("omnes.reporting")
    style = (here / "page.css").read_text() + "\n".join(_filter(name) for name in operations)
    links = "".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>\n<style>\n{style}\n</style>\n</head>\n<body>",
            '<a class="skip" href="#content">To the content</a>',
            f"<header><h1>{escape(title)}</h1>{''.join(f'<p>{escape(line)}</p>' for line in about)}</header>",
            f'<nav aria-label="Sections"><ul>{links}</ul>{_choice(operations)}</nav>',
            '<main id="content">',
            *(
                f'<section id="{one.name}" aria-labelledby="{one.name}-title">'
                f'<h2 id="{one.name}-title">{escape(one.title)}</h2>\n{one.body}</section>'
                for one in sections
            ),
            f"</main>\n<script>\n{(here / 'page.js').read_text()}</script>\n</body>\n</html>\n",
        ]
    )


def of_operation(operation: str, body: str) -> str:
    """What the choice of an operation shows or hides."""
    return f'<div class="of-operation" data-operation="{operation}"><h3>{operation}</h3>\n{body}</div>'


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML: plain ones text, others whole <td> or <th> elements. A row's first cell is its head."""
    body = "".join(
        "<tr>" + "".join(_cell(cell, first=index == 0) for index, cell in enumerate(row)) + "</tr>" for row in rows
    )
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}"><table class="{kind}">'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def details(summary: str, body: str, is_open: bool = False) -> str:
    return f"<details{' open' * is_open}><summary>{escape(summary)}</summary>\n{body}</details>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Large numbers, each with what it is."""
    return (
        '<dl class="facts">'
        + "".join(f"<div><dt>{escape(what)}</dt><dd>{escape(value)}</dd></div>" for what, value in pairs)
        + "</dl>"
    )


def _cell(cell: str, first: bool) -> str:
    if cell.startswith(("<td", "<th")):
        return cell
    return f'<th scope="row">{escape(cell)}</th>' if first else f"<td>{escape(cell)}</td>"


def _choice(operations: Sequence[str]) -> str:
    if len(operations) < 2:
        return ""
    buttons = "".join(
        f'<label><input type="radio" name="operation" id="show-{name}"{" checked" * (name == "all")}>'
        f"<span>{name}</span></label>"
        for name in ("all", *operations)
    )
    return f"<fieldset><legend>Operation</legend>{buttons}</fieldset>"


def _filter(operation: str) -> str:
    shown = f"body:has(#show-{operation}:checked)"
    return f"{shown} .of-operation:not([data-operation={operation}]) {{ display: none; }}"
