"""Cases measured to the end, and their records: a file of JSON lines, one for each run, that outlives interruptions.

How: a case's ways are each tried once, which shows that its result is right and where its collective time goes. Then
rounds: in each all ways run once, in turn: A B C, B C A, ..., so that all see the same machine. A way that fails is
left out of its case, and that is recorded.

Records: "campaign" (machine, date; first), "profile" (of a case under omnes), "run" (of a way, in a round), "failed".
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.applications.running import OMNES, STOCK, WAYS, Case, RunFailed, profile, run
from omnes.bench import host
from omnes.errors import OmnesError
from omnes.terminal import files

WALL = "wall time"
# What would be measured as if it were the MPI's own way.
_SETTINGS = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "OMNES_", "LD_PRELOAD")


@dataclass(frozen=True)
class Key:
    program: str
    mpi: str
    ranks: int

    def __str__(self) -> str:
        return f"{self.program} on {self.mpi}, {self.ranks} ranks"


@dataclass
class Measured:
    """What is known of a case: of each way and round the figures, the wall time among them."""

    rounds: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    profile: dict[str, Any] = field(default_factory=dict)

    def done(self, ways: Sequence[str] = tuple(WAYS)) -> int:
        """Rounds in which all of these that did not fail ran."""
        alive = [self.rounds.get(way, {}) for way in ways if way not in self.failed]
        return min((len(of) for of in alive), default=0)

    def both(self, way: str, figure: str) -> tuple[list[float], list[float]]:
        """The figure on the stock MPI and that way, of the rounds that have both."""
        stock, ours = self.rounds.get(STOCK, {}), self.rounds.get(way, {})
        rounds = [number for number in sorted(stock.keys() & ours.keys())]
        return [stock[n][figure] for n in rounds], [ours[n][figure] for n in rounds]


class Records:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.campaign: dict[str, Any] = {}
        self.cases: dict[Key, Measured] = {}
        if path.exists():
            whole = files.read(path)
            with files.expecting(path, "no file of runs: its lines are to be records of bench/run applications"):
                for line in whole[: whole.rfind("\n") + 1].splitlines():
                    self._take(json.loads(line))

    def case(self, key: Key) -> Measured:
        return self.cases.setdefault(key, Measured())

    def add(self, kind: str, key: Key | None, **data: Any) -> None:
        """Appends a line, on the disk before this returns; over what an interrupted writer left of its last."""
        record = {"record": kind, **(vars(key) if key else {}), **data}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.truncate(self.path.read_bytes().rfind(b"\n") + 1)
            file.write(json.dumps(record).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._take(json.loads(json.dumps(record)))

    def _take(self, record: dict[str, Any]) -> None:
        kind = record["record"]
        if kind == "campaign":
            self.campaign = record
            return
        measured = self.case(Key(record["program"], record["mpi"], record["ranks"]))
        if kind == "run":
            measured.rounds.setdefault(record["way"], {})[record["round"]] = record["figures"]
        elif kind == "failed":
            measured.failed[record["way"]] = record["what"]
        elif kind == "profile":
            measured.profile = record


Progress = Callable[[int, int, object, "float | None"], None]


def measure(
    cases: Sequence[Case], times: int, records: Records, progress: Progress, ways: Sequence[str] = tuple(WAYS)
) -> None:
    """What the records do not have yet of these ways, of which the first is the stock MPI's."""
    if set_here := sorted(name for name in os.environ if name.startswith(_SETTINGS)):
        raise OmnesError(f"unset what would change the measurement: {' '.join(set_here)}")
    if not records.campaign:
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        records.add("campaign", None, begun=now, machine=host.describe())
    elif records.campaign["machine"]["name"] != host.name():
        raise OmnesError(f"{records.path} was begun on {records.campaign['machine']['name']}: name a new file")
    for number, case in enumerate(cases):
        _measure(case, times, records, lambda what, at=number: progress(at, len(cases), what, None), ways)  # type: ignore[misc]


def key_of(case: Case) -> Key:
    return Key(case.program.name, case.mpi.name, case.ranks)


def _measure(case: Case, times: int, records: Records, progress: Callable[[str], None], wanted: Sequence[str]) -> None:
    key = key_of(case)
    measured = records.case(key)
    known = measured.profile or OMNES not in wanted
    if STOCK in measured.failed or (known and measured.done(wanted) >= times):
        return
    stock = _tried(case, key, records, progress, wanted)
    if stock is None:
        return
    for number in range(measured.done(wanted), times):
        ways = [way for way in wanted if way not in measured.failed]
        turn = number % len(ways)
        for way in [*ways[turn:], *ways[:turn]]:
            if number in measured.rounds.get(way, {}):
                continue
            progress(f"{key}: round {number + 1} of {times}, {way}")
            try:
                done = run(case, way, stock)
            except RunFailed as fault:
                records.add("failed", key, way=way, what=fault.message)
                continue
            figures = {WALL: done.seconds, **done.figures}
            records.add("run", key, way=way, round=number, figures={name: _short(v) for name, v in figures.items()})
        if STOCK in measured.failed:
            return


def _tried(
    case: Case, key: Key, records: Records, progress: Callable[[str], None], wanted: Sequence[str]
) -> str | None:
    """The stock MPI's output; None where it fails. Statistics show whether omnes is loaded."""
    way = STOCK
    try:
        progress(f"{key}: first run, {way}")
        stock = run(case, way).text
    except RunFailed as fault:
        records.add("failed", key, way=way, what=fault.message)
        return None
    measured = records.case(key)
    for way in (way for way in wanted if way != STOCK):
        if way in measured.failed or (measured.profile if way == OMNES else measured.rounds.get(way)):
            continue
        progress(f"{key}: first run, {way}")
        try:
            done, report = profile(case, way, stock)
        except RunFailed as fault:
            records.add("failed", key, way=way, what=fault.message)
            continue
        if way == OMNES:
            records.add("profile", key, seconds=_short(done.seconds), **summary(report))
    return stock


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """Of statistics what the page tells: seconds of a rank in collectives, of these waiting; who takes most."""
    ranks = report["ranks"]
    by_operation: dict[str, dict[str, float]] = {}
    for entry in [*report["entries"], *report["passed"]]:
        form = "" if entry["form"] == "blocking" else f" ({entry['form']})"
        sums = by_operation.setdefault(f"{entry['operation']}{form}", {"calls": 0, "seconds": 0, "bytes": 0})
        sums["calls"] += entry["calls"] / ranks
        sums["seconds"] += entry["seconds"] / ranks
        sums["bytes"] += entry.get("mean_bytes", 0) * entry["calls"] / ranks
    served = sum(entry["calls"] for entry in report["entries"])
    passed = sum(entry["calls"] for entry in report["passed"])
    reasons = sorted({f"{entry['operation']}: {entry['reason']}" for entry in report["passed"]})
    return {
        "in_collectives": _short(sum(of["seconds"] for of in by_operation.values())),
        "waiting": _short(sum(entry.get("waiting", 0.0) for entry in report["entries"]) / ranks),
        "served": served,
        "passed": passed,
        "reasons": reasons,
        "operations": {
            name: {what: _short(value) for what, value in of.items()}
            for name, of in sorted(by_operation.items(), key=lambda item: -item[1]["seconds"])
        },
    }


def _short(value: float) -> float:
    """Five digits: more than such programs repeat."""
    return float(f"{value:.5g}")
