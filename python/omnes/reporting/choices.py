"""The decision table as maps: by number of ranks and size, which algorithm runs; on one node, and one rank on each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from omnes.algorithms.selection import Decisions, Span, ranges
from omnes.reporting import page
from omnes.terminal.units import format_bytes

_COLOURS = 12  # --a0 .. --a11 of page.css
_FEW = 2  # ranges that are listed


def section(decisions: Sequence[tuple[str, Decisions]], operations: Sequence[str]) -> page.Section:
    """decisions: with the words that say where the ranks lie."""
    source = decisions[0][1].source
    body = [
        f"<p>What {escape(source)} chooses for operations that commute. A row is a number of ranks, a column begins at "
        "the size of one part that its head says.</p>"
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
    alike: dict[str, list[tuple[int, int]]] = {}
    for first, last, spans in rows:
        group = alike.setdefault("".join(_cells(starts, spans, colours)), [])
        if group and group[-1][1] == first - 1:
            group[-1] = (group[-1][0], last)
        else:
            group.append((first, last))
    body = [[f'<th scope="row">{_ranks(group)}</th>', cells] for cells, group in alike.items()]
    return page.table(where, ["ranks", *(_head(start) for start in starts)], body, "decisions")


def _ranks(group: Sequence[tuple[int, int]]) -> str:
    """Many algorithms are for powers of two alone, so their rows take turns with those of all other numbers."""
    if len(group) > _FEW:
        return "powers of 2" if all(first == last for first, last in group) else "others"
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in group)


def _cells(starts: Sequence[int], spans: Sequence[Span], colours: dict[str, int]) -> Iterator[str]:
    within = [[span for span in spans if span.first <= start][-1].choice for start in starts]
    for text, group in groupby(within, key=lambda choice: choice.text):
        same = list(group)
        colour = colours[same[0].algorithm]
        yield f'<td colspan="{len(same)}" title="{text}" style="background:var(--a{colour})">{text}</td>'


def _head(start: int) -> str:
    """Rules end with a size, so all but the first column begin one byte later."""
    return "any size" if start == 0 else f"> {format_bytes(start - 1)}"
