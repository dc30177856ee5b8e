"""The table that comes of a session: rules where the present choice was beaten, with comments that say by how much.

Neighbouring sizes with the same choice share a rule, which serves what lies between them as well. No rule reaches a
size where another choice was measured to be better, or the present one to be as good.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from omnes import _core
from omnes.models.prediction import Ranks
from omnes.terminal.units import format_bytes, format_seconds
from omnes.tuning.cases import SIZE_UNKNOWN
from omnes.tuning.search import LEAST_GAIN, Found


@dataclass(frozen=True)
class Rule:
    ranks: Ranks
    operation: str
    choice: str
    found: tuple[Found, ...]  # ascending in size

    def conditions(self, shared_heap: bool | None) -> dict[str, str]:
        with_sizes = self.found[0].case.knows_size
        low, high = self.found[0].case.low, self.found[-1].case.high
        nodes = str(self.ranks.nodes)
        where = {"one_node": "true"} if self.ranks.nodes == 1 else {"min_nodes": nodes, "max_nodes": nodes}
        return {
            "min_ranks": str(self.ranks.count),
            "max_ranks": str(self.ranks.count),
            **where,
            **({} if shared_heap is None else {"shared_heap": str(shared_heap).lower()}),
            **({"min_bytes": _quoted_bytes(low)} if with_sizes and low else {}),
            **({"max_bytes": _quoted_bytes(high)} if with_sizes else {}),
        }


def rules(found: Sequence[Found]) -> list[Rule]:
    made: list[Rule] = []
    for _, group in groupby(_in_order(found), lambda one: (one.case.operation, one.case.ranks)):
        of_group = list(group)
        for_all = of_group[0].case.operation in SIZE_UNKNOWN
        choices = _one_for_all(of_group) if for_all else [one.choice for one in of_group]
        for choice, run in groupby(zip(choices, of_group), lambda pair: pair[0]):
            cases = tuple(one for _, one in run)
            if any(one.default != choice for one in cases):
                made.append(Rule(cases[0].case.ranks, cases[0].case.operation, choice, cases))
    return made


def _one_for_all(found: Sequence[Found]) -> list[str]:
    """One choice for all sizes, as no rule may ask for them: such as wins somewhere and loses nowhere."""
    default = found[0].default
    for winner in dict.fromkeys(one.choice for one in found if one.choice != default):
        if all(one.choice == winner or _no_slower(one, winner) for one in found):
            return [winner] * len(found)
    return [default] * len(found)


def _no_slower(found: Found, name: str) -> bool:
    seconds = found.seconds
    return name in seconds and seconds[name] <= seconds[found.default]


def toml(found: Sequence[Found], heads: Iterable[str], shared_heap: bool | None, settings: Sequence[str] = ()) -> str:
    """The file: what it was measured on, the rules by operation, settings, and all medians for omnes explain.

    shared_heap: what they hold for; None: for either, as where buffers are adopted.
    """
    made = rules(found)
    lines = [f"# {head}" for head in heads]
    lines += [
        "#",
        f"# A rule stands where something was at least {LEAST_GAIN:.0%} faster than the compiled-in choice, with 95 %",
        "# confidence, in two jobs. The rest is left to the compiled-in table.",
    ]
    for operation in dict.fromkeys(one.case.operation for one in _in_order(found)):
        of_operation = [rule for rule in made if rule.operation == operation]
        if not of_operation:
            lines += ["", f"# {operation}: nothing beats the compiled-in choice."]
            continue
        lines += ["", f"{operation} = ["]
        for rule in of_operation:
            lines += [f"  # {_gain(one)}" for one in rule.found if one.choice == rule.choice and one.confirmed]
            conditions = ", ".join(f"{name} = {value}" for name, value in rule.conditions(shared_heap).items())
            lines.append(f'  {{ {conditions}, use = "{rule.choice}" }},')
        lines.append("]")
    lines += settings
    lines += ["", "# Medians in seconds, for omnes explain; they drive no choice.", "[measured]"]
    for operation, group in groupby(_in_order(found), lambda one: one.case.operation):
        lines += [f"{operation} = [", *(f"  {_measured(one)}," for one in group), "]"]
    return "\n".join(lines) + "\n"


def head(machine: dict[str, Any], mpi: str, groups: Iterable[str], settings: dict[str, str]) -> Iterator[str]:
    yield f"Tuned by omnes tune {_core.__version__}, {datetime.date.today()}."
    yield f"{machine['name']}: {machine['processor']}, {machine['cores']} cores, {machine['system']}"
    yield "; ".join([mpi, *groups])
    if settings:
        yield f"with {' '.join(f'{name}={value}' for name, value in sorted(settings.items()))}"


def _gain(found: Found) -> str:
    least, median = found.gain
    size = f"{format_bytes(found.case.bytes)} B: " if found.case.operation != "barrier" else ""
    times = {name: of.median for name, of in found.confirmed.items()}
    return (
        f"{size}{format_seconds(times[found.choice])}, {found.default} {format_seconds(times[found.default])}: "
        f"{median:.0%} faster (at least {least:.0%})"
    )


def _measured(found: Found) -> str:
    case = found.case
    seconds = ", ".join(
        f'"{name}" = {value:.3e}' for name, value in sorted(found.seconds.items(), key=lambda at: at[1])
    )
    return (
        f"{{ ranks = {case.ranks.count}, nodes = {case.ranks.nodes}, bytes = {case.bytes}, seconds = {{ {seconds} }} }}"
    )


def _in_order(found: Sequence[Found]) -> list[Found]:
    """By operation, in MPI's order, ranks, and size."""
    order = {name: place for place, name in enumerate(_core.operations())}

    def place(one: Found) -> tuple[int, ...]:
        case = one.case
        return order[case.operation], case.ranks.nodes, case.ranks.count, case.bytes

    return sorted(found, key=place)


def _quoted_bytes(count: int) -> str:
    text = format_bytes(count)
    return text if text.isdigit() else f'"{text}"'
