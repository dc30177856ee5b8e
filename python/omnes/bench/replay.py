"""A trace replayed: the same calls, in the same order, by each job in turn, and how long they took.

How: every job is one run of programs/replay.c, which reads what its rank is to do from a file of numbers. Rounds: in
each all jobs run once: A B C, B C A, ..., so that all see the same machine. A ratio compares two runs of one round.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from omnes import _core, programs
from omnes.bench.confidence import LEAST, Known, known, ratio_cell, ratios
from omnes.bench.job import JobError, JobLost, JobSpec, binding
from omnes.bench.session import end_on_sigterm
from omnes.errors import OmnesError
from omnes.launching import launch
from omnes.launching.processes import last_words, stop
from omnes.terminal import progress
from omnes.terminal.units import format_us, percentile
from omnes.traces.events import FORMS, LISTS, MAKERS, OF_REQUESTS, OPS, ROOTED, TYPES, Trace, numbers, words_of

_KINDS = (*_core.operations(), *MAKERS, "free", *OF_REQUESTS)  # in the order of replay.c
_NO_OP, _OF_PROGRAM = -2, -1
_PROC_NULL, _ROOT = -1, -2  # MPI_PROC_NULL and MPI_ROOT, which have other values in each MPI
_MAX_INT = 2**31 - 1  # of what an int of MPI counts
_SHORTEST_LIMIT = 120.0  # seconds of a run, at most, however short the trace
_TIMES_RECORDED = 20  # as long as the recorded program ran, at most: then it hangs

Name = tuple[str, str]  # of what was called: operation, form


# What a rank is to do, in numbers.


def lay_out(trace: Trace, folder: Path) -> None:
    """A file for each rank."""
    trace = _with_arguments_of_roots(trace)
    for rank in range(trace.ranks):
        (folder / f"rank-{rank}").write_text(_of_rank(trace, rank))


def _with_arguments_of_roots(trace: Trace) -> Trace:
    """Between groups, who gives MPI_PROC_NULL gives the arguments that the root does, of which nothing is recorded.

    They mean nothing there. But to Open MPI a nonblocking call with a count of 0 is none: unless that is so on all
    ranks or on none, later ones do not match.
    """
    words = [words_of(call) for call in trace.calls]
    calls, events = list(trace.calls), list(trace.events)
    for on, comm in enumerate(trace.communicators):
        if not comm.is_inter:
            continue
        roots = {
            call: comm.root(named)
            for call, (plain, named) in enumerate(words)
            if plain[0] in ROOTED and int(named["on"]) == on
        }
        without: dict[int, int] = {}  # a root's call -> that of the others in its group
        found = [array("I", events[rank].calls) for rank in comm.members]
        places = [[place for place, call in enumerate(of) if call in roots] for of in found]
        for at in zip(*places):
            made = [of[place] for of, place in zip(found, at)]
            of_root = next((call for rank, call in zip(comm.members, made) if roots[call] == rank), None)
            if of_root is None:
                continue
            if of_root not in without:
                without[of_root] = len(calls)
                calls.append(re.sub(r"\broot=\w+", "root=none", trace.calls[of_root]))
            for of, place, call in zip(found, at, made):
                if roots[call] is None:
                    of[place] = without[of_root]
        for rank, of in zip(comm.members, found):
            events[rank] = replace(events[rank], calls=of)
    return replace(trace, calls=calls, events=events)


def _of_rank(trace: Trace, rank: int) -> str:
    comms = trace.communicators
    lines: list[Iterable[int]] = [(trace.ranks, len(comms), _self(trace, rank))]
    lines += _edges(trace, rank)
    groups = [(i, comm) for i, comm in enumerate(comms) if comm.from_start and rank in comm.members]
    lines += [(len(groups),), *((i, comm.first_group, len(comm.members), *comm.members) for i, comm in groups)]
    events = trace.events[rank]
    used = {call: number for number, call in enumerate(dict.fromkeys(events.calls))}
    lines += [(len(used),), *(_call(trace, rank, trace.calls[call]) for call in used)]
    lines += [(max(events.requests, default=0),), (len(events),)]
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    return text + "".join(f"{used[c]} {gap} {r}\n" for c, gap, r in zip(events.calls, events.gaps, events.requests))


def _self(trace: Trace, rank: int) -> int:
    """The number of MPI_COMM_SELF: of this rank alone, and made by no call; -1: it is not used."""
    made = {named["as"] for plain, named in map(words_of, trace.calls) if plain[0] in MAKERS}
    own = ((i, comm) for i, comm in enumerate(trace.communicators) if i > 0 and comm.members == (rank,))
    return next((i for i, comm in own if not comm.from_start and str(i) not in made), -1)


def _edges(trace: Trace, rank: int) -> list[Iterable[int]]:
    """Only topologies of which all members are known."""
    found: list[Iterable[int]] = []
    for number, comm in enumerate(trace.communicators):
        if rank in comm.edges and all(member in comm.edges for member in comm.members):
            sources, destinations = comm.edges[rank]
            found.append((number, len(sources), *sources, len(destinations), *destinations))
    return [(len(found),), *found]


def _call(trace: Trace, rank: int, text: str) -> list[int]:
    plain, named = words_of(text)
    form = FORMS.index(plain[1]) if len(plain) > 1 else 0
    made = named.get("as", "none")
    color, key = -1, 0
    if made != "none":
        members = trace.communicators[int(made)].members
        color, key = min(members), members.index(rank)
    element = int(named.get("element", 1))
    count = int(named.get("count", 0))
    root = _root(trace, rank, named) if plain[0] in ROOTED else 0
    op, kind = _reduction(named.get("reduction"))
    if op == _NO_OP:
        count, element = _wide(count, text)
    head = [_KINDS.index(plain[0]), form, int(named.get("on", 0)), root]
    head += [int(named.get("in_place", 0)), count, element, op, kind, -1 if made == "none" else int(made), color, key]
    lists = {name: numbers(named[name]) for name in LISTS if name in named}
    for side in ("send", "recv"):
        counts = lists.get(side, ())
        head += [len(counts), *counts, *_places(counts, lists.get(f"{side}_at"), text)]
    if max(head) > _MAX_INT:
        raise _too_large(text)
    return head


def _root(trace: Trace, rank: int, named: Mapping[str, str]) -> int:
    """What this rank says is the root."""
    comm = trace.communicators[int(named["on"])]
    root = comm.root(named)
    if not comm.is_inter:
        return comm.members.index(root) if root is not None else 0
    _, remote = comm.groups(rank)
    return _PROC_NULL if root is None else _ROOT if root == rank else remote.index(root)


def _reduction(text: str | None) -> tuple[int, int]:
    if text is None:
        return _NO_OP, 0
    op, _, kind = text.partition(":")
    return (_OF_PROGRAM, 0) if op == "program" else (OPS.index(op), TYPES.index(kind))


def _wide(count: int, text: str) -> tuple[int, int]:
    """Bytes as elements of a length that an int can count."""
    element = 1
    while count > _MAX_INT:
        if count % 2:
            raise _too_large(text)
        count, element = count // 2, element * 2
    return count, element


def _places(counts: Sequence[int], at: Sequence[int] | None, text: str) -> Sequence[int]:
    """One behind the other where none are given, or where an int cannot say them."""
    if at and len(at) == len(counts) and max(a + c for a, c in zip(at, counts)) <= _MAX_INT:
        return at
    found, end = [], 0
    for count in counts:
        found.append(end)
        end += count
    if end > _MAX_INT:
        raise _too_large(text)
    return found


def _too_large(text: str) -> OmnesError:
    return OmnesError(f"the call '{text[:80]}' is too large for a replay: parts may have up to {_MAX_INT} elements")


# Runs.


@dataclass
class Run:
    seconds: float  # in MPI, the mean of the ranks
    slowest: float
    calls: dict[Name, float]  # of all ranks
    times: dict[Name, float]  # seconds of all ranks


@dataclass
class Results:
    runs: dict[str, list[Run]] = field(default_factory=dict)  # by job, one for each round
    commands: dict[str, str] = field(default_factory=dict)

    def names(self, jobs: Sequence[JobSpec]) -> list[Name]:
        """Of what these jobs called, the costliest first."""
        sums: dict[Name, float] = {}
        for job in jobs:
            for run in self.runs[job.name]:
                for name, seconds in run.times.items():
                    sums[name] = sums.get(name, 0.0) + seconds
        return sorted(sums, key=lambda name: -sums[name])

    def per_call(self, job: str, name: Name) -> float:
        """Seconds, the median of the rounds."""
        return percentile([run.times[name] / max(run.calls[name], 1) for run in self.runs[job]], 0.5)

    def ratio(self, spec: JobSpec, name: Name | None) -> Known | None:
        """How many times faster than its baseline the job is, in one operation or in all."""
        if spec.baseline is None:
            return None
        theirs, ours = (
            [run.seconds if name is None else run.times[name] for run in self.runs[job]]
            for job in (spec.baseline, spec.name)
        )
        found = ratios(theirs, ours, "less")
        return known(found) if found else None


def run(trace: Trace, specs: Sequence[JobSpec], bind: bool, times: int, longest_gap: float) -> Results:
    """`longest_gap`: seconds that a rank computes between two calls, at most."""
    results = Results({spec.name: [] for spec in specs})
    limit = max(_SHORTEST_LIMIT, _TIMES_RECORDED * float(trace.head["seconds"]))
    with ExitStack() as stack:
        end_on_sigterm(stack)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="omnes-replay-")))
        lay_out(trace, folder)
        shown = stack.enter_context(progress.bar(f"{trace.ranks} ranks"))
        task = shown.add_task("starting the jobs", total=times * len(specs))
        for number in range(times):
            turn = number % len(specs)
            for spec in (*specs[turn:], *specs[:turn]):
                shown.update(task, description=f"round {number + 1} of {times}, {spec.name}")
                started = _launch(spec, trace.ranks, bind, folder, longest_gap)
                results.commands[spec.name] = str(started)
                results.runs[spec.name].append(_one(spec, started, limit))
                shown.update(task, advance=1)
    return results


def _launch(spec: JobSpec, ranks: int, bind: bool, folder: Path, longest_gap: float) -> launch.Launch:
    options, variables = binding(spec.mpi, bind)
    return launch.prepare(
        [str(programs.build("replay", spec.mpi)), str(folder), str(round(longest_gap * 1e9))],
        ranks,
        [*options, *spec.options],
        spec.with_omnes,
        str(spec.mpi.launcher),
        {**variables, **spec.variables},
    )


def _one(spec: JobSpec, started: launch.Launch, limit: float) -> Run:
    """Whatever happens, nothing of it runs on."""
    process = subprocess.Popen(
        started.command,
        env=started.full_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise JobLost(spec.name, f"not done in {limit:.0f} s; it hangs or crawls") from None
    finally:
        if process.poll() is None:
            stop(process)
    answer = next((line for line in out.splitlines() if line.startswith('{"replay"')), None)
    if process.returncode != 0 or answer is None:
        raise JobLost(spec.name, last_words(err + out))
    return _read(spec, json.loads(answer))


def _read(spec: JobSpec, answer: Mapping[str, Any]) -> Run:
    if answer["omnes"] != spec.with_omnes:
        raise JobError(spec.name, "omnes is not loaded" if spec.with_omnes else "omnes is loaded")
    names = [((one["operation"], one["form"]), one) for one in answer["operations"]]
    calls, times = ({name: one[what] for name, one in names} for what in ("calls", "seconds"))
    return Run(answer["seconds"], answer["slowest"], calls, times)


# What they have found.


def table(results: Results, specs: Sequence[JobSpec], title: str) -> Table:
    """Of the jobs of one MPI."""
    compared = [spec for spec in specs if spec.baseline]
    out = Table("operation", "calls", title=title)
    for spec in specs:
        out.add_column(f"{spec.label}, us/call", justify="right")
    for spec in compared:
        out.add_column(f"{spec.label} faster", justify="right")
    first = results.runs[specs[0].name][0]
    for name in results.names(specs):
        operation, form = name
        row = [operation + ("" if form == FORMS[0] else f" ({form})"), f"{first.calls[name]:.0f}"]
        row += [format_us(results.per_call(spec.name, name)) for spec in specs]
        ratios_of = [results.ratio(spec, name) for spec in compared]
        row += [ratio_cell(found) if found else "-" for found in ratios_of]
        out.add_row(*row)
    rounds = len(results.runs[specs[0].name])
    how = "95 % confidence" if rounds >= LEAST else f"of {rounds} rounds the least and the greatest"
    out.caption = f"calls of all ranks; medians of {rounds} rounds, ratios within rounds; in brackets: {how}"
    return out


def verdicts(results: Results, specs: Sequence[JobSpec]) -> list[str]:
    """One line for each comparison: all time in collectives."""
    lines = []
    for spec in specs:
        found = results.ratio(spec, None)
        if found is None:
            continue
        theirs, ours = (
            percentile([run.seconds for run in results.runs[job]], 0.5) for job in (spec.baseline or "", spec.name)
        )
        lines.append(
            f"{spec.name}: {found.median:.2f} times as fast as {spec.baseline} in all collectives "
            f"[{found.low:.2f}, {found.high:.2f}]: {ours:.4g} s instead of {theirs:.4g} s of each rank"
        )
    return lines


def as_data(results: Results, specs: Sequence[JobSpec]) -> dict[str, Any]:
    """In seconds."""

    def of(spec: JobSpec, name: Name | None) -> dict[str, Any]:
        runs = results.runs[spec.name]
        entry: dict[str, Any] = {"samples": [one.seconds if name is None else one.times[name] for one in runs]}
        if (found := results.ratio(spec, name)) is not None:
            entry.update(ratio=found.median, interval=[found.low, found.high], sure=found.sure)
        return entry

    operations = [
        {
            "operation": name[0],
            "form": name[1],
            "calls": results.runs[specs[0].name][0].calls[name],
            "jobs": {spec.name: of(spec, name) for spec in specs},
        }
        for name in results.names(specs)
    ]
    whole = {spec.name: of(spec, None) for spec in specs}
    return {"operations": operations, "all": whole}
