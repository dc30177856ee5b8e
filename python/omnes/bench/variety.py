"""What programs do beside repeating one call: the words for it in cells, and how cells are told from those that repeat.

Counts may be drawn anew for each call; a call may have a datatype, a communicator or a pending operation around it;
twenty different calls may take turns; between calls the program may touch memory of its own.
"""

from __future__ import annotations

COUNTS = ("random", "sparse")  # from one element to as many as the cell has; most of the latter are 0
FORMS = ("new-type", "dup", "split", "64-communicators", "beside-pending")
OPERATIONS = ("nothing", "twenty_calls")  # in place of one
TOUCHING = ("touching-256K", "touching-4M")  # in place of buffers: what the program touches between calls

# Counts are drawn so that each sweep of so many calls has the same mean: what is compared makes whole sweeps.
SWEEP = 32  # as in collbench_calls.h

_ON_NEW = ("dup", "split")


def kind(operation: str, counts: str, form: str, buffers: str) -> str:
    """What a cell is about, beside its operation and size; nothing where the same call is repeated."""
    words = [operation] if operation in OPERATIONS else []
    words += [counts] if counts in COUNTS else []
    words += [form] if form in FORMS else []
    words += [buffers] if buffers in TOUCHING else []
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
