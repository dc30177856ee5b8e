"""Turns what `omnes measure` has timed into a machine file: docs/models.md says what each entry means.

How: a figure is the median of the rounds. Curves go through the measured points, straight between them. What a message
costs beyond them is found from messages without data: latency is what remains when the work of both sides, seen in many
messages sent one after the other, and of the call are taken off.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnes import _core
from omnes.bench.timing import Samples

BURST = 64  # as in costs.c
TINY = 8  # bytes of what counts as an empty message in shared memory: collectives of nothing end at once
FRAGMENT = 8192  # bytes that the receiver of a long message is behind its sender
NEVER = 1 << 40  # bytes: no message is that long
EXCHANGE_FROM = 65536  # bytes from which the time on the wire is nearly all
CONTENTION = 1.1  # times as long with several pairs: less is noise
STEP = 10e-9  # s: a step's bookkeeping; what remains is in send and recv

Point = tuple[float, float]


@dataclass
class Figures:
    """All that was timed: (what, bytes, pairs of ranks at once) -> seconds."""

    samples: dict[tuple[str, int, int], Samples] = field(default_factory=dict)

    def points(self, what: str, pairs: int = 1) -> list[tuple[int, float]]:
        of_what = ((size, s.median) for (name, size, k), s in self.samples.items() if (name, k) == (what, pairs))
        return sorted(of_what)

    def at(self, what: str, size: int = 0, pairs: int = 1) -> float:
        return self.samples[what, size, pairs].median

    @property
    def has_memory(self) -> bool:
        return ("publish", 0, 1) in self.samples


def curve(points: Iterable[Point]) -> list[list[float]]:
    """[[from, alpha, beta], ...] through the points, never falling; beyond the last one it goes on as before it."""
    rising: list[Point] = []
    for size, seconds in sorted(points):
        seconds = max(seconds, rising[-1][1] if rising else 0.0)
        rising.append((size, seconds))
    if not rising:
        return [[0, 0.0, 0.0]]
    if len(rising) == 1:
        return [[0, rising[0][1], 0.0]]
    pieces = []
    for (size, seconds), (next_size, next_seconds) in zip(rising, rising[1:]):
        beta = (next_seconds - seconds) / (next_size - size)
        pieces.append([size, seconds - beta * size, beta])
    if pieces[0][1] < 0:  # it would be below 0 before the first point: from nothing up to that instead
        return [[0, 0.0, rising[0][1] / rising[0][0]], *pieces] if rising[0][0] else pieces
    pieces[0][0] = 0
    return pieces


def network_level(figures: Figures) -> dict[str, Any]:
    """Of the host MPI's messages."""
    empty = figures.at("one_way")
    work = min(figures.at("burst"), empty / 2)
    latency = max(empty - 2 * work, 0.0)
    synchronous = None  # from here on all sizes wait
    for size, waits in reversed(figures.points("waits")):
        if not waits:
            break
        synchronous = size

    def beyond(what: str, fixed: float) -> list[list[float]]:
        """What it takes beyond that, and beyond asking the receiver."""
        points = []
        for size, seconds in figures.points(what):
            asking = 2 * latency if synchronous is not None and size >= synchronous else 0.0
            points.append((size, max(seconds - fixed - asking, 0.0)))
        return curve(points)

    one_way = dict(figures.points("one_way"))
    ratios = [
        (seconds - empty) / (one_way[size] - empty)
        for size, seconds in figures.points("exchange")
        if size >= EXCHANGE_FROM and one_way.get(size, 0.0) > empty
    ]
    level = {"name": "network", "by": "messages", "send": work, "recv": work, "latency": latency}
    level["wire"] = beyond("one_way", empty)
    level["exchange"] = max(Samples(ratios).median, 1.0) if ratios else 1.0
    level["exchange_latency"] = max(figures.at("exchange") - empty, 0.0)
    if synchronous is not None:
        level["synchronous_from"] = synchronous
    level["held"] = beyond("held", work)
    return level


def node_out(figures: Figures) -> float:
    """Seconds per byte of all that leaves a node at once; 0 where its ranks do not slow each other down."""
    pairs = max(k for _, _, k in figures.samples)
    together = dict(figures.points("one_way", pairs))
    if pairs == 1 or not together:
        return 0.0
    size = max(together)
    empty, alone = figures.at("one_way"), figures.at("one_way", size)
    if together[size] < CONTENTION * alone:
        return 0.0
    return (together[size] - empty) / (size * pairs)


