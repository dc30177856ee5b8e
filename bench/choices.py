"""How good choices are: those of the model and of decision tables against the fastest of all, on two ranks.

Usage: bench/run choices MACHINE.toml [--table TABLE.toml] [-o PAGE.md] [--measured FILE.jsonl] [--only bcast,scan]
MACHINE.toml: made by omnes measure -n 2 just before; TABLE.toml: made by omnes tune -n 2; FILE.jsonl: the times
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from lab.two_ranks import OPERATIONS, RANKS, SIZES
from omnes import _core
from omnes.algorithms import tables
from omnes.bench.job import Job, JobSpec
from omnes.bench.timing import ANSWER_SECONDS, Cell, Samples, ratio, take_turns
from omnes.launching import mpi
from omnes.models.prediction import MachineCosts
from omnes.terminal import units
from omnes.tuning.search import Forced

SECONDS = 0.2  # for each that is left at last
BEST = 2  # of the first rounds that stay, beside the choices
NEAR, CLOSE, FAR = 1.05, 1.1, 1.5
WAYS = ("the model, this machine measured", "the model, the default machine", "the compiled-in table")
TUNED = "that of omnes tune"


@dataclass
class Case:
    operation: str
    bytes: int
    choices: tuple[str, ...]  # of each way
    samples: dict[str, Samples]
    at_first: dict[str, float]  # medians of a few turns, of all

    @property
    def best(self) -> str:
        return min(self.samples, key=lambda name: self.samples[name].median)

    @property
    def record(self) -> dict[str, object]:
        seconds = {name: of.median for name, of in self.samples.items()}
        names = {"choices": self.choices, "seconds": seconds, "at_first": self.at_first}
        return {"ranks": RANKS, "operation": self.operation, "bytes": self.bytes, **names}

    def loss(self, way: int) -> float:
        """Times the best; 1 where the difference may be noise."""
        beyond = ratio(self.samples[self.choices[way]], self.samples[self.best])
        return beyond.median if beyond.interval[0] > 1 else 1.0


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("machine", type=Path)
    arguments.add_argument("--table", type=Path)
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--measured", type=Path, help="write all times here")
    arguments.add_argument("--only", help="operations, separated by commas")
    given = arguments.parse_args()
    machine = MachineCosts.load(given.machine)
    chosen = mpi.find(None, os.environ)
    if chosen is None:
        sys.exit("no MPI found")
    cases = measured(machine, given.table, chosen, given.only.split(",") if given.only else OPERATIONS)
    if given.measured:
        given.measured.write_text("".join(json.dumps(case.record) + "\n" for case in cases))
    page = "\n".join(report(cases, machine, [*WAYS, *[TUNED] * bool(given.table)])) + "\n"
    given.output.write_text(page) if given.output else print(page)
    return 0


def measured(machine: MachineCosts, table: Path | None, chosen: mpi.Mpi, operations: list[str]) -> list[Case]:
    cases = []
    job = Job(JobSpec("omnes", chosen, with_omnes=True, variables={"OMNES_TABLE": tables.OFF}), RANKS, bind=True)
    try:
        job.wait_until_ready()
        for operation in operations:
            for size in (0,) if operation == "barrier" else SIZES:
                cases.append(compare(operation, size, machine, table, job))
    finally:
        job.close()
    return cases


def compare(operation: str, size: int, machine: MachineCosts, table: Path | None, job: Job) -> Case:
    """All that differ take a few turns; the choices and the fastest of the others then many, and these alone count."""
    cell = Cell(operation, size, "double")
    named = choices(operation, size, machine, table)
    by_schedule = {schedule(operation, name, size): name for name in reversed([*named, *others(operation, size)])}
    lanes = [Forced(job, operation, name) for name in by_schedule.values()]
    for lane in lanes:
        lane.ask(f"check {cell}", ANSWER_SECONDS)
    samples, _ = take_turns([(cell, lane) for lane in lanes], 0)
    at_first = {lane.choice: of.median for lane, of in zip(lanes, samples)}
    final = tuple(by_schedule[schedule(operation, name, size)] for name in named)
    rest = sorted((name for name in at_first if name not in final), key=at_first.__getitem__)
    alive = [lane for lane in lanes if lane.choice in (*final, *rest[:BEST])]
    samples, _ = take_turns([(cell, lane) for lane in alive], SECONDS * len(alive), 0.015)
    return Case(operation, size, final, {lane.choice: of for lane, of in zip(alive, samples)}, at_first)


def choices(operation: str, size: int, machine: MachineCosts, table: Path | None) -> tuple[str, ...]:
    def choose(table: str = tables.OFF, **how: object) -> str:
        return _core.choose(operation, RANKS, size, size // 8, table=table, **how)["text"]

    variable = f"OMNES_{operation.upper()}"
    os.environ[variable] = "model"
    by_model = [choose(machine=text) for text in (machine.text, _core.default_machine())]
    del os.environ[variable]
    by_tables = [choose(model=False)] + ([choose(str(table), model=False, host=True)] if table else [])
    return (*by_model, *by_tables)


def others(operation: str, size: int) -> list[str]:
    able = []
    composed = {a["name"] for a in _core.catalogue() if a["operation"] == operation and a["hierarchical"]}
    for name in _core.candidates(operation, size):
        parsed = _core.parse_choice(operation, name)
        if parsed["algorithm"] not in composed and not _core.why_not(
            operation, parsed["algorithm"], RANKS, parsed["radix"]
        ):
            able.append(name)
    return able


def schedule(operation: str, name: str, size: int) -> str:
    """What tells algorithms apart: on two ranks many are the same under several names."""
    if name == tables.HOST:
        return name
    parsed = _core.parse_choice(operation, name)
    ops = [_core.schedule_ops(operation, parsed["algorithm"], RANKS, rank, 0, parsed["radix"]) for rank in range(RANKS)]
    return json.dumps([parsed["segment"] if parsed["segment"] < size else 0, ops])


def report(cases: list[Case], machine: MachineCosts, ways: list[str]) -> list[str]:
    return [
        "# Choices against the fastest algorithm",
        "",
        f"{datetime.date.today()}: {machine.facts['source']}; {RANKS} ranks, {len(cases)} cells of "
        f"{len({case.operation for case in cases})} operations at sizes that the machine file does not know. "
        "Made by `bench/run choices`: all algorithms that differ on two ranks took turns in one job; the choices and "
        f"the {BEST} fastest others were then measured anew. Where a difference to the best may be noise (95 %), it "
        "counts as none.",
        "",
        *table_of(cases, ways),
    ]


def table_of(cases: list[Case], ways: list[str]) -> list[str]:
    """How near the best each way is, and the cells where one of them is not."""
    lines = [
        f"| | within {NEAR} of the best | within {CLOSE} | within {FAR} | worst | geometric mean |",
        "|---|---|---|---|---|---|",
    ]
    for way, name in enumerate(ways):
        losses = [case.loss(way) for case in cases]
        mean = units.geometric_mean(losses)
        shares = [f"{100 * sum(loss <= most for loss in losses) / len(losses):.0f} %" for most in (NEAR, CLOSE, FAR)]
        lines.append(f"| {name} | {' | '.join(shares)} | {max(losses):.2f} | {mean:.3f} |")
    lines += ["", f"Cells in which one of them is not within {NEAR}:", ""]
    lines += [f"| operation | bytes | best | µs | {' | '.join(ways)} |", "|---|---|---|---|" + "---|" * len(ways)]
    for case in cases:
        losses = [case.loss(way) for way in range(len(ways))]
        if max(losses) > NEAR:
            shown = [f"{loss:.2f} {name}" if loss > 1 else "" for loss, name in zip(losses, case.choices)]
            lines.append(
                f"| {case.operation} | {case.bytes} | {case.best} | "
                f"{units.format_us(case.samples[case.best].median)} | {' | '.join(shown)} |"
            )
    return lines


if __name__ == "__main__":
    sys.exit(main())
