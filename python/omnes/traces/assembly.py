"""What the ranks of a program have recorded (src/interpose/communicator/record.cpp) becomes one trace."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnes.errors import OmnesError, said
from omnes.traces.events import FORMAT, OF_REQUESTS, VERSIONS, Communicator, Events, Trace, numbers, words_of

_HEAD = "omnes calls of a rank 1"
_UNKNOWN = 0  # the identity of communicators of which src/interpose/communicator/origins.cpp knows none


@dataclass(frozen=True)
class _Made:
    """A communicator, as a rank knows it."""

    identity: int
    members: tuple[int, ...]
    first_group: int = 0  # as of Communicator


@dataclass
class _Rank:
    rank: int = 0
    ranks: int = 0
    library: str = ""
    seconds: float = 0.0
    stopped: bool = False
    left: list[tuple[str, str, int, str]] = field(default_factory=list)
    communicators: list[_Made] = field(default_factory=list)
    edges: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    events: Events = field(default_factory=Events)


def _read_rank(path: Path) -> _Rank:
    found = _Rank()
    with path.open(encoding="utf-8") as lines:
        if next(lines, "").rstrip("\n") != _HEAD:
            raise ValueError
        for line in lines:
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "events":
                _read_events(lines, int(rest), found.events)
                break
            _take(found, kind, rest)
    return found


def _take(found: _Rank, kind: str, rest: str) -> None:
    if kind == "rank":
        found.rank, found.ranks = (int(word) for word in rest.split(" of "))
    elif kind == "library":
        found.library = rest
    elif kind == "seconds":
        found.seconds = float(rest)
    elif kind == "stopped":
        found.stopped = rest == "1"
    elif kind == "left":
        operation, form, calls, reason = rest.split(" ", 3)
        found.left.append((operation, form, int(calls), reason))
    elif kind == "communicator":
        _, identity, members = rest.split()
        found.communicators.append(_Made(int(identity, 16), numbers(members)))
    elif kind == "between":
        _, identity, *groups = rest.split()
        first, second = map(numbers, groups)
        found.communicators.append(_Made(int(identity, 16), first + second, len(first)))
    elif kind == "edges":
        number, sources, destinations = rest.split()
        found.edges[int(number)] = (numbers(sources), numbers(destinations))
    elif kind == "call":
        found.calls.append(rest)


def _read_events(lines: Iterator[str], count: int, events: Events) -> None:
    for _ in range(count):
        words = next(lines, "").split()
        if len(words) not in (2, 3):
            raise ValueError("events are missing")
        events.add(*map(int, words))


def merge(folder: Path, program: Sequence[str]) -> Trace | None:
    """The trace of all ranks; None when not all of them left their calls."""
    paths = sorted(folder.glob("calls-*.txt"))
    if not paths:
        return None
    try:
        ranks = sorted((_read_rank(path) for path in paths), key=lambda one: one.rank)
    except (OSError, ValueError) as fault:
        raise OmnesError(f"what a rank recorded cannot be read: {said(fault)}") from None
    if [one.rank for one in ranks] != list(range(ranks[0].ranks)):
        return None
    return _Merger(ranks).trace(program)


def why_none(folder: Path) -> str:
    left = len(list(folder.glob("calls-*.txt")))
    how = f"only {left} of the ranks have" if left else "no rank has"
    return f"{how} called MPI_Finalize with omnes loaded"


class _Merger:
    """Gives communicators and calls numbers that hold for all ranks."""

    def __init__(self, ranks: Sequence[_Rank]) -> None:
        self.ranks = ranks
        self.communicators: list[Communicator] = []
        self.numbers: dict[tuple[_Made, int], int] = {}
        self.calls: dict[str, int] = {}

    def trace(self, program: Sequence[str]) -> Trace:
        events = [self._events(one) for one in self.ranks]
        calls = list(self.calls)
        dropped = _cut_to_what_all_have(calls, self.communicators, events)
        plain_version, version_between = VERSIONS
        head = {
            "format": FORMAT,
            "version": version_between if any(comm.is_inter for comm in self.communicators) else plain_version,
            "ranks": len(self.ranks),
            "library": self.ranks[0].library,
            "program": list(program),
            "seconds": max(one.seconds for one in self.ranks),
            "left_out": self._left_out(),
            "stopped": any(one.stopped for one in self.ranks),
            "cut": dropped,
        }
        return Trace(head, self.communicators, calls, events)

    def _number(self, made: _Made, nth: int) -> int:
        if (made, nth) not in self.numbers:
            self.numbers[made, nth] = len(self.communicators)
            from_start = made.identity == _UNKNOWN
            self.communicators.append(Communicator(made.members, from_start, first_group=made.first_group))
        return self.numbers[made, nth]

    def _events(self, one: _Rank) -> Events:
        of_world: list[int] = []
        met: dict[_Made, int] = {}  # communicators of unknown origin, by members
        for made in one.communicators:
            if made.identity == _UNKNOWN:
                met[made] = met.get(made, 0) + 1
            of_world.append(self._number(made, met.get(made, 0)))
        for number, edges in one.edges.items():
            self.communicators[of_world[number]].edges[one.rank] = edges
        of_calls = [self._call(text, of_world) for text in one.calls]
        events = one.events
        events.calls = array("I", (of_calls[call] for call in events.calls))
        return events

    def _call(self, text: str, communicators: Sequence[int]) -> int:
        words = []
        for word in text.split():
            name, equals, value = word.partition("=")
            if name == "id":
                continue
            is_number = name in ("on", "as") and value != "none"
            words.append(f"{name}={communicators[int(value)]}" if is_number else word)
        return self.calls.setdefault(" ".join(words), len(self.calls))

    def _left_out(self) -> list[dict[str, Any]]:
        sums: dict[tuple[str, str, str], int] = {}
        for one in self.ranks:
            for operation, form, calls, reason in one.left:
                sums[operation, form, reason] = sums.get((operation, form, reason), 0) + calls
        names = ("operation", "form", "reason")
        return [{**dict(zip(names, key)), "calls": calls} for key, calls in sorted(sums.items())]


# A communicator's calls, which all members make in one order: the communicator, -1. The starts of a persistent
# operation: the communicator, and how many were prepared on it before.
_Key = tuple[int, int]


@dataclass
class _Sequence:
    """Of a rank's events, those with one key: where they are, and what they are."""

    places: array[int] = field(default_factory=lambda: array("I"))
    names: array[int] = field(default_factory=lambda: array("I"))


