"""A campaign: plans run over peers to the end with nobody watching. What is finished is kept, what fails is noted.

How: for each plan and number of ranks all jobs are alive at once and take turns in every cell. A job that computes a
wrong result is left out of that cell; one that dies or hangs is left out too, and started again for the next.
"""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab.peers import Peer
from lab.plan import Plan
from omnes.bench import host, limits
from omnes.bench.job import Job, JobError, JobLost, JobSpec, Spread, WrongResult
from omnes.bench.records import Key, Measured, Records
from omnes.bench.session import end_on_sigterm
from omnes.bench.timing import ANSWER_SECONDS, Cell, Samples, take_turns
from omnes.errors import OmnesError

# What such variables set would be measured as if it were the MPI's own way; a peer's file is the place for them.
_SETTINGS = ("OMPI_MCA_", "PRTE_MCA_", "MPIR_CVAR_", "MPICH_", "I_MPI_", "FI_", "UCX_", "OMNES_")

MAX_STARTS = 3  # of one job that then serves no cell

# Told for each cell: how many are finished, how many there are, the cell just begun, seconds left (or None).
Progress = Callable[[int, int, Key, "float | None"], None]


class Crew:
    """The jobs of one plan with so many ranks, alive at once."""

    def __init__(self, specs: Sequence[JobSpec], ranks: int, bind: bool, spread: Spread) -> None:
        self._specs = specs
        self._ranks = ranks
        self._bind = bind
        self._spread = spread
        self._jobs: dict[str, Job] = {}
        self._starts = dict.fromkeys((spec.name for spec in specs), 0)
        self._ended = dict.fromkeys((spec.name for spec in specs), "")  # how

    def jobs(self) -> tuple[list[Job], dict[str, str]]:
        """Those alive, the missing ones started again; and of those given up, how they ended."""
        fresh = []
        for spec in self._specs:
            if spec.name in self._jobs or self._starts[spec.name] == MAX_STARTS:
                continue
            self._starts[spec.name] += 1
            try:
                self._jobs[spec.name] = Job(spec, self._ranks, self._bind, self._spread)
                fresh.append(spec.name)
            except OmnesError as fault:  # its program cannot be compiled or launched
                self._ended[spec.name] = fault.message
        for name in fresh:
            try:
                self._jobs[name].wait_until_ready()
            except JobError as fault:
                self.lose(fault)
        alive = [self._jobs[spec.name] for spec in self._specs if spec.name in self._jobs]
        return alive, {spec.name: self._ended[spec.name] for spec in self._specs if spec.name not in self._jobs}

    def lose(self, fault: JobError) -> None:
        self._ended[fault.name] = fault.what
        self._jobs.pop(fault.name).close()

    def served(self, jobs: Sequence[Job]) -> None:
        self._starts.update((job.spec.name, 0) for job in jobs)

    def close(self) -> None:
        for job in self._jobs.values():
            job.close()


def settings() -> list[str]:
    """Variables of the environment that would change the measurement."""
    return sorted(name for name in os.environ if name.startswith(_SETTINGS))


