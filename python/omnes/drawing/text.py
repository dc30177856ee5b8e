"""A schedule's messages as text: ranks as rows, rounds as columns; and one rank's ops, as written by the core."""

from __future__ import annotations

from collections import defaultdict

from omnes.drawing.rounds import Drawing, Message


def render(drawing: Drawing, width: int) -> str:
    """The table of rounds. Rounds that do not fit beside each other continue below."""
    cells = _cells(drawing)
    columns = [["rank", *(str(rank) for rank in range(drawing.p))]]
    for number in range(1, drawing.rounds + 1):
        columns.append([f"round {number}", *(cells[rank, number] for rank in range(drawing.p))])
    lines = [drawing.title, drawing.summary]
    for band in _bands(columns, width):
        lines.append("")
        sizes = [max(len(cell) for cell in column) for column in band]
        for row in zip(*band):
            lines.append("  ".join(cell.ljust(size) for cell, size in zip(row, sizes)).rstrip())
    used = "".join(cells.values())
    legend = [f"{mark}{meaning}" if mark == "[" else f"{mark} {meaning}" for mark, meaning in _LEGEND if mark in used]
    if legend:
        lines += ["", "; ".join(legend)]
    return "\n".join(lines) + "\n"


_LEGEND = (
    ("→", "sends to"),
    ("⇉", "publishes to all others"),
    ("←", "receives from"),
    ("⊕", "and reduces"),
    ("⇇", "takes what was published by"),
    ("[", "block indices]"),
)


def _cells(drawing: Drawing) -> dict[tuple[int, int], str]:
    """What each rank does in each round, sends before receives."""
    sends: dict[tuple[int, int, int], list[Message]] = defaultdict(list)
    words: dict[tuple[int, int], list[str]] = defaultdict(list)
    for message in drawing.messages:
        sends[message.source, message.round, message.send_op].append(message)
    for (source, number, _), messages in sends.items():
        peers = "" if messages[0].published else ",".join(str(message.target) for message in messages)
        words[source, number].append(f"{'⇉' if messages[0].published else '→'}{peers}{_short(messages[0].sent)}")
    received: dict[tuple[int, int], dict[tuple[str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for message in drawing.messages:
        mark = ("⊕" if message.reduced else "") + ("⇇" if message.published else "←")
        into = "" if message.published else _short(message.placed)
        received[message.target, message.round][mark, into].append(message.source)
    for place, groups in received.items():
        for (mark, into), sources in groups.items():
            words[place].append(f"{mark}{_ranks(sources)}{into}")
    return defaultdict(str, {place: " ".join(parts) for place, parts in words.items()})


def _ranks(ranks: list[int]) -> str:
    """1,2,3,7 -> '1-3,7'."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ",".join(str(a) if a == b else f"{a},{b}" if b == a + 1 else f"{a}-{b}" for a, b in runs)


def _short(blocks: str) -> str:
    """'recv[3..5]' -> '[3..5]': the buffers are plain from the operation."""
    return blocks[blocks.index("[") :] if blocks else ""


def _bands(columns: list[list[str]], width: int) -> list[list[list[str]]]:
    bands = [[columns[0]]]
    used = first = max(len(cell) for cell in columns[0])
    for column in columns[1:]:
        size = 2 + max(len(cell) for cell in column)
        if used + size > width and len(bands[-1]) > 1:
            bands.append([columns[0]])
            used = first
        bands[-1].append(column)
        used += size
    return bands
