"""What the commands that predict share: the machine, where ranks lie, candidates, and their predicted times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omnes import _core
from omnes.errors import OmnesError, from_core
from omnes.placement import patterns
from omnes.placement.patterns import Ranks
from omnes.terminal import files, units

PARTS = ("latency", "bandwidth", "overhead", "reduction", "copy")  # of a critical path


@dataclass
class MachineCosts:
    """A machine file; without one, the default machine."""

    text: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None) -> MachineCosts:
        """That of the file; without one, the one that a job would know."""
        if path is None:
            with from_core():
                name, text = _core.known_machine_file()
        else:
            name, text = str(path), files.read(path)
        try:
            return cls(text, _core.described_machine(text))
        except ValueError as fault:
            raise OmnesError(f"{name}: {fault}") from None


def groups(counts: str | None, nodes: str | None, machine: MachineCosts) -> list[Ranks]:
    """The groups that -n and --nodes ask for: '16..8192' doubles; without --nodes, nodes are those of the machine."""
    return patterns.groups(
        units.parse_sizes(counts) if counts else [], patterns.parse(nodes or ""), machine.facts["ranks_per_node"]
    )


def predict(
    what: str, choice: str, ranks: Ranks, sizes: Sequence[int], machine: MachineCosts, reduction: str = "f64 sum"
) -> list[dict[str, Any]]:
    """One prediction for each size. Raises OmnesError where the algorithm cannot do it."""
    with from_core():
        return _core.predict(
            what, choice, ranks.count, list(sizes), machine.text, ranks.per_node, reduction, cyclic=ranks.cyclic
        )


def chosen(
    operation: str,
    ranks: Ranks,
    size: int,
    commutative: bool = True,
    table: str | None = None,
    machine: str = "",
    model: bool = True,
    host: bool = False,
) -> dict[str, Any]:
    """What omnes runs, and why. table: a file, or "off"; none: the environment's, or the user's. machine: the text of a
    file; empty: likewise. model: whether it is asked where a rule leaves the choice to it. host: whether it may be left
    to the host MPI, as "host"."""
    with from_core():
        return _core.choose(
            operation,
            ranks.count,
            size,
            size // 8,
            commutative,
            ranks.node_of_each,
            table=table or "",
            machine=machine,
            model=model,
            host=host,
        )


def costs(
    operation: str,
    names: Sequence[str],
    ranks: Ranks,
    sizes: Sequence[int],
    machine: MachineCosts,
    commutative: bool = True,
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Predicted seconds at each size of those that can do it, and of the others why they cannot."""
    able: dict[str, list[float]] = {}
    excluded: dict[str, str] = {}
    for name in names:
        reason = why_not(operation, name, ranks.count, commutative)
        if not reason:
            try:
                able[name] = [one["seconds"] for one in predict(operation, name, ranks, sizes, machine)]
                continue
            except OmnesError as fault:
                reason = fault.message
        excluded[name] = reason
    return able, excluded


def why_not(operation: str, choice: str, p: int, commutative: bool = True) -> str:
    """Empty when it can."""
    parsed = _core.parse_choice(operation, choice)
    return _core.why_not(operation, parsed["algorithm"], p, radix=parsed["radix"], commutative=commutative)


_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}
_PER_SECOND = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def parse_seconds(text: str) -> float:
    """'2.37us' -> 2.37e-6."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(ps|ns|us|µs|ms|s)", text.strip())
    if not match:
        raise OmnesError(f"'{text}' is no time: write a number and ps, ns, us, ms or s, such as 2.37us")
    return float(match[1]) * _SECONDS[match[2]]


def parse_bandwidth(text: str) -> float:
    """'3183MB/s' -> bytes per second; M is a million, as networks count."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?B)/s", text.strip())
    if not match or float(match[1]) == 0:
        raise OmnesError(f"'{text}' is no bandwidth: write a number and B/s, KB/s, MB/s or GB/s, such as 3183MB/s")
    return float(match[1]) * _PER_SECOND[match[2]]