class _Kinds:
    """Of calls, what all ranks have alike."""

    def __init__(self, calls: Sequence[str]) -> None:
        names: dict[tuple[str, ...], int] = {}
        self.of: list[tuple[int, int, str]] = []  # communicator, name, first word
        self.persistent: list[bool] = []
        for call in calls:
            plain, named = words_of(call)
            name = names.setdefault(tuple(plain), len(names))
            self.of.append((int(named.get("on", -1)), name, plain[0]))
            self.persistent.append(plain[1:] == ["persistent"])


def _sequences(kinds: _Kinds, events: Events) -> dict[_Key, _Sequence]:
    found: dict[_Key, _Sequence] = {}
    prepared: dict[int, int] = {}  # on each communicator
    of_request: dict[int, _Key] = {}
    for place, (call, request) in enumerate(zip(events.calls, events.requests)):
        on, name, word = kinds.of[call]
        key = (on, -1)
        if word in OF_REQUESTS:
            if word != "start" or request not in of_request:
                continue
            key = of_request[request]
        elif kinds.persistent[call]:
            of_request[request] = (on, prepared.get(on, 0))
            prepared[on] = prepared.get(on, 0) + 1
        sequence = found.setdefault(key, _Sequence())
        sequence.places.append(place)
        sequence.names.append(name)
    return found


def _common(sequences: Sequence[_Sequence | None]) -> int:
    """How many they have alike, from the first on."""
    if None in sequences:
        return 0
    names = [one.names for one in sequences if one]
    least = min(map(len, names))
    if all(one[:least] == names[0][:least] for one in names):
        return least
    return next(at for at in range(least) if len({one[at] for one in names}) > 1)


def _cut_to_what_all_have(calls: Sequence[str], communicators: Sequence[Communicator], events: Sequence[Events]) -> int:
    """Ends each rank's events where one follows that others of its communicator lack; how many are dropped.

    So it is where a rank has stopped recording. What is left can run: every call has all its ranks. What is cut from
    one rank others may need, so this goes on until nothing changes.
    """
    kinds = _Kinds(calls)
    before = sum(map(len, events))
    while True:
        sequences = [_sequences(kinds, of) for of in events]
        ends = [len(of) for of in events]
        for key in {key for of in sequences for key in of}:
            members = communicators[key[0]].members
            common = _common([sequences[rank].get(key) for rank in members])
            for rank in members:
                if key in sequences[rank] and common < len(sequences[rank][key].places):
                    ends[rank] = min(ends[rank], sequences[rank][key].places[common])
        if ends == [len(of) for of in events]:
            return before - sum(ends)
        for of, end in zip(events, ends):
            of.cut(end)
