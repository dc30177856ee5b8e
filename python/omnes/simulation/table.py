"""The results of `omnes simulate` as tables: omnes beside its rivals, and where it is behind."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from omnes import _core
from omnes.simulation.cells import Results, SimulatedCell
from omnes.simulation.platforms import host_numbers
from omnes.terminal.units import format_bytes, format_us, geometric_mean

BEHIND = 1.001  # times the best rival's time: simulated clocks round


def best(results: Results, cell: SimulatedCell, names: Sequence[str]) -> tuple[float, str] | None:
    """The shortest time among these contenders, and whose."""
    times = [(seconds, name) for name in names if (seconds := results.seconds(cell, name)) is not None]
    return min(times) if times else None


def ratio(results: Results, cell: SimulatedCell, rivals: Sequence[str]) -> float | None:
    """How many times as long as omnes the best rival takes."""
    own, rival = results.seconds(cell, "omnes"), best(results, cell, rivals)
    return rival[0] / own if own and rival else None


def chosen(cell: SimulatedCell) -> str:
    elements = cell.bytes // 4
    node = host_numbers(cell.ranks, cell.ppn, cell.placement)
    return _core.choose(cell.operation, cell.ranks, cell.bytes, elements, node=node, shared_memory=False)["text"]


def render(
    results: Results, cells: Sequence[SimulatedCell], names: Sequence[str], rivals: Sequence[str], title: str
) -> Table:
    table = Table("operation", "bytes", "omnes runs", title=f"{title}; µs")
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("ratio", justify="right")
    for cell in cells:
        if not any((cell, name) in results.of for name in names):
            continue
        fastest = best(results, cell, names)
        times = []
        for name in names:
            seconds = results.seconds(cell, name)
            text = "-" if (cell, name) not in results.of else "failed" if seconds is None else format_us(seconds)
            times.append(f"[bold]{text}[/]" if fastest and seconds == fastest[0] else text)
        factor = ratio(results, cell, rivals)
        colour = "" if factor is None else "red" if factor * BEHIND < 1 else "green"
        shown = "" if factor is None else f"[{colour}]{factor:.2f}[/]"
        table.add_row(cell.operation, format_bytes(cell.bytes), chosen(cell), *times, shown)
    return table


def summary(results: Results, cells: Sequence[SimulatedCell], rivals: Sequence[str]) -> str:
    factors = [factor for cell in cells if (factor := ratio(results, cell, rivals)) is not None]
    mean = geometric_mean(factors)
    if mean is None:
        return "no cell has results of omnes and of a selector"
    behind = sum(factor * BEHIND < 1 for factor in factors)
    return f"{len(factors)} cells: omnes slower than the best selector in {behind}; geometric mean of ratios {mean:.2f}"