def run(
    plans: Sequence[Plan],
    peers: Sequence[Peer],
    folder: Path,
    records: Records,
    progress: Progress,
    until: float = math.inf,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Measures what the records do not have yet, until then (time.monotonic()). MPIs are installed in the folder.

    about: what else the records are to say first.
    """
    _begin(plans, peers, records, about or {})
    todo = [
        (plan, ranks, [key for key in _keys(plan, ranks, launch) if key not in records.cells])
        for launch in range(max(plan.launches for plan in plans))
        for plan in plans
        for ranks in plan.ranks
        if launch < plan.launches
    ]
    total = sum(len(keys) for _, _, keys in todo)
    done = 0
    started = time.monotonic()
    for plan, ranks, keys in todo:
        if not keys:
            continue
        if time.monotonic() > until:
            return
        specs = [peer.job(folder) for peer in taking_part(plan, ranks, peers)]
        if plan.hosts == 1 and not plan.on:
            records.add_limits(plan.name, ranks, limits.measure(ranks))
        with ExitStack() as stack:
            end_on_sigterm(stack)
            crew = Crew(specs, ranks, plan.bind, plan.spread)
            stack.callback(crew.close)
            for key in keys:
                if time.monotonic() > until:
                    return
                left = (time.monotonic() - started) / done * (total - done) if done else None
                progress(done, total, key, left)
                records.add_cell(key, _measure(plan, key.cell, crew))
                done += 1
    if not records.ended:
        records.end()


def _keys(plan: Plan, ranks: int, launch: int) -> list[Key]:
    return [Key(plan.name, ranks, cell, launch) for cell in plan.cells_for(ranks)]


def where(folder: Path) -> Path:
    """The records of this machine's unfinished campaign, or of a new one."""
    name = host.name()
    earlier = sorted(folder.glob(f"*-{name}.jsonl"), key=lambda path: path.stat().st_mtime)
    if earlier and not Records(earlier[-1]).ended:
        return earlier[-1]
    now = datetime.datetime.now()
    today = folder / f"{now:%Y-%m-%d}-{name}.jsonl"
    return today if not today.exists() else folder / f"{now:%Y-%m-%d-%H%M}-{name}.jsonl"


def taking_part(plan: Plan, ranks: int, peers: Sequence[Peer]) -> list[Peer]:
    unknown = [name for name in plan.peers if name not in {peer.name for peer in peers}]
    if unknown:
        raise OmnesError(
            f"plan {plan.name}: no peer '{unknown[0]}'; there are {', '.join(peer.name for peer in peers)}"
        )
    chosen = [peer for peer in peers if not plan.peers or peer.name in plan.peers]
    return [peer for peer in chosen if peer.takes_part(plan.shared(ranks), plan.hosts, bool(plan.peers))]


def _begin(plans: Sequence[Plan], peers: Sequence[Peer], records: Records, about: Mapping[str, Any]) -> None:
    """The first record; of a campaign that goes on, whether it is this one."""
    what: dict[str, Any] = {
        "plans": {plan.name: _plain(plan.as_data()) for plan in plans},
        "peers": {peer.name: _plain(peer.as_data()) for peer in peers},
    }
    if not records.campaign:
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        records.add_campaign({"begun": now, "machine": host.describe(), **about, **what})
    if records.campaign["machine"]["name"] != host.name():
        raise OmnesError(f"{records.path} was begun on {records.campaign['machine']['name']}: name a new file")
    for kind, settings in what.items():
        before = records.campaign[kind]
        changed = [name for name in settings.keys() | before.keys() if settings.get(name) != before.get(name)]
        if changed:
            raise OmnesError(f"{records.path} was begun with other {kind} ({sorted(changed)[0]}): name a new file")


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}


def _measure(plan: Plan, cell: Cell, crew: Crew) -> Measured:
    begin = time.monotonic()
    failed: dict[str, str] = {}
    while True:
        alive, given_up = crew.jobs()
        jobs = [job for job in alive if job.spec.name not in failed and job.offers(cell.form)]
        try:
            right = []
            for job in jobs:
                try:
                    job.ask(f"check {cell}", ANSWER_SECONDS)
                    right.append(job)
                except WrongResult as fault:
                    failed[fault.name] = fault.what
            lanes = [(cell, job) for job in right]
            samples, stable = take_turns(lanes, plan.seconds / plan.launches, plan.width)
        except JobError as fault:
            failed[fault.name] = fault.what
            if isinstance(fault, JobLost):
                crew.lose(fault)
            continue
        crew.served(right)
        by_name: dict[str, Samples] = {job.spec.name: of_job for job, of_job in zip(right, samples)}
        return Measured(plan.bind, stable, time.monotonic() - begin, by_name, {**given_up, **failed})
