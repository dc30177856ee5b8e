"""What is simulated: cells of operation, bytes, ranks and placement; who contends; the results, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from omnes import _core
from omnes.errors import OmnesError, from_core
from omnes.simulation import smpi
from omnes.terminal import files

# Parts that a rank sends and receives: none, one, one for each rank; at the root only.
SHAPES = {
    "barrier": ("", ""), "bcast": ("", "1"), "reduce": ("1", "1r"), "allreduce": ("1", "1"), "gather": ("1", "pr"),
    "scatter": ("pr", "1"), "allgather": ("1", "p"), "alltoall": ("p", "p"), "reduce_scatter": ("p", "1"),
    "reduce_scatter_block": ("p", "1"), "scan": ("1", "1"), "exscan": ("1", "1"),
}  # fmt: skip
# Of what omnes has SimGrid do when communicators are made: other algorithms first find out who shares a host, by p * p
# messages.
_QUICK_SELECTOR, _QUICK = "ompi", ("smpi/bcast:binomial_tree", "smpi/barrier:ompi_tree")
_TEMPORARY = 2  # times what the program's own buffers take: with what algorithms keep, and what is under way


@dataclass(frozen=True)
class SimulatedCell:
    operation: str
    bytes: int
    ranks: int
    ppn: int
    placement: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> SimulatedCell:
        """That of a line of results. Raises KeyError, TypeError."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})

    def memory(self) -> int:
        """Bytes that the simulation needs for data, roughly."""
        parts = sum(
            (self.ranks if "p" in side else 1) * (1 if "r" in side else self.ranks)
            for side in SHAPES[self.operation]
            if side
        )
        return parts * self.bytes * _TEMPORARY


@dataclass(frozen=True)
class Contender:
    """omnes as it chooses, omnes with one algorithm, a selector of SimGrid's, or one of its named algorithms."""

    name: str
    with_omnes: bool
    selector: str = "mpich"
    variables: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()  # that it takes part in; empty: all

    def takes_part_in(self, cells: Sequence[SimulatedCell]) -> list[SimulatedCell]:
        return [cell for cell in cells if not self.operations or cell.operation in self.operations]


def contenders(
    operations: Sequence[str], ranks: int, selectors: Sequence[str], algorithms: Sequence[str], named: Sequence[str],
    remaps: Sequence[str] = (),
) -> list[Contender]:  # fmt: skip
    """remaps: of OMNES_REMAP, with which everything on omnes contends once more."""
    result = [Contender("omnes", True, _QUICK_SELECTOR, settings=_QUICK)]
    for wanted in algorithms:
        for operation in operations:
            for choice in _choices(operation, wanted, ranks):
                variables: tuple[tuple[str, str], ...] = ((f"OMNES_{operation.upper()}", choice),)
                result.append(replace(result[0], name=f"omnes {choice}", variables=variables, operations=(operation,)))
    for one in list(result):
        for remap in remaps:
            variables = (*one.variables, ("OMNES_REMAP", remap))
            result.append(replace(one, name=f"{one.name} remap={remap}", variables=variables))
    result += [Contender(selector, False, selector) for selector in selectors]
    for name in named:
        settings = tuple(f"smpi/{operation.replace('_block', '')}:{name}" for operation in operations)
        result.append(Contender(f"simgrid {name}", False, settings=settings))
    return result


def _choices(operation: str, wanted: str, ranks: int) -> Iterator[str]:
    """What `wanted` stands for: all, ALGORITHM[:PARAMETERS], or either for one operation as OPERATION/..."""
    home, slash, rest = wanted.rpartition("/")
    if slash and home != operation:
        return
    if rest == "all":
        for algorithm in _core.catalogue():
            if algorithm["operation"] == operation and not _core.why_not(operation, algorithm["name"], ranks):
                yield algorithm["name"]
        return
    with from_core():
        choice = _core.parse_choice(operation, rest)
    reason = _core.why_not(operation, choice["algorithm"], ranks, choice["radix"])
    if reason:
        raise OmnesError(f"{operation}/{rest} cannot do this: {reason}")
    yield choice["text"]


@dataclass
class Results:
    """Seconds of each cell and contender, or why there are none; kept in a file of JSON lines, if one is given.

    What another build of omnes has left there does not count.
    """

    platform: str  # and settings
    path: Path | None = None
    library: str = ""  # which build of omnes
    of: dict[tuple[SimulatedCell, str], float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path or not self.path.exists():
            return
        for number, line in enumerate(files.read(self.path).splitlines(), 1):
            try:
                record = json.loads(line)
                cell = SimulatedCell.of(record)
                if record["platform"] == self.platform and record.get("library", self.library) == self.library:
                    self.of[cell, record["contender"]] = record["seconds"] if "seconds" in record else record["failed"]
            except (ValueError, KeyError, TypeError):
                raise OmnesError(f"{self.path}, line {number} is no result of omnes simulate") from None

    def add(self, cell: SimulatedCell, contender: str, outcome: float | str) -> None:
        self.of[cell, contender] = outcome
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(self.record(cell, contender)) + "\n")

    def record(self, cell: SimulatedCell, contender: str) -> dict[str, object]:
        outcome = self.of[cell, contender]
        kind = "failed" if isinstance(outcome, str) else "seconds"
        of_omnes = {"library": self.library} if contender.split()[0] == "omnes" else {}
        return {"platform": self.platform, **asdict(cell), "contender": contender, **of_omnes, kind: outcome}

    def seconds(self, cell: SimulatedCell, contender: str) -> float | None:
        outcome = self.of.get((cell, contender))
        return outcome if isinstance(outcome, float) else None


def simulate(
    program: Path, machine: smpi.Machine, contender: Contender, cells: Sequence[SimulatedCell], results: Results,
    patience: float, settings: Sequence[str] = (),
) -> Iterator[SimulatedCell]:  # fmt: skip
    """Runs the cells that have no result yet, in one simulation as long as nothing fails; yields each that is done."""
    todo = [cell for cell in cells if (cell, contender.name) not in results.of]
    while todo:
        words = [f"{cell.operation}:{cell.bytes}" for cell in todo]
        try:
            for line in smpi.run(
                program, words, machine, contender.selector, dict(contender.variables),
                [*contender.settings, *settings], patience,
            ):  # fmt: skip
                answer = _parse(line)
                if answer is None or not todo:
                    continue
                cell = todo.pop(0)
                results.add(cell, contender.name, answer)
                yield cell
            if todo:
                raise OmnesError("the simulation ended early")
        except OmnesError as failure:
            if not todo:
                return
            cell = todo.pop(0)
            results.add(cell, contender.name, failure.format_message())
            yield cell


def _parse(line: str) -> float | str | None:
    """Seconds, or what was wrong; None for what others print."""
    if not line.startswith('{"operation"'):
        return None
    answer = json.loads(line)
    return float(answer["seconds"]) if "seconds" in answer else f"wrong {answer['wrong']}"
