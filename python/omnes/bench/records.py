"""The raw samples of a campaign: a file of JSON lines, one for each finished cell, that outlives interruptions.

Lines are records of four kinds: "campaign" (the machine, the plans, the peers; first), "limits" (of the machine, just
before a plan's cells), "cell" (its samples on every peer, or how a peer failed), and "end". A line that its writer left
unfinished is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnes.bench.timing import Cell, Samples
from omnes.errors import OmnesError
from omnes.terminal import files


@dataclass(frozen=True)
class Key:
    """A cell of a plan, with so many ranks, in one launch of all jobs."""

    plan: str
    ranks: int
    cell: Cell
    launch: int = 0

    def __str__(self) -> str:
        return f"{self.plan}, {self.ranks} ranks: {self.cell}"


@dataclass
class Measured:
    bound: bool
    stable: bool  # or out of time
    seconds: float  # that it took
    samples: dict[str, Samples]
    failed: dict[str, str] = field(default_factory=dict)


class Records:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.cells: dict[Key, Measured] = {}
        self.campaign: dict[str, Any] = {}
        self.limits: dict[tuple[str, int], Mapping[str, float]] = {}  # by plan and ranks, the latest
        self.ended = False
        with files.expecting(path, "no file of samples: its lines are to be records of a campaign"):
            for record in self._lines():
                self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        kind = record.pop("record")
        if kind == "campaign":
            self.campaign = record
        elif kind == "limits":
            self.limits[record.pop("plan"), record.pop("ranks")] = record
        elif kind == "cell":
            key, measured = _parse(record)
            self.cells[key] = measured
        self.ended = kind == "end"

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        whole = files.read(self.path)
        end = whole.rfind("\n") + 1
        for number, line in enumerate(whole[:end].splitlines(), 1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as fault:
                raise OmnesError(f"{self.path}, line {number}: {fault}") from None

    def add_campaign(self, data: dict[str, Any]) -> None:
        self.campaign = data
        self._write("campaign", data)

    def add_limits(self, plan: str, ranks: int, limits: Mapping[str, float]) -> None:
        self.limits[plan, ranks] = limits
        self._write("limits", {"plan": plan, "ranks": ranks, **limits})

    def add_cell(self, key: Key, measured: Measured) -> None:
        self.cells[key] = measured
        self.ended = False
        peers: dict[str, Any] = {name: [_short(value) for value in of.values] for name, of in measured.samples.items()}
        self._write(
            "cell",
            {
                "plan": key.plan,
                "ranks": key.ranks,
                "launch": key.launch,
                **vars(key.cell),
                "bound": measured.bound,
                "stable": measured.stable,
                "took": _short(measured.seconds),
                "seconds": peers,
                "failed": measured.failed,
            },
        )

    def end(self) -> None:
        self._write("end", {})
        self.ended = True

    def _write(self, kind: str, data: dict[str, Any]) -> None:
        """Appends a line, on the disk before this returns; over what an interrupted writer left of its last."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            whole = self.path.read_bytes()
            file.truncate(whole.rfind(b"\n") + 1)
            file.write(json.dumps({"record": kind, **data}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _short(value: float) -> float:
    """Four digits: more than a clock gives."""
    return float(f"{value:.4g}")


def _parse(record: dict[str, Any]) -> tuple[Key, Measured]:
    cell = Cell(**{name: record[name] for name in Cell.__dataclass_fields__ if name in record})
    key = Key(record.pop("plan"), record.pop("ranks"), cell, record.pop("launch", 0))
    samples = {name: Samples(values) for name, values in record["seconds"].items()}
    return key, Measured(record["bound"], record["stable"], record["took"], samples, record["failed"])
