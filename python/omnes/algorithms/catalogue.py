"""The catalogue of algorithms as the commands use it: selecting by operation, or by OPERATION/ALGORITHM."""

from __future__ import annotations

from typing import Any

from omnes import _core
from omnes.errors import OmnesError

ROOTED = tuple(_core.rooted_operations())
REDUCTIONS = tuple(_core.reductions())
IN_PLACE = tuple(_core.in_place_operations())


def select(what: str | None) -> list[dict[str, Any]]:
    """All algorithms, those of an operation, or the one that OPERATION/ALGORITHM names."""
    algorithms = _core.catalogue()
    if what is None:
        return algorithms
    operation, slash, name = what.partition("/")
    if operation not in _core.operations():
        raise OmnesError(f"no operation '{operation}'; there are {', '.join(_core.operations())}")
    of_operation = [algorithm for algorithm in algorithms if algorithm["operation"] == operation]
    if not slash:
        return of_operation
    chosen = [algorithm for algorithm in of_operation if name in (algorithm["name"], *algorithm["aliases"])]
    if not chosen:
        have = ", ".join(algorithm["name"] for algorithm in of_operation) or "none yet"
        raise OmnesError(f"no {operation} algorithm '{name}'; there are {have}")
    return chosen


def one(what: str) -> dict[str, Any]:
    """The algorithm that OPERATION/ALGORITHM names."""
    if "/" not in what:
        raise OmnesError(
            f"'{what}' names no algorithm: write OPERATION/ALGORITHM, such as bcast/knomial (omnes list shows all)"
        )
    return select(what)[0]