def node_level(figures: Figures, call: float, reduction: Sequence[Point], single_from: int) -> dict[str, Any]:
    """Of omnes' shared memory."""
    empty = (figures.at("publish", TINY) + figures.at("pair", TINY)) / 2
    many = figures.at("many", 2048)
    work = max(min((many - figures.at("publish", TINY)) / (BURST - 1), (empty - call) / 2) - STEP, 0.0)
    latency = max(empty - call - 2 * (work + STEP), 0.0)
    copied: list[Point] = []
    copied_in: list[Point] = []
    single: list[Point] = []
    single_publish: list[Point] = []
    single_reduce: list[Point] = []
    publish, pair, swap, combine = (dict(figures.points(what)) for what in ("publish", "pair", "swap", "combine"))
    gamma = dict(reduction)
    for size in sorted(publish):
        if size < TINY:
            continue
        way = (publish[size] + pair[size]) / 2 - empty
        if size < single_from:
            way, first = max(way, 0.0), min(1.0, FRAGMENT / size)  # the receiver is so much of the copy behind
            if first < 1:  # way = out + first * in, and both in turns when each sends: swap = out + in
                both = max(swap[size] - empty, way)
                copy_in = min(max((both - way) / (1 - first), copied_in[-1][1]), way / (1 + first))
            else:
                copy_in = way / 2
            copied_in.append((size, copy_in))
            copied.append((size, way - first * copy_in))
            continue
        single.append((size / 2, pair[size] - empty))  # both sides copy a half
        single_publish.append((size / 2, publish[size] - empty))
        single.append((size, swap[size] - empty))  # each copies all that it receives
        single_reduce.append((size, max(combine[size] - empty - gamma.get(size, 0.0), 0.0)))
    return {
        "name": "node",
        "by": "memory",
        "send": work,
        "recv": work,
        "latency": latency,
        "copy": curve(copied),
        "copy_in": curve(copied_in),
        "fragment": FRAGMENT,
        "single_from": single_from,
        "single": curve(_merged(single)),
        "single_publish": curve(single_publish),
        "single_reduce": curve(single_reduce),
        "out": node_out(figures),
    }


def _merged(points: Iterable[Point]) -> list[Point]:
    """Where two points are of one size, their mean."""
    by_size: dict[float, list[float]] = {}
    for size, seconds in points:
        by_size.setdefault(size, []).append(seconds)
    return [(size, sum(seconds) / len(seconds)) for size, seconds in by_size.items()]


def machine_file(
    figures: Figures,
    name: str,
    source: str,
    per_node: int,
    copy: Sequence[Point],
    reductions: Mapping[str, Sequence[Point]],
    single_from: int,
) -> str:
    """The text of the file; checked by reading it. Messages of `single_from` bytes and more were copied once."""
    call = figures.at("call", TINY)
    network = network_level(figures)
    lines = [
        "# Made by omnes measure; docs/models.md explains every entry. Seconds, bytes.",
        'format = "omnes machine"',
    ]
    head = {"version": 1, "name": name, "source": source, "ranks_per_node": per_node, "call": call, "step": STEP}
    lines += _entries({**head, "copy": curve(copy)})
    lines += ["", "[reduce]", *_entries({key: curve(points) for key, points in reductions.items()})]
    if figures.has_memory:
        lines += ["", "[[level]]", *_entries(node_level(figures, call, reductions["f64 sum"], single_from))]
    lines += ["", "[[level]]", *_entries(network)]
    lines += [
        "",
        "# What was timed: [bytes, pairs of ranks at once, median, and its 95 % confidence interval].",
        "[measured]",
    ]
    for what in dict.fromkeys(what for what, _, _ in figures.samples):
        rows = sorted((size, k, s) for (name_, size, k), s in figures.samples.items() if name_ == what)
        shown = ", ".join(
            f"[{size}, {k}, {s.median:.3g}, {s.interval[0]:.3g}, {s.interval[1]:.3g}]" for size, k, s in rows
        )
        lines.append(f"{what} = [{shown}]")
    text = "\n".join(lines) + "\n"
    _core.described_machine(text)
    return text


def _entries(values: dict[str, Any]) -> list[str]:
    return [f"{json.dumps(key) if ' ' in key else key} = {_value(value)}" for key, value in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(_value(entry) for entry in value)}]"
    return str(value) if isinstance(value, int) else f"{value:.4g}"
