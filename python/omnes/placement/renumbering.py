"""What renumbering the ranks brings, for one algorithm or for recorded traffic, in bytes and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from omnes import _core
from omnes.algorithms import catalogue
from omnes.placement.patterns import Placing

# What is less is rounding.
_LEAST_GAIN = 1.001


@dataclass
class Renumbering:
    """Times are in ns at the given GB/s: what all bytes take one after the other, as the model has it. They compare."""

    what: str
    p: int
    placement: str
    method: str
    symmetry: str
    rows_seen: int
    levels: list[str]  # one more than the placement has: everything beyond
    bandwidths: list[float]
    bytes_before: list[float]  # by level
    bytes_after: list[float]
    time_before: float
    time_after: float
    gain: float  # with the cheaper fix-up; 1 where it does not pay
    fixup: str  # the cheaper one; empty where none is needed, known or worth it
    fixups: dict[str, dict[str, Any]]
    seconds: dict[str, float]
    parts: list[list[int]] = field(default_factory=list)  # virtual ranks of each unit of the nearest level
    virtual_of: list[int] = field(default_factory=list)
    real_of: list[int] = field(default_factory=list)
    metis: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def find(
    traffic: _core.Traffic, what: str, placing: Placing, size: int, method: str, bandwidths: list[float]
) -> Renumbering:
    """`size`: bytes of one part; 1 for recorded traffic."""
    answer = traffic.map(placing.levels, bandwidths or placing.bandwidths, method)
    unit = size / answer["pieces"]
    before, after = answer["before"]["time"], answer["after"]["time"]
    fixups = {
        name: {key: value if key == "why_not" else value * unit for key, value in cost.items()}
        for name, cost in answer["fixups"].items()
    }
    known = {name: cost["time"] for name, cost in fixups.items() if "time" in cost}
    fixup = min(known, key=known.__getitem__) if known and answer["method"] != "none" else ""
    total = known[fixup] if fixup else after * unit
    gain = before * unit / total if total else 1.0
    declined = bool(fixups) and not known
    if gain < _LEAST_GAIN or declined:
        gain, fixup = 1.0, ""
    elif known and max(known.values()) <= after * unit:  # there is nothing to put right
        fixup = ""
    return Renumbering(
        what,
        placing.p,
        placing.text,
        answer["method"],
        answer["symmetry"],
        answer["rows_seen"],
        [name for name, _ in placing.levels] + ["beyond"],
        answer["bandwidths"],
        [amount * unit for amount in answer["before"]["amount"]],
        [amount * unit for amount in answer["after"]["amount"]],
        before * unit,
        after * unit,
        gain,
        fixup,
        fixups,
        answer["seconds"],
        _parts(placing.levels[0][1], answer["virtual_of"]),
        answer["virtual_of"],
        answer["real_of"],
        answer.get("metis"),
    )


def find_all(placing: Placing, size: int, method: str, bandwidths: list[float]) -> Iterator[Renumbering]:
    """Every algorithm once: what also serves unequal parts has the same messages there."""
    seen = set()
    for algorithm in catalogue.select(None):
        operation, name = algorithm["operation"], algorithm["name"]
        key = (operation.rstrip("vw").removesuffix("_block"), name)
        if key in seen or _core.why_not(operation, name, placing.p):
            continue
        seen.add(key)
        yield find(_core.traffic(operation, name, placing.p), f"{operation}/{name}", placing, size, method, bandwidths)


def _parts(unit: list[int], virtual_of: list[int]) -> list[list[int]]:
    parts: dict[int, list[int]] = {}
    for place, virtual in zip(unit, virtual_of):
        parts.setdefault(place, []).append(virtual)
    return [sorted(part) for part in parts.values()]
