"""A tuning session: measures cases group by group of ranks, keeps all samples, and takes up what was interrupted.

How: per group of ranks one job for the search and, where it found something, another one to confirm it. A job is
started only when the records lack something. Where a new choice for one size of a grid is not that of its neighbour,
the size in the middle is measured, too, until the crossing is known to a factor of 2.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from omnes import _core
from omnes.bench import host
from omnes.bench.job import Job, JobSpec, Spread
from omnes.bench.records import Key, Records
from omnes.bench.session import end_on_sigterm
from omnes.errors import OmnesError
from omnes.models.prediction import MachineCosts, Ranks
from omnes.terminal.progress import Steps
from omnes.terminal.units import format_bytes
from omnes.tuning import search
from omnes.tuning.cases import Case, between, candidates
from omnes.tuning.search import Found


@dataclass
class TuningSession:
    records: Records
    spec: JobSpec
    bind: Callable[[Ranks], bool]
    seconds: float  # for each finalist of a case
    model: MachineCosts
    most: int  # candidates of a case beside the present choice
    hosts_are_real: bool = False
    refine: bool = False
    steps: Steps = field(default_factory=lambda: Steps("tuning"))
    _done: int = 0
    _total: int = 0
    _begin: float = field(default_factory=time.monotonic)

    @property
    def own_settings(self) -> dict[str, str]:
        """What the user has set, except the table."""
        return {name: text for name, text in os.environ.items() if name.startswith("OMNES_") and name != "OMNES_TABLE"}

    def begin(self) -> None:
        """The first record; of a session that goes on, whether it is this one."""
        what: dict[str, Any] = {
            "omnes": _core.__version__,
            "mpi": self.spec.mpi.name,
            "settings": self.own_settings,
            "options": list(self.spec.options),
        }
        if not self.records.campaign:
            now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
            self.records.add_campaign({"begun": now, "machine": host.describe(), **what})
        before = {**self.records.campaign, "machine": self.records.campaign["machine"]["name"]}
        for name, value in {**what, "machine": host.name()}.items():
            if before.get(name) != value:
                raise OmnesError(
                    f"{self.records.path} was begun with another {name} ({before.get(name)}, now {value}): "
                    "remove it, or name another output"
                )

    def run(self, cases: Sequence[Case]) -> list[Found]:
        found: list[Found] = []
        self._total = len(cases)
        with self.steps:
            for ranks in dict.fromkeys(case.ranks for case in cases):
                of_ranks = [case for case in cases if case.ranks == ranks]
                with self._job(ranks) as job:
                    here = [self._search(case, self._candidates(case), job) for case in of_ranks]
                    if self.refine:
                        here += self._crossings(here, job)
                with self._job(ranks) as job:
                    promising = [one for one in here if one.promising]
                    self._total += len(promising)
                    for one in promising:
                        self._confirm(one, job)
                found += here
        return found

    def _crossings(self, found: Iterable[Found], job: Callable[[], Job]) -> list[Found]:
        """Those of the sizes between neighbours with different choices, one operation after the other."""
        added: list[Found] = []
        by_operation: dict[str, list[Found]] = {}
        for one in found:
            by_operation.setdefault(one.case.operation, []).append(one)
        todo = [pair for of_one in by_operation.values() for pair in pairwise(sorted(of_one, key=_size))]
        while todo:
            left, right = todo.pop()
            new_choice = left.promising or right.promising
            crosses = left.case.knows_size and new_choice and left.likely != right.likely
            middle = between(left.case, right.case) if crosses else None
            if middle is None:
                continue
            self._total += 1
            names = dict.fromkeys([middle.default(self._may_leave), left.likely, right.likely])
            new = self._search(middle, list(names), job)
            added.append(new)
            todo += [(left, new), (new, right)]
        return added

    @property
    def _may_leave(self) -> bool:
        """Open MPI lets operations under way go on while it waits, so calls may be left to it."""
        return self.spec.mpi.family == "ompi"

    def _candidates(self, case: Case) -> list[str]:
        return candidates(case, self.model, self.most, self._may_leave)

    def _search(self, case: Case, names: Sequence[str], job: Callable[[], Job]) -> Found:
        key = self._key("search", case)
        known = self.records.cells.get(key)
        if known is None or names[0] not in known.samples:
            self._step(key, case)
            known = search.search(case, names, job(), self.seconds)
            self.records.add_cell(key, known)
        self._done += 1
        return Found(case, names[0], known.samples)

    def _confirm(self, found: Found, job: Callable[[], Job]) -> None:
        key = self._key("confirm", found.case)
        known = self.records.cells.get(key)
        if known is None or set(known.samples) != {found.default, found.best}:
            self._step(key, found.case)
            known = search.confirm(found, job(), self.seconds)
            self.records.add_cell(key, known)
        self._done += 1
        found.confirmed = known.samples

    def _key(self, what: str, case: Case) -> Key:
        where = f" on {case.ranks.nodes} nodes" if case.ranks.nodes > 1 else ""
        return Key(what + where, case.ranks.count, case.cell)

    def _step(self, key: Key, case: Case) -> None:
        spent = time.monotonic() - self._begin
        left = spent / self._done * (self._total - self._done) if self._done else None
        what = f"{key.plan} {case.operation}, {format_bytes(case.bytes)} B, {case.ranks}"
        self.steps.begin(self._done, self._total, what, left)

    @contextmanager
    def _job(self, ranks: Ranks) -> Any:
        """A job that is started when it is first asked for."""
        with ExitStack() as stack:
            started: list[Job] = []

            def job() -> Job:
                if not started:
                    end_on_sigterm(stack)
                    hosts = 1 if self.hosts_are_real else ranks.nodes
                    started.append(Job(self.spec, ranks.count, self.bind(ranks), Spread(hosts)))
                    stack.callback(started[0].close)
                    started[0].wait_until_ready()
                return started[0]

            yield job


def _size(found: Found) -> int:
    return found.case.bytes
