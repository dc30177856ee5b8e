"""The decision table as maps: by number of ranks and size, which algorithm runs; on one node, and one rank on each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from omnes.decisions import Decisions, Span, ranges
from omnes.reporting import page
from omnes.units import format_bytes

_COLOURS = 12  # --a0 .. --a11 of page.css


def section(decisions: Sequence[tuple[str, Decisions]], operations: Sequence[str]) -> page.Section:
    """decisions: with the words that say where the ranks lie."""
    source = decisions[0][1].source
    body = [
        f"<p>What {source} chooses for operations that commute. A row is a number of ranks, a column begins at the "
        "size of one part that its head says.</p>"
    ]
    for operation in operations:
        names = {
            span.choice.algorithm: None
            for _, one in decisions
            for decision in one.of[operation]
            for span in decision.spans
        }
        colours = {name: number % _COLOURS for number, name in enumerate(names)}
        maps = "".join(_map(where, list(ranges(one.of[operation], one.largest)), colours) for where, one in decisions)
        body.append(page.of_operation(operation, f'<div class="pair">{maps}</div>'))
    return page.Section("choices", "Which algorithm runs", "\n".join(body))


def _map(where: str, rows: Sequence[tuple[int, int, tuple[Span, ...]]], colours: dict[str, int]) -> str:
    starts = sorted({span.first for _, _, spans in rows for span in spans})
    body = []
    for first, last, spans in rows:
        within = [[span for span in spans if span.first <= start][-1].choice for start in starts]
        cells = [f'<th scope="row">{first if first == last else f"{first}–{last}"}</th>']
        for choice, group in groupby(within):
            width = len(list(group))
            cells.append(
                f'<td colspan="{width}" style="background:var(--a{colours[choice.algorithm]})">{choice.text}</td>'
            )
        body.append(cells)
    heads = ["ranks", *(_head(start) for start in starts)]
    return page.table(where, heads, body, "decisions")


def _head(start: int) -> str:
    """Rules end with a size, so all but the first column begin one byte later."""
    return "any size" if start == 0 else f"> {format_bytes(start - 1)}"
