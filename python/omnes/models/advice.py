"""What omnes would gain a recorded program, and what it could not.

A profile of the stock MPI says how long its collectives move data, without waiting for late ranks. The model says how
long what omnes chooses would take for the same calls in a loop. In a program calls take longer than in a loop: caches
are cold, and what others have written comes late. Of what the stock MPI's calls took beyond the model, a part stays, as
measured in real programs; and omnes does at the first collective what an MPI does in MPI_Init. The difference is the
gain; waiting, computation and the rest of MPI stay. A profile of omnes says the same of itself: there the gain is that
of the algorithms that the model holds for the fastest over those that ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnes import _core
from omnes.algorithms import catalogue
from omnes.errors import OmnesError
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.terminal.units import format_share

MATTERS = 0.02  # of the time: less is lost in the noise of a program's own runs
_LONG = 64 * 1024  # bytes; from here on single copies pay off, which a shared heap makes shorter
_ELEMENT = 8  # bytes
# Of what calls of the stock MPI take beyond the model, how much they take on omnes, and the seconds of a program's
# first collective: nine programs of 2 ranks on a Zen 3, Open MPI 4.1.4. Long calls copy less.
_STAYS_SHORT, _STAYS_LONG, _STAYS_LONG_FROM = 0.2, 0.15, 4096  # bytes
_FIRST = 0.5e-3


@dataclass
class Kind:
    """Calls of one operation and size class. Seconds of a rank of the job, on average."""

    operation: str
    size: int
    nodes: int
    bytes: int
    calls: float
    moving: float
    choice: str
    predicted: float | None  # None: stays as it is, and `choice` says why

    @property
    def gain(self) -> float:
        """Of an operation with a root ranks leave one after the other: what takes longer than their mean is no loss."""
        if self.predicted is None:
            return 0.0
        saved = self.moving - self.predicted
        return max(saved, 0.0) if self.operation in catalogue.ROOTED else saved


@dataclass
class Advice:
    of_stock: bool
    share_cpus: bool  # then nothing is predicted
    wall: float
    collectives: float
    waiting: float
    kinds: list[Kind]
    hints: list[str] = field(default_factory=list)

    @property
    def gain(self) -> float:
        first = _FIRST if self.of_stock and any(kind.predicted is not None for kind in self.kinds) else 0.0
        return min(max(sum(kind.gain for kind in self.kinds) - first, 0.0), 0.999 * self.wall)

    @property
    def ratio(self) -> float:
        """How many times as fast the program would be."""
        return self.wall / (self.wall - self.gain) if self.wall > 0 else 1.0

    @property
    def moving(self) -> float:
        return max(self.collectives - self.waiting, 0.0)

    @property
    def share(self) -> float:
        """Of the time, in which collectives move data."""
        return self.moving / self.wall if self.wall > 0 else 0.0

    @property
    def share_then(self) -> float:
        """The same, of the time that the program would take."""
        return max(self.moving - self.gain, 0.0) / (self.wall - self.gain) if self.wall > 0 else 0.0


def advise(profile: Mapping[str, Any], machine: MachineCosts, place: Ranks | None) -> Advice:
    """`place`: of all ranks; None: as recorded."""
    of_stock = not profile["entries"]
    ranks = profile["reports"]
    algorithms = {
        (entry["operation"], entry["size"], entry["bytes"]): entry["algorithm"].partition(" ")[0]
        for entry in profile["entries"]
    }
    kinds: list[Kind] = []
    for row in profile["kinds"]:
        if row["form"] != "blocking" or row["size"] < 2 or row["moving"] is None:
            continue
        ran = algorithms.get((row["operation"], row["size"], row["bytes"]))
        kinds.append(_kind(row, ranks, machine, _place(row, place), ran))
        if profile["share_cpus"]:
            kinds[-1].predicted = None
    wall = profile["seconds"]["mean"]
    found = Advice(
        of_stock,
        profile["share_cpus"],
        wall,
        profile["in_collectives"]["mean"] * wall,
        profile["waiting"]["mean"] * wall,
        kinds,
    )
    found.hints = [] if found.share_cpus else _hints(found, profile, machine, place)
    return found


def _place(row: Mapping[str, Any], place: Ranks | None) -> Ranks:
    if place is None:
        return Ranks(row["size"], -(-row["size"] // row["nodes"]))
    return Ranks(row["size"], min(row["size"], place.per_node), place.cyclic)


def _kind(row: Mapping[str, Any], ranks: int, machine: MachineCosts, place: Ranks, ran: str | None) -> Kind:
    """`ran`: the algorithm of omnes; None: the stock MPI's."""
    operation = row["operation"]
    size = 0 if operation == "barrier" else max(_ELEMENT, round(row["mean_bytes"] / _ELEMENT) * _ELEMENT)
    calls = row["calls"] / ranks
    moving = row["moving"] / ranks

    def kind(choice: str, predicted: float | None) -> Kind:
        return Kind(operation, row["size"], place.nodes, size, calls, moving, choice, predicted)

    if operation.startswith("neighbor_"):
        return kind("its neighbors are not recorded", None)
    try:
        if ran is None:
            chosen = prediction.chosen(operation, place, size, machine=machine.text, host=True)["text"]
            if chosen == "host":
                return kind("left to the MPI", None)
            [of_choice] = prediction.predict(operation, chosen, place, [size], machine)
            in_a_loop = _mean(of_choice) * calls
            stays = _STAYS_SHORT if size < _STAYS_LONG_FROM else _STAYS_LONG
            return kind(chosen, in_a_loop + stays * max(0.0, moving - in_a_loop))
        able, _ = prediction.costs(operation, _candidates(operation, ran), place, [size], machine)
        if ran not in able:
            return kind(ran, None)
        best = min(able, key=lambda name: able[name][0])
        return kind(best, moving * able[best][0] / able[ran][0] if able[ran][0] > 0 else None)
    except OmnesError as fault:
        return kind(fault.message, None)


