"""What programs do beside repeating one call: the words for it in cells, and how cells are told from those that repeat.

Counts may be drawn anew for each call; a call may have a datatype, a communicator or a pending operation around it;
twenty different calls may take turns; between calls the program may touch memory of its own; ranks may come late.
"""

from __future__ import annotations

COUNTS = ("random", "sparse")  # from one element to as many as the cell has; most of the latter are 0
FORMS = ("new-type", "dup", "split", "64-communicators", "beside-pending")
OPERATIONS = ("nothing", "twenty_calls")  # in place of one
TOUCHING = ("touching-256K", "touching-4M")  # in place of buffers: what the program touches between calls

# In what pattern ranks come to a call, and the last one how late: so many times what the call takes when they come
# together. Timed is what follows the last arrival; with INSIDE, what a rank spends in the call on average.
TOGETHER = "together"
_LATE, _TIMES, INSIDE = ("uniform", "one-late", "half-late", "sorted"), ("0.1", "1", "10"), "-inside"
ARRIVALS = tuple(
    word + figure
    for figure in ("", INSIDE)
    for word in (TOGETHER, *(f"{pattern}-{times}" for pattern in _LATE for times in _TIMES))
)

# Counts are drawn so that each sweep of so many calls has the same mean: what is compared makes whole sweeps.
SWEEP = 32  # as in collbench_calls.h

_ON_NEW = ("dup", "split")


def kind(operation: str, counts: str, form: str, buffers: str, arrivals: str) -> str:
    """What a cell is about, beside its operation and size; nothing where the same call is repeated."""
    words = [operation] if operation in OPERATIONS else []
    words += [counts] if counts in COUNTS else []
    words += [form] if form in FORMS else []
    words += [buffers] if buffers in TOUCHING else []
    words += [arrivals] if arrivals else []
    return " ".join(words)


def has_form(operation: str, form: str, has_counts: bool, reduces: bool) -> bool:
    """Whether there is such a call; collbench_variety.h knows the same."""
    if operation == "nothing":
        return form in _ON_NEW
    if operation == "twenty_calls":
        return form == "blocking"
    if form == "new-type":
        return not (has_counts or reduces or operation == "barrier")
    return not (operation.startswith("neighbor") and form in (*_ON_NEW, "64-communicators"))


def together(arrivals: str) -> str:
    """What a pattern is compared with: the same figure of ranks that come together; nothing: each rank's own time."""
    return arrivals and TOGETHER + (INSIDE if arrivals.endswith(INSIDE) else "")


def pattern_of(arrivals: str) -> tuple[str, float]:
    """The pattern as collbench knows it, and how many times a call's own time the last rank is late."""
    name, _, times = arrivals.removesuffix(INSIDE).rpartition("-")
    return (name, float(times)) if name else (TOGETHER, 0.0)
