"""What a decision table chooses, spelt out: by operation and number of ranks, which algorithm starts at how many bytes.

How: within one number of ranks a choice can change only where a rule ends, so the table is asked once between each two
ends. Numbers of ranks that are not asked are like the nearest asked one below them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnes import _core
from omnes.algorithms import tables
from omnes.models import prediction
from omnes.models.prediction import Ranks
from omnes.terminal import units

OPERATIONS = tuple(name for name in _core.operations() if not name.startswith("neighbor"))
_EVERY = 32  # numbers of ranks up to here are all asked; then powers of two, and what the rules name
_EXACT = 64  # numbers of ranks up to here that steps tells apart


@dataclass(frozen=True)
class Choice:
    text: str
    algorithm: str
    radix: int  # with the algorithm's default filled in; 0: it takes none
    segment: int
    published: bool = False  # it relies on one send that reaches several ranks, as shared memory has


@dataclass(frozen=True)
class Span:
    """Starts at so many bytes of one part and ends at the next span."""

    first: int
    choice: Choice


@dataclass(frozen=True)
class Decision:
    """For so many ranks, up to the next decision."""

    ranks: int
    spans: tuple[Span, ...]


@dataclass
class Decisions:
    source: str  # of the table
    largest: int  # number of ranks
    per_node: int
    of: dict[str, list[Decision]] = field(default_factory=dict)  # by operation


def decide(
    table: str,
    source: str,
    largest: int,
    per_node: int,
    operations: Sequence[str] = OPERATIONS,
    flat: bool = False,
) -> Decisions:
    """table: a file, in front of the compiled-in table; empty: that one alone. Ranks fill one node after the other.
    flat: where a hierarchical algorithm is chosen, what would be chosen if ranks shared no memory."""
    found = Decisions(source, largest, per_node)
    rules = _core.rules(table or tables.OFF)
    entries = {(a["operation"], a["name"]): a for a in _core.catalogue()}
    for operation in operations:
        texts = [rule["text"] for rule in rules if rule["operation"] == operation]
        starts = {0}
        for end, size in re.findall(r"(min|max)_bytes = (\w+)", "\n".join(texts)):
            starts.add(units.parse_bytes(size) + (end == "max"))
        edges = {int(edge) for text in texts for edge in re.findall(r"\w*_ranks = (\d+)", text)}
        edges |= {int(edge) * per_node for text in texts for edge in re.findall(r"\w*_nodes = (\d+)", text)}

        def choose(p: int, size: int, operation: str = operation) -> Choice:
            d = chosen(table, operation, p, size, per_node)
            if flat and entries[operation, d["algorithm"]]["hierarchical"]:
                d = _last_level(operation, chosen(table, operation, p, size, 1))
            default = entries[operation, d["algorithm"]]["radix"]
            published = 2 < p <= per_node and _publishes(operation, d["algorithm"])
            return Choice(d["text"], d["algorithm"], d["radix"] or default, d["segment"], published)

        found.of[operation] = [Decision(p, _spans(choose, p, sorted(starts))) for p in _asked(largest, per_node, edges)]
    return found


def chosen(table: str, operation: str, p: int, size: int, per_node: int) -> dict[str, Any]:
    """As modelling.chosen says it, for an operation that commutes. Without the model: its choices change at sizes that
    no table names."""
    return prediction.chosen(operation, Ranks(p, per_node), size, table=table or tables.OFF, model=False)


def _last_level(operation: str, choice: dict[str, Any]) -> dict[str, Any]:
    """What is left of a composed algorithm where every rank is alone on its node, if its name says it."""
    top = re.search(r"\btop=(\w+)(?::(k=\d+))?", choice["text"])
    if not top:
        return choice
    parameters = filter(None, [top[2], *re.findall(r"\bsegment=\w+", choice["text"])])
    return _core.parse_choice(operation, ":".join(filter(None, [top[1], ",".join(parameters)])))


@functools.cache
def _publishes(operation: str, algorithm: str) -> bool:
    p = 4  # the fewest ranks that every algorithm takes
    return any(op["published"] for rank in range(p) for op in _core.schedule_ops(operation, algorithm, p, rank))


def _asked(largest: int, per_node: int, edges: set[int]) -> list[int]:
    powers = {1 << i for i in range(1, largest.bit_length())}
    wanted = (
        set(range(2, _EVERY + 1))
        | powers
        | {p + 1 for p in powers | edges | {per_node}}
        | {p - 1 for p in edges}
        | edges
        | {largest}
    )
    return sorted(p for p in wanted if 2 <= p <= largest)


def _spans(choose: Callable[[int, int], Choice], p: int, starts: Sequence[int]) -> tuple[Span, ...]:
    spans: list[Span] = []
    for start in starts:
        choice = choose(p, start)
        if not spans or spans[-1].choice != choice:
            spans.append(Span(start, choice))
    return tuple(spans)


def ranges(decisions: Sequence[Decision], largest: int) -> Iterator[tuple[int, int, tuple[Span, ...]]]:
    """(first, last number of ranks, spans), neighbours that are alike joined."""
    joined: list[tuple[int, int, tuple[Span, ...]]] = []
    for index, decision in enumerate(decisions):
        last = decisions[index + 1].ranks - 1 if index + 1 < len(decisions) else largest
        if joined and joined[-1][2] == decision.spans:
            joined[-1] = (joined[-1][0], last, decision.spans)
        else:
            joined.append((decision.ranks, last, decision.spans))
    yield from joined


def steps(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Parts of a range of ranks, for formats whose sizes are of all ranks' parts together: each number up to 64, then
    parts so short that their sizes differ by an eighth."""
    while first <= last:
        end = min(last, first + max(first // 8 - 1, 0) if first > _EXACT else first)
        yield first, end
        first = end + 1
