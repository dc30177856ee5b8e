"""What a recorded program's ranks send each other: the traffic of all its collective calls, added up.

Each call has the messages of the algorithm that ran, among the ranks of its communicator and from its root, with parts
of the mean size. A hierarchical algorithm's messages follow the nodes, which are about to change: on communicators of
part of the ranks, which want to be together, the algorithm that would run on one node stands for it; of all ranks, no
order is better than another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnes import _core
from omnes.algorithms import catalogue, tables
from omnes.errors import OmnesError, from_core
from omnes.models import prediction
from omnes.models.prediction import Ranks
from omnes.terminal import files
from omnes.traces import statistics
from omnes.traces.members import parse_members

_REMAPPED = " remap="  # behind an algorithm's name: its ranks were renumbered, which is not the program's doing


@dataclass
class Recorded:
    traffic: _core.Traffic
    calls: int  # each counts once, however many ranks took part
    left_out: list[str] = field(default_factory=list)  # reasons, and how many calls

    @classmethod
    def load(cls, path: Path) -> Recorded:
        profile = statistics.load_profile(path)
        if "called" not in profile:
            raise OmnesError(f"{path} does not say which ranks called what: record it again with omnes run --profile")
        with files.expecting(path, "no profile that omnes run --profile has written"):
            return cls._of(profile, path)

    @classmethod
    def _of(cls, profile: dict[str, Any], path: Path) -> Recorded:
        ranks = profile["ranks"]
        parts, calls, left_out = [], 0, Counter[str]()
        for entry in profile["called"]:
            members = parse_members(entry["members"])
            times = round(entry["calls"] / len(members))
            part, why_not = _part(entry, members, ranks, times)
            if part:
                parts.append(part)
                calls += times
            elif why_not:
                left_out[why_not] += times
        for entry in profile["passed"]:
            left_out["passed to the host MPI, whose messages are not known"] += round(entry["calls"] / entry["ranks"])
        reasons = [f"{number} calls: {reason}" for reason, number in left_out.most_common()]
        if not parts:
            raise OmnesError(f"{path} has nothing to map; left out: {'; '.join(reasons) or 'no collective calls'}")
        with from_core():
            return cls(_core.sum_traffic(ranks, parts), calls, reasons)


def _part(
    entry: dict[str, Any], members: list[int], ranks: int, times: int
) -> tuple[tuple[_core.Traffic, list[int], float] | None, str]:
    """Traffic, its ranks, and how often it counts per part; or why not. Neither for a communicator of one rank."""
    operation, size = entry["operation"], entry["mean_bytes"]
    if operation.startswith("neighbor_"):
        return None, "neighborhoods, whose topology is not recorded"
    choice = _core.parse_choice(operation, entry["algorithm"].partition(_REMAPPED)[0])
    if catalogue.one(f"{operation}/{choice['algorithm']}")["hierarchical"]:
        if len(members) == ranks:
            return None, "hierarchical algorithms of all ranks, which serve any order alike"
        choice = prediction.chosen(operation, Ranks(len(members), len(members)), round(size), table=tables.OFF)
    if len(members) == 1:
        return None, ""
    traffic = _core.traffic(operation, choice["algorithm"], len(members), entry["root"], choice["radix"])
    return (traffic, members, times * (1 if operation == "barrier" else size)), ""
