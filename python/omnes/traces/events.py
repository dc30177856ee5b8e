"""Traces: the collective calls that the ranks of a program made, in order. omnes run --record writes them.

A trace is text, packed by gzip if its name ends in .gz. Its first line is an object of JSON: "format" (FORMAT),
"version" (2 with intercommunicators, else 1), "ranks", "library", "program", "seconds" (of the slowest rank, from
MPI_Init to its last event), "left_out" (calls that were not recorded: operation, form, reason, calls of all ranks),
"stopped" (some rank had more events than omnes keeps), "cut" (events dropped, as some of their ranks lack them). Then
lines of words:

  communicator NUMBER MEMBERS     ranks in MPI_COMM_WORLD ("0-2,5"); number 0 is MPI_COMM_WORLD
  group NUMBER MEMBERS            likewise, made by MPI_Comm_create_group or the like: it is there from the start
  between NUMBER MEMBERS MEMBERS  an intercommunicator of these two groups: it is there from the start, too
  edges NUMBER RANK SOURCES DESTINATIONS    of its topology ("0,2", or "-"), of each rank in MPI_COMM_WORLD
  call NUMBER WORDS               what may happen, numbered from 0
  rank RANK EVENTS                its events follow, in order: CALL GAP [REQUEST]
  end

GAP is the time in ns between the end of the last event and this one. The words of a call are

  OPERATION FORM on=COMMUNICATOR [root=] [in_place=1] [count=] [element= reduction=] [send= send_at= recv= recv_at=]
  dup|split on=COMMUNICATOR as=COMMUNICATOR|none    a new communicator, of the same or of other members
  free on=COMMUNICATOR
  start, release                  of the request of a persistent operation
  wait                            for a request

count: elements of a part, as long as element= says, else bytes; send, recv: those of each part, where parts differ;
send_at, recv_at: where they lie, unless one behind the other. reduction: OPERATION:TYPE, such as sum:f64, or program.
The forms blocking and nonblocking make a call, persistent prepares one.

On an intercommunicator, root= is a number among all ranks, those of the first group and then those of the second; who
gives MPI_PROC_NULL has root=none and nothing else. Lists of counts are of the other group's ranks, those of
reduce_scatter of the own group's. As an allgather and an alltoall may bring other counts than they take, they have such
lists, too. Nothing is in place there, and nothing is made out of one.
"""

from __future__ import annotations

import gzip
import json
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from omnes import _core
from omnes.errors import OmnesError, said

FORMAT = "omnes trace"
VERSIONS = (1, 2)
FORMS = ("blocking", "nonblocking", "persistent")
MAKERS = ("dup", "split")
OF_REQUESTS = ("start", "wait", "release")
OPS = ("sum", "prod", "max", "min", "land", "lor", "lxor", "band", "bor", "bxor", "minloc", "maxloc")
_INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
_PAIRS = ("i16_i32", "i32_i32", "i64_i32", "f32_i32", "f64_i32", "f32_f32", "f64_f64")
TYPES = (*_INTEGERS, "f32", "f64", "c64", "c128", *_PAIRS, "f128", "c256")
_LONGEST_HEAD = 1 << 24  # characters
LISTS = ("send", "send_at", "recv", "recv_at")
ROOTED = ("bcast", "reduce", "gather", "gatherv", "scatter", "scatterv")


@dataclass
class Events:
    """One rank's, in order; request 0: it has none."""

    calls: array[int] = field(default_factory=lambda: array("I"))
    gaps: array[int] = field(default_factory=lambda: array("I"))
    requests: array[int] = field(default_factory=lambda: array("I"))

    def add(self, call: int, gap: int, request: int = 0) -> None:
        self.calls.append(call)
        self.gaps.append(gap)
        self.requests.append(request)

    def cut(self, length: int) -> None:
        for of in (self.calls, self.gaps, self.requests):
            del of[length:]

    def __len__(self) -> int:
        return len(self.calls)


