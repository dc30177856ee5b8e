"""How many ranks fit on this machine before they share processors."""

from __future__ import annotations

import os
from pathlib import Path


def usable_cpus() -> int:
    """Hardware threads that this process may use."""
    return len(os.sched_getaffinity(0))


def are_shared(ranks: int) -> bool:
    """Whether so many ranks have to take turns: there are fewer CPUs, or their control group allows less CPU time."""
    allowed = quota()
    return ranks > usable_cpus() or (allowed is not None and ranks > allowed)


def quota() -> float | None:
    """CPUs that the control group may keep busy; None: no limit is known, as in a packed benchmark without the core."""
    try:
        from omnes import _core
    except ImportError:
        return None
    return _core.cpu_quota()


def usable_cores() -> int:
    """Cores among them: threads of one core count once. Open MPI gives out one slot for each core."""
    return len(one_of_each_core())


def one_of_each_core() -> list[int]:
    """A CPU of each core that this process may use, in order."""
    cores: dict[str, int] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.setdefault(siblings.read_text().strip() if siblings.exists() else str(cpu), cpu)
    return list(cores.values())
