"""For one call: which functions its lines of code belong to, and what its lines of data are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lab.mapped import Maps
from lab.touched import LINE, Access, Call, Step, lines_of

_WORD = 8  # bytes


def listing(call: Call, maps: Maps) -> Iterator[str]:
    yield from (
        "",
        f"{len(call.steps)} instructions; {len(call.code)} lines of code on {len(call.code_pages)} pages, "
        f"{len(call.data)} lines of data on {len(call.data_pages)} pages.",
        "",
        "| function | instructions | lines of code |",
        "|---|---|---|",
    )
    for function, steps in _by_function(call, maps).items():
        lines = lines_of((step.address, step.instruction.length) for step in steps)
        yield f"| {function} | {len(steps)} | {len(lines)} |"
    yield from (
        "",
        "Lines of data, in the order in which they are first touched; which of their words of 8 bytes, `*` where "
        "written; who touches them, and with which instruction first.",
        "",
        "| line | what it is | words | by | first |",
        "|---|---|---|---|---|",
    )
    for line, touches in _by_line(call).items():
        yield f"| {line * LINE:#x} | {' | '.join(_described(line, touches, maps))} |"


def _described(line: int, touches: list[tuple[Step, Access]], maps: Maps) -> tuple[str, ...]:
    places: dict[str, str] = {}
    for _, access in touches:
        place = maps.place(max(access.address, line * LINE))
        places.setdefault(_without_distance(place), place)
    functions = dict.fromkeys(_short(maps.function(step.address)) for step, _ in touches)
    first = touches[0][0].instruction.text
    return (
        ", ".join(places.values()),
        _words(line, (access for _, access in touches)),
        ", ".join(functions),
        f"`{first}`",
    )


def _by_function(call: Call, maps: Maps) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for step in call.steps:
        found.setdefault(_without_distance(maps.function(step.address)), []).append(step)
    return found


def _by_line(call: Call) -> dict[int, list[tuple[Step, Access]]]:
    found: dict[int, list[tuple[Step, Access]]] = {}
    for step in call.steps:
        for access in step.accesses:
            for line in sorted(lines_of([access[:2]])):
                found.setdefault(line, []).append((step, access))
    return found


def _words(line: int, accesses: Iterable[Access]) -> str:
    """Such as 0 2* 3."""
    begin = line * LINE
    words: dict[int, bool] = {}
    for address, size, writes in accesses:
        for byte in range(max(address - begin, 0), min(address + size - begin, LINE)):
            words[byte // _WORD] = words.get(byte // _WORD, False) or writes
    return " ".join(f"{word}{'*' if words[word] else ''}" for word in sorted(words))


def _short(function: str) -> str:
    """Without the library, the arguments, and the instruction's distance from its beginning."""
    name = _without_distance(function).split(": ", 1)[-1]
    return name.replace("(anonymous namespace)::", "").split("(")[0]


def _without_distance(name: str) -> str:
    head, plus, distance = name.rpartition("+0x")
    return head if plus else name