@dataclass
class Communicator:
    members: tuple[int, ...]  # of an intercommunicator: of the first group, then of the second
    from_start: bool = False
    edges: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)  # by rank in the world
    first_group: int = 0  # of an intercommunicator: so many members are the first group

    @property
    def is_inter(self) -> bool:
        return self.first_group > 0

    @property
    def first_and_second(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The members of either group; the first is empty unless this is an intercommunicator."""
        return self.members[: self.first_group], self.members[self.first_group :]

    def groups(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The group of that rank, and the remote one, which only an intercommunicator has."""
        first, second = self.first_and_second
        return (first, second) if rank in first else (second, first)

    def root(self, named: Mapping[str, str]) -> int | None:
        """Of a call, by its words, as a rank in the world; None: who has called it gives MPI_PROC_NULL."""
        said = named.get("root", "0")
        return None if said == "none" and self.is_inter else self.members[_index(said, len(self.members))]


@dataclass
class Trace:
    head: dict[str, Any]
    communicators: list[Communicator]
    calls: list[str]
    events: list[Events]

    @property
    def ranks(self) -> int:
        return len(self.events)


def words_of(call: str) -> tuple[list[str], dict[str, str]]:
    """'bcast blocking on=0 root=1' -> the words without and with a value."""
    plain, named = [], {}
    for word in call.split():
        name, equals, value = word.partition("=")
        if equals:
            named[name] = value
        else:
            plain.append(word)
    return plain, named


def numbers(text: str) -> tuple[int, ...]:
    return () if text == "-" else tuple(int(word) for word in text.split(","))


def runs(ranks: Sequence[int]) -> str:
    """(0, 1, 2, 5) -> '0-2,5'."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1][1:] = [rank]
        else:
            runs.append([rank])
    return ",".join("-".join(map(str, run)) for run in runs)


def of_runs(text: str, ranks: int) -> tuple[int, ...]:
    """Of so many ranks that there are."""
    found: list[int] = []
    for run in text.split(","):
        first, _, last = run.partition("-")
        _expect(int(first) <= int(last or first) < ranks)
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def write(path: Path, trace: Trace) -> None:
    """Packed where the name says so."""
    try:
        with (
            gzip.open(path, "wt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open("w", encoding="utf-8") as file
        ):
            file.writelines(f"{line}\n" for line in _lines(trace))
    except OSError as fault:
        raise OmnesError(f"cannot write {path}: {said(fault)}") from None


def _lines(trace: Trace) -> Iterator[str]:
    yield json.dumps(trace.head)
    for number, comm in enumerate(trace.communicators):
        kind = "between" if comm.is_inter else "group" if comm.from_start else "communicator"
        yield " ".join([kind, str(number), *(runs(group) for group in comm.first_and_second if group)])
    for number, comm in enumerate(trace.communicators):
        for rank, (sources, destinations) in sorted(comm.edges.items()):
            yield f"edges {number} {rank} {_list(sources)} {_list(destinations)}"
    for number, call in enumerate(trace.calls):
        yield f"call {number} {call}"
    for rank, events in enumerate(trace.events):
        yield f"rank {rank} {len(events)}"
        for index, gap, request in zip(events.calls, events.gaps, events.requests):
            yield f"{index} {gap} {request}" if request else f"{index} {gap}"
    yield "end"


def _list(ranks: Sequence[int]) -> str:
    return ",".join(map(str, ranks)) or "-"


def load(path: Path) -> Trace:
    """Every call of which is known to be one that can be made."""
    try:
        with _open(path) as lines:
            return _read(path, lines)
    except (OSError, EOFError, zlib.error) as fault:
        raise OmnesError(f"cannot read {path}: {said(fault)}") from None
    except (ValueError, LookupError, OverflowError, TypeError):
        raise OmnesError(f"{path} is no whole trace, as omnes run --record writes") from None


def _open(path: Path) -> IO[str]:
    if not path.is_file():
        raise OmnesError(f"cannot read {path}: {'not a regular file' if path.exists() else 'no such file'}")
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8")


def _read(path: Path, lines: IO[str]) -> Trace:
    first = lines.readline(_LONGEST_HEAD)
    head = json.loads(first) if first.startswith("{") else None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise OmnesError(f"{path} is no trace: omnes run --record FILE writes one")
    if head.get("version") not in VERSIONS:
        valid = ", ".join(map(str, VERSIONS))
        raise OmnesError(f"{path} is a trace of version {head.get('version')}; valid: {valid}")
    trace = Trace(head, [], [], [])
    for line in lines:
        words = line.split()
        if words == ["end"]:
            break
        _take(trace, words, lines)
    else:
        raise ValueError("cut short")
    if trace.ranks != head["ranks"] or not trace.communicators:
        raise ValueError("ranks are missing")
    for number, comm in enumerate(trace.communicators):
        _check_communicator(path, number, comm)
    for call in trace.calls:
        _check_call(path, call, trace)
    for rank, events in enumerate(trace.events):
        _check_events(rank, events, trace)
    return trace


def _take(trace: Trace, words: list[str], lines: IO[str]) -> None:
    kind, number = words[0], int(words[1])
    if kind in ("communicator", "group", "between"):
        _expect(number == len(trace.communicators) and (kind != "between" or number > 0))
        groups = [of_runs(word, trace.head["ranks"]) for word in words[2:]]
        _expect(len(groups) == (2 if kind == "between" else 1))
        first_group = len(groups[0]) if kind == "between" else 0
        members = tuple(rank for group in groups for rank in group)
        trace.communicators.append(Communicator(members, kind != "communicator", first_group=first_group))
    elif kind == "edges":
        trace.communicators[number].edges[int(words[2])] = (numbers(words[3]), numbers(words[4]))
    elif kind == "call":
        _expect(number == len(trace.calls))
        trace.calls.append(" ".join(words[2:]))
    elif kind == "rank":
        _expect(number == trace.ranks)
        trace.events.append(_read_events(lines, int(words[2]), len(trace.calls)))
    else:
        raise ValueError(kind)


def _expect(what: bool) -> None:
    if not what:
        raise ValueError


def _read_events(lines: IO[str], count: int, calls: int) -> Events:
    events = Events()
    for _ in range(count):
        events.add(*map(int, next(lines, "").split()))
    _expect(not events.calls or max(events.calls) < calls)
    return events


def _index(text: str, length: int) -> int:
    _expect(0 <= int(text) < length)
    return int(text)


def _check_communicator(path: Path, number: int, comm: Communicator) -> None:
    twice = sorted(rank for rank, times in Counter(comm.members).items() if times > 1)
    if twice and comm.is_inter:
        raise OmnesError(
            f"{path}: rank {twice[0]} is twice in intercommunicator {number}; "
            "valid: each rank once, in one of the two groups"
        )
    _expect(not twice)


def _check_between(path: Path, call: str, plain: Sequence[str], named: Mapping[str, str]) -> None:
    """Whether it can be called on an intercommunicator."""
    valid = [name for name in _core.operations() if "scan" not in name and not name.startswith("neighbor_")]
    if plain[0] not in (*valid, "free"):
        raise OmnesError(f"{path}: no '{plain[0]}' on an intercommunicator; valid: {', '.join(valid)}, free")
    _expect("root" in named or plain[0] not in ROOTED)
    if "in_place" in named:
        raise OmnesError(f"{path}: '{call}' is on an intercommunicator; valid there: calls without in_place=")


def _check_call(path: Path, call: str, trace: Trace) -> None:
    """Raises what is wrong with the words of a call."""
    plain, named = words_of(call)
    known = [*_core.operations(), *MAKERS, "free", *OF_REQUESTS]
    if not plain or plain[0] not in known:
        raise OmnesError(f"{path}: no call '{plain[0] if plain else ''}'; valid: {', '.join(known)}")
    is_operation = plain[0] in _core.operations()
    _expect(is_operation or len(plain) == 1)
    if plain[0] in OF_REQUESTS:
        _expect(not named)
        return
    if is_operation and (len(plain) != 2 or plain[1] not in FORMS):
        raise OmnesError(f"{path}: '{call}' has no form; valid: {', '.join(FORMS)}")
    comm = trace.communicators[_index(named["on"], len(trace.communicators))]
    if comm.is_inter:
        _check_between(path, call, plain, named)
    _expect(("as" in named) == (plain[0] in MAKERS))
    if named.get("as", "none") != "none":
        _expect(not trace.communicators[_index(named["as"], len(trace.communicators))].is_inter)
    comm.root(named)
    _expect(all(int(named.get(name, 0)) >= 0 for name in ("in_place", "count", "element")))
    _expect(all(number >= 0 for name in LISTS for number in numbers(named.get(name, "-"))))
    operation, _, kind = named.get("reduction", "program").partition(":")
    if operation != "program" and (operation not in OPS or kind not in TYPES):
        raise OmnesError(
            f"{path}: no reduction '{named['reduction']}'; valid: program, or one of {', '.join(OPS)}, "
            f"a colon, and one of {', '.join(TYPES)}"
        )


# The counts that a rank needs for a call with unequal parts: at the root, or on all.
_NEEDS = {
    "gatherv": ("recv",),
    "scatterv": ("send",),
    "allgatherv": ("recv",),
    "alltoallv": ("send", "recv"),
    "alltoallw": ("send", "recv"),
    "reduce_scatter": ("send",),
}
# Between two groups, these need them, too.
_NEEDS_BETWEEN = {**_NEEDS, "allgather": ("recv",), "alltoall": ("send", "recv")}


def _check_events(rank: int, events: Events, trace: Trace) -> None:
    """A rank calls only on its communicators, with counts for all members, and waits for what is under way."""
    words = [words_of(call) for call in trace.calls]
    for call in set(events.calls):
        plain, named = words[call]
        if plain[0] in OF_REQUESTS:
            continue
        comm = trace.communicators[int(named["on"])]
        _expect(rank in comm.members)
        if named.get("as", "none") != "none":
            _expect(rank in trace.communicators[int(named["as"])].members)
        own, remote = comm.groups(rank)
        if plain[0] in ROOTED:
            root = comm.root(named)
            _expect(not comm.is_inter or root in (None, rank, *remote))
            if root != rank:
                continue
        needed = (_NEEDS_BETWEEN if comm.is_inter else _NEEDS).get(plain[0], ())
        if "in_place" in named and len(needed) == 2:
            needed = ("recv",)
        parts = remote if comm.is_inter and plain[0] != "reduce_scatter" else own
        _expect(all(len(numbers(named[name])) == len(parts) for name in needed))
    active: dict[int, bool] = {}  # of requests that there are
    for call, request in zip(events.calls, events.requests):
        plain = words[call][0]
        if plain[0] == "start":
            _expect(not active[request])
            active[request] = True
        elif plain[0] == "wait":
            _expect(active[request])
            active[request] = False
        elif plain[0] == "release":
            del active[request]
        elif plain[-1] in ("nonblocking", "persistent"):
            _expect(request > 0 and not active.get(request))
            active[request] = plain[-1] == "nonblocking"
        else:
            _expect(request == 0)


def summary(trace: Trace) -> str:
    """One line: how many calls of how many kinds on how many communicators, and what was left out."""
    happened = [Counter(events.calls) for events in trace.events]
    made = kinds = 0
    used: set[str] = set()
    for number, call in enumerate(trace.calls):
        plain, named = words_of(call)
        if plain[0] in _core.operations() and (calls := sum(of[number] for of in happened)):
            made, kinds = made + calls, kinds + 1
            used.add(named["on"])
    line = f"recorded {made} calls of {kinds} kinds on {len(used)} communicators"
    left = [f"{one['operation']}: {one['reason']} ({one['calls']})" for one in trace.head["left_out"]]
    if left:
        line += f"; left out: {', '.join(left)}"
    if trace.head["stopped"]:
        line += "; a rank had more than omnes keeps, so the trace ends before the program did"
    elif trace.head["cut"]:
        line += f"; the last {trace.head['cut']} have not all their ranks, and are dropped"
    return line
