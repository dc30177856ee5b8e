"""Proves algorithms over ranges of p: every root, in place and not, several radices and segmentations.

One unit of work is one algorithm at one p. Of an algorithm that fails, the fault at the smallest p is reported.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from omnes import _core
from omnes.algorithms import catalogue

RADICES = (2, 3, 4, 5, 8)
LEADERS = ((1, 1), (3, 2))  # k and segments of hierarchical algorithms, each proved on several placements
SEGMENTS = (1, 2, 5)


@dataclass(frozen=True)
class Outcome:
    """What came of one algorithm at one p."""

    operation: str
    algorithm: str
    p: int
    proved: int  # problems proved before the fault, if any
    skipped: str  # why the algorithm does not serve this p; then nothing was proved
    fault: str  # the first fault, with the problem it shows in
    case: dict[str, Any] | None = None  # the arguments of the problem at fault

    @property
    def name(self) -> str:
        return f"{self.operation}/{self.algorithm}"


def problems(algorithm: dict[str, Any], p: int) -> Iterator[dict[str, Any]]:
    """The problems that an algorithm is proved on at p, as arguments of the verifier."""
    operation, name = algorithm["operation"], algorithm["name"]
    radices = [k for k in RADICES if k >= algorithm["min_radix"]] if algorithm["radix"] else [0]
    cuts = list(product(radices, SEGMENTS if algorithm["segmented"] else (1,)))
    for radix, segments in LEADERS if algorithm["hierarchical"] and algorithm["radix"] else cuts:
        if _core.why_not(operation, name, p, radix, segments):
            continue
        for root in range(p) if operation in catalogue.ROOTED else (0,):
            for in_place in (False, True) if operation in catalogue.IN_PLACE else (False,):
                yield {"p": p, "root": root, "radix": radix, "segments": segments, "in_place": in_place}


def prove(work: tuple[dict[str, Any], int]) -> Outcome:
    """Proves one algorithm at one p, up to the first fault."""
    algorithm, p = work
    operation, name = algorithm["operation"], algorithm["name"]
    proved = 0
    for problem in problems(algorithm, p):
        fault = _core.verify(operation, name, **problem)
        if fault is not None:
            return Outcome(operation, name, p, proved, "", f"{_describe(algorithm, problem)}: {fault}", problem)
        proved += 1
    skipped = "" if proved else _core.why_not(operation, name, p, algorithm["radix"], 1)
    return Outcome(operation, name, p, proved, skipped, "")


def prove_all(algorithms: Sequence[dict[str, Any]], counts: Sequence[int], jobs: int) -> Iterator[Outcome]:
    """Outcomes as they come, the small p first."""
    work = [(algorithm, p) for p in sorted(counts) for algorithm in algorithms]
    if jobs == 1:
        yield from map(prove, work)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap_unordered(prove, work)


def smallest_faults(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """For each algorithm that failed, its fault at the smallest p."""
    smallest: dict[str, Outcome] = {}
    for outcome in outcomes:
        if outcome.fault and (outcome.name not in smallest or outcome.p < smallest[outcome.name].p):
            smallest[outcome.name] = outcome
    return [smallest[name] for name in sorted(smallest)]


def _describe(algorithm: dict[str, Any], problem: dict[str, Any]) -> str:
    words = [f"p={problem['p']}"]
    if algorithm["operation"] in catalogue.ROOTED:
        words.append(f"root={problem['root']}")
    if algorithm["radix"]:
        words.append(f"k={problem['radix']}")
    if algorithm["segmented"]:
        words.append(f"segments={problem['segments']}")
    if problem["in_place"]:
        words.append("in place")
    return ", ".join(words)
