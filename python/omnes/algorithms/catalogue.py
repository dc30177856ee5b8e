"""The catalogue of algorithms as the commands use it: selecting by operation, or by OPERATION/ALGORITHM."""

from __future__ import annotations

from typing import Any

from omnes import _core
from omnes.errors import UsageError, one_of

ROOTED = tuple(_core.rooted_operations())
REDUCTIONS = tuple(_core.reductions())
IN_PLACE = tuple(_core.in_place_operations())


def select(what: str | None) -> list[dict[str, Any]]:
    """All algorithms, those of an operation, or the one that OPERATION/ALGORITHM names."""
    algorithms = _core.catalogue()
    if what is None:
        return algorithms
    operation, slash, name = what.partition("/")
    one_of(operation, _core.operations(), "operation")
    of_operation = [algorithm for algorithm in algorithms if algorithm["operation"] == operation]
    if not slash:
        return of_operation
    chosen = [algorithm for algorithm in of_operation if name in (algorithm["name"], *algorithm["aliases"])]
    if not chosen:
        one_of(name, [algorithm["name"] for algorithm in of_operation], f"{operation} algorithm")
    return chosen


def one(what: str) -> dict[str, Any]:
    """The algorithm that OPERATION/ALGORITHM names."""
    if "/" not in what:
        raise UsageError(
            f"'{what}' names no algorithm: write OPERATION/ALGORITHM, such as bcast/knomial (omnes list shows all)"
        )
    return select(what)[0]
