"""Every algorithm of every operation in all three forms, against computed results, in MPI programs of many sizes.

One launch tries all algorithms of an operation: each is forced on a communicator of its own. FULL_TESTS=1 in the
environment tries all on both MPIs with 2 to 9 ranks, with the transports in turns; else the MPIs take turns, too.
"""

from __future__ import annotations

import json
import re

import pytest

from launching import FULL, LIMIT, TRANSPORTS, mpirun
from omnes import _core
from omnes.launching.mpi import Mpi

# A power of two, for the algorithms that need it, and, where a launch is quick, a number that is neither that nor even.
RANKS = {"ompi": range(2, 10), "mpich": range(2, 10)} if FULL else {"ompi": [4], "mpich": [5]}
IN_TURNS = list(TRANSPORTS)


def algorithms(operation: str, ranks: int, transport: str = "shared") -> list[str]:
    """Those that can serve so many ranks."""
    of_operation = [entry["name"] for entry in _core.catalogue() if entry["operation"] == operation]
    nodes = [rank * 2 // ranks for rank in range(ranks)] if transport == "nodes" else []
    return [name for name in of_operation if not _core.why_not(operation, name, ranks, nodes=nodes)]


def choices(operation: str, ranks: int) -> list[str]:
    """Each as it is, and once more with all parameters that it takes."""
    entries = {entry["name"]: entry for entry in _core.catalogue() if entry["operation"] == operation}
    result = []
    for name in algorithms(operation, ranks):
        parameters = [f"k={entries[name]['radix'] + 1}"] if entries[name]["radix"] else []
        parameters += ["segment=4K"] if entries[name]["segmented"] else []
        result += [name, f"{name}:{','.join(parameters)}"] if parameters else [name]
    return result


MPIS = list(RANKS)
CASES = [
    ({"ompi": "openmpi", "mpich": "mpich"}[family], operation)
    for number, operation in enumerate(_core.operations())
    for family in (MPIS if FULL else [MPIS[number % 2]])
]


@pytest.mark.timeout(1800 if FULL else 300)
@pytest.mark.parametrize(("mpi", "operation"), CASES, indirect=["mpi"])
def test_operation(mpi: Mpi, build, tmp_path, operation):
    for turn, ranks in enumerate(RANKS[mpi.family], _core.operations().index(operation)):
        transport = IN_TURNS[turn % len(IN_TURNS)]
        words = ["all", operation, *choices(operation, ranks)]
        variables = {**TRANSPORTS[transport], "OMNES_STATS": str(tmp_path)}
        run = mpirun(mpi, ranks, build("catalogue", mpi), *words, variables=variables, timeout=300 if FULL else LIMIT)
        assert (run.returncode, run.stdout) == (0, "OK\n"), f"{ranks} ranks, {transport}: {run.stdout}{run.stderr}"
        report = json.loads((tmp_path / "rank-0.json").read_text())
        ran = {re.split("[: ]", e["algorithm"])[0] for e in report["entries"] if e["operation"] == operation}
        assert set(algorithms(operation, ranks, transport)) <= ran
        assert report["passed"] == []