def _mean(of_choice: Mapping[str, Any]) -> float:
    """Seconds that a rank is in the call, on average: where there is a root, ranks leave one after the other."""
    finished = of_choice.get("finished")
    return sum(finished) / len(finished) if finished else of_choice["seconds"]


def _candidates(operation: str, ran: str) -> list[str]:
    return list(dict.fromkeys([ran, *(one["name"] for one in catalogue.select(operation))]))


def _hints(found: Advice, profile: Mapping[str, Any], machine: MachineCosts, place: Ranks | None) -> list[str]:
    """Settings and placements that may add to it; what is not predicted says how to find out."""
    hints = []
    program = " ".join(profile.get("program", ["./app"]))
    launch = f"-n {profile['ranks']}"
    long = sum(kind.moving for kind in found.kinds if kind.bytes >= _LONG and kind.nodes < kind.size)
    if long > MATTERS * found.wall:
        hints.append(
            f"messages of 64 KiB and more take {long / found.wall:.0%} of the time, and a shared heap saves copies:"
            f" omnes compare {launch} --variant heap:OMNES_HEAP=shared {program}"
        )
    if place is None and profile["nodes"] > 1:
        place = Ranks(profile["ranks"], -(-profile["ranks"] // profile["nodes"]))
    if place is not None and place.nodes > 1:
        other = Ranks(place.count, place.per_node, not place.cyclic)
        times = [_predicted(profile, machine, one) for one in (place, other)]
        if times[0] - times[1] > MATTERS * found.wall:
            order = "cyclic: one rank on each node by turns" if other.cyclic else "by node: neighbouring ranks together"
            hints.append(
                f"ranks placed {order} would gain another {(times[0] - times[1]) / found.wall:.0%}, as predicted"
            )
    if not found.of_stock and found.moving > MATTERS * found.wall:
        hints.append("the present choices, measured against others: omnes tune --from-profile PROFILE -o table.toml")
    return hints


def _predicted(profile: Mapping[str, Any], machine: MachineCosts, place: Ranks) -> float:
    """Seconds of a rank, of all calls that can be predicted."""
    kinds = (
        _kind(row, profile["reports"], machine, _place(row, place), None)
        for row in profile["kinds"]
        if row["form"] == "blocking" and row["size"] > 1 and row["moving"] is not None
    )
    return sum(kind.predicted or 0.0 for kind in kinds)


def answer(found: Advice) -> str:
    """In one line."""
    if found.share_cpus:
        return (
            "What omnes would gain cannot be predicted where ranks share CPUs; at most the"
            f" {format_share(found.share)} of the time in which collectives move data and wait for CPUs: omnes compare"
            " measures it"
        )
    shares = f"{format_share(found.share)} of the time, {format_share(found.share_then)} then"
    then = f"moving data in collectives takes {shares}"
    who = "omnes" if found.of_stock else "Other algorithms"
    if found.gain < MATTERS * found.wall:
        return f"{who} would gain nothing that shows, as predicted: {then}"
    return f"{who} would make the program {found.ratio:.2f}x as fast, as predicted: {then}"


def not_gained(found: Advice, late: Sequence[Mapping[str, Any]]) -> str:
    """What no collective can make faster."""
    if found.wall <= 0:
        return "The program took no time"
    waits, rest = found.waiting / found.wall, max(found.wall - found.collectives, 0.0) / found.wall
    most = f", most for rank {late[0]['rank']}" if late else ""
    return (
        f"Collectives cannot gain the {format_share(waits)} of the time that ranks wait for late ones{most}, and the"
        f" {format_share(rest)} of computation and the rest of MPI"
    )


def knows_machine(machine: MachineCosts) -> bool:
    """Whether its costs were measured: the compiled-in machine is one from the literature."""
    return machine.facts["name"] != _core.described_machine("")["name"] if machine.text else False
