"""Predicted curves by size and by ranks, beside what was measured; and how far predictions are from measurements."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from omnes import _core
from omnes.algorithms import selection
from omnes.errors import OmnesError
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.reporting import charts, page
from omnes.reporting.charts import Series
from omnes.reporting.ratios import coloured
from omnes.terminal import files, progress
from omnes.terminal.units import format_bytes, format_us, percentile

_CHOSEN = "the table's choice"
SIZES = tuple(8 << i for i in range(20))  # to 4 MiB


@dataclass(frozen=True)
class Measured:
    """A line of a file of measurements: {"operation", "choice", "ranks", "bytes", "seconds"}; others are not read, but
    "predicted", seconds by whoever knows better what was timed."""

    operation: str
    choice: str
    ranks: int
    bytes: int
    seconds: float
    predicted: float | None = None


def read(path: Path) -> list[Measured]:
    found = []
    for number, line in enumerate(files.read(path).splitlines(), 1):
        try:
            record = json.loads(line)
            found.append(Measured(**{name: record[name] for name in Measured.__dataclass_fields__ if name in record}))
        except (ValueError, TypeError):
            wanted = ", ".join(list(Measured.__dataclass_fields__)[:-1])
            raise OmnesError(f"{path}, line {number} is no measurement: a JSON object with {wanted}") from None
        try:
            _core.parse_choice(found[-1].operation, found[-1].choice)
        except ValueError as fault:
            raise OmnesError(f"{path}, line {number}: {fault}") from None
    return found


def curves(
    machine: MachineCosts,
    operations: Sequence[str],
    by_size: Ranks,
    by_ranks: Sequence[Ranks],
    size: int,
    measured: Sequence[Measured],
    table: str,
) -> page.Section:
    """table: the file whose choices are marked; empty: the compiled-in one."""
    source = escape(f"{machine.facts['name']} ({machine.facts['source']})")
    body = [
        f"<p>Simulated schedules on the machine {source}. In colour: the algorithms that are the fastest somewhere; "
        "the broad band: what the decision table chooses. Keys below a chart pick a curve; dots are measurements.</p>"
    ]
    with progress.bar("predicting") as shown:
        task = shown.add_task("", total=len(operations))
        for operation in operations:
            shown.update(task, description=operation)
            mine = [one for one in measured if one.operation == operation]
            sizes = SIZES if operation != "barrier" else ()
            found = [
                _over_size(machine, operation, by_size, sizes, mine, table),
                _over_ranks(machine, operation, by_ranks, size if sizes else 0, mine, table),
            ]
            charts.colour_best(found)
            what = operation if operation == "barrier" else f"{operation} of {format_bytes(size)}"
            captions = (f"{operation} by size, {by_size}", f"{what} by ranks, {by_ranks[0].per_node} on a node")
            charts_ = [
                charts.chart(caption, series, axis, bytes_on_x="bytes" in axis)
                for caption, series, axis in zip(captions, found, ("bytes of one part", "ranks"))
                if series
            ]
            body.append(page.of_operation(operation, f'<div class="pair">{"".join(charts_)}</div>'))
            shown.update(task, advance=1)
    return page.Section("predictions", "Predicted and measured", "\n".join(body))


def _over_size(
    machine: MachineCosts,
    operation: str,
    ranks: Ranks,
    sizes: Sequence[int],
    measured: Sequence[Measured],
    table: str,
) -> list[Series]:
    mine = [one for one in measured if one.ranks == ranks.count and one.bytes > 0]
    series = []
    for name in dict.fromkeys([*_names(operation), *(one.choice for one in mine)]):
        if sizes and not prediction.why_not(operation, name, ranks.count):
            line = [(p["bytes"], p["seconds"]) for p in prediction.predict(operation, name, ranks, sizes, machine)]
            series.append(Series(name, line, sorted((one.bytes, one.seconds) for one in mine if one.choice == name)))
    if sizes:
        choice = [(size, _chosen(machine, operation, ranks, size, table)) for size in sizes]
        series.append(Series(_CHOSEN, choice, wide=True))
    return series


def _over_ranks(
    machine: MachineCosts,
    operation: str,
    groups: Sequence[Ranks],
    size: int,
    measured: Sequence[Measured],
    table: str,
) -> list[Series]:
    mine = [one for one in measured if one.bytes == size]
    series = []
    for name in _names(operation):
        able = [ranks for ranks in groups if not prediction.why_not(operation, name, ranks.count)]
        line = [(r.count, prediction.predict(operation, name, r, [size], machine)[0]["seconds"]) for r in able]
        series.append(Series(name, line, sorted((one.ranks, one.seconds) for one in mine if one.choice == name)))
    choice = [(ranks.count, _chosen(machine, operation, ranks, size, table)) for ranks in groups if ranks.count > 1]
    return [*series, Series(_CHOSEN, choice, wide=True)]


def _chosen(machine: MachineCosts, operation: str, ranks: Ranks, size: int, table: str) -> float:
    """Predicted seconds of what the table chooses."""
    text = selection.chosen(table, operation, ranks.count, size, ranks.per_node)["text"]
    return prediction.predict(operation, text, ranks, [size], machine)[0]["seconds"]


def _names(operation: str) -> list[str]:
    return [a["name"] for a in _core.catalogue() if a["operation"] == operation]


def errors(machine: MachineCosts, measured: Sequence[Measured]) -> page.Section:
    """Of each measurement: predicted / measured."""
    factors = {one: _predicted(machine, one) / one.seconds for one in measured}
    away = [abs(factor - 1) for factor in factors.values()]
    worst = max(factors, key=lambda one: abs(math.log(factors[one])))
    body = [
        page.facts(
            [
                ("measurements", str(len(factors))),
                ("median error", f"{percentile(away, 0.5):.0%}"),
                ("90th percentile of errors", f"{percentile(away, 0.9):.0%}"),
                ("within a factor of 2", f"{sum(0.5 <= f <= 2 for f in factors.values()) / len(factors):.0%}"),
                (
                    f"worst factor: {worst.operation}/{worst.choice}, {format_bytes(worst.bytes)}",
                    f"{factors[worst]:.2f}×",
                ),
            ]
        )
    ]
    series: list[Series] = []
    for operation in dict.fromkeys(one.operation for one in factors):
        dots = [(max(one.bytes, 1), factor) for one, factor in factors.items() if one.operation == operation]
        series.append(
            Series(operation, dots=sorted(dots), colour=len(series) if len(series) < charts.COLOURS else None)
        )
    body.append(charts.chart("Predicted / measured, by size", series, "bytes of one part", "", flat=True))
    body += [page.of_operation(one.name, _factors(one.name, factors)) for one in series]
    return page.Section("errors", "Errors of prediction", "\n".join(body))


def _predicted(machine: MachineCosts, one: Measured) -> float:
    if one.predicted is not None:
        return one.predicted
    ranks = Ranks(one.ranks, machine.facts["ranks_per_node"])
    return prediction.predict(one.operation, one.choice, ranks, [one.bytes], machine)[0]["seconds"]


def _factors(operation: str, factors: dict[Measured, float]) -> str:
    mine = {one: factor for one, factor in factors.items() if one.operation == operation}
    sizes = sorted({one.bytes for one in mine})
    rows = []
    for choice, ranks in dict.fromkeys((one.choice, one.ranks) for one in mine):
        at = {one.bytes: (one, f) for one, f in mine.items() if (one.choice, one.ranks) == (choice, ranks)}
        cells = [_factor(*at[size]) if size in at else coloured(None) for size in sizes]
        rows.append([f"{choice}, {ranks} ranks", *cells])
    heads = ["", *(format_bytes(size) for size in sizes)]
    return page.table("predicted / measured: above 1, predicted too slow", heads, rows, "map")


def _factor(one: Measured, factor: float) -> str:
    hover = f"measured {format_us(one.seconds)} µs"
    return coloured(factor).replace("<td ", f'<td title="{hover}" ', 1)
