"""The side-by-side table of what was measured, and the same for scripts with every sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.table import Table

from omnes.bench.job import JobSpec
from omnes.bench.parts import SIZELESS
from omnes.bench.timing import Cell, Samples, ratio
from omnes.terminal.units import format_bytes, format_us

Results = Mapping[Cell, Mapping[str, Samples]]

_NOT_OFFERED = "[dim]-[/]"
CARRIES = 1.5  # how many times its lower end the upper end of a ratio's confidence interval may be
_DIFFERS = 0.05  # of a ratio and the quotient of the medians: more than rounding
_RANGES = "x to y: the times are spread too widely for a ratio; with 95 % confidence it lies there"
_MARKED = (
    "*: the median of the rounds' ratios, in which what slows both jobs cancels; the quotient of the medians differs"
)


class Labels:
    """The first columns of a table, which say an operation and a size only where they change."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._operation = ""
        self._size: tuple[str, str] | None = None

    def new_operation(self, cell: Cell) -> bool:
        return bool(self._operation) and cell.operation != self._operation

    def row(self, cell: Cell) -> list[str]:
        operation = "" if cell.operation == self._operation else f"{self._prefix}{cell.operation}"
        here = (cell.operation, size(cell))
        words = [operation, "" if here == self._size else size(cell)]
        self._operation, self._size = cell.operation, here
        return words


def by_mpi(specs: Sequence[JobSpec]) -> Iterator[tuple[str, list[JobSpec]]]:
    """The jobs of each MPI: one table each, because one for all would be wider than any terminal."""
    for mpi in dict.fromkeys(spec.mpi for spec in specs):
        yield mpi.name, [spec for spec in specs if spec.mpi == mpi]


def table(specs: Sequence[JobSpec], results: Results, title: str) -> Table:
    """Operation, size, µs of every job with half the spread of its middle half, and the ratio of each compared pair.

    Where forms were compared: also which form, and after each job how many times faster that is than the blocking call.
    """
    compared = [spec for spec in specs if spec.baseline]
    with_forms = len({cell.form for cell in results}) > 1
    pairs = dict.fromkeys(f"{str(spec.baseline).replace(f' {spec.mpi.name}', '')} / {spec.label}" for spec in compared)
    ratios = f"ratio: {', '.join(pairs)}"
    out = Table(
        "operation",
        "size",
        title=title,
        caption=f"µs per call, medians; gain: blocking / this form; {ratios}"
        if with_forms
        else f"µs per call: median ± half the middle half's width; {ratios}",
    )
    if with_forms:
        out.add_column("form", no_wrap=True)
    for spec in specs:
        out.add_column(f"{spec.label} µs", justify="right")
        if with_forms:
            out.add_column("gain", justify="right")
    for _ in compared:
        out.add_column("ratio", justify="right")
    labels = Labels()
    shown = Ratios()
    for cell, samples in results.items():
        if labels.new_operation(cell):
            out.add_section()
        row = labels.row(cell) + ([cell.form] if with_forms else [])
        for spec in specs:
            row.append(_time(samples.get(spec.name), with_spread=not with_forms))
            if with_forms:
                row.append(shown.text(_blocking(cell, spec, results), samples.get(spec.name)))
        for spec in compared:
            row.append(shown.text(samples.get(spec.baseline or ""), samples.get(spec.name)))
        out.add_row(*row)
    out.caption = "\n".join([str(out.caption), *shown.explained])
    return out


class Ratios:
    """Ratios as tables show them, and what is to be said below a table of those that are not what one expects."""

    def __init__(self) -> None:
        self._ranges = self._marked = False

    def text(self, slow: Samples | None, fast: Samples | None) -> str:
        if slow is None or fast is None:
            return _NOT_OFFERED
        found = ratio(slow, fast)
        low, high = found.interval
        if high > CARRIES * low:
            self._ranges = True
            return span(low, high)
        differs = abs(found.median * fast.median / slow.median - 1) > _DIFFERS
        self._marked |= differs
        return f"[{'green' if found.median >= 1 else 'red'}]{found.median:.2f}[/]" + "*" * differs

    @property
    def explained(self) -> list[str]:
        words = [_RANGES] * self._ranges
        return words + [_MARKED] * self._marked


def span(low: float, high: float) -> str:
    """In place of a ratio that the samples do not carry, where it may lie."""
    colour = "green" if low >= 1 else "red" if high <= 1 else "dim"
    ends = (f"{end:.2g}" if end < 100 else f"{end:.0f}" for end in (low, high))
    return f"[{colour}]{' to '.join(ends)}[/]"


def against_baseline(spec: JobSpec, samples: Mapping[str, Samples]) -> float | None:
    """How many times faster the job is than the one it is compared with; None where one of them lacks the form."""
    if spec.baseline is None or spec.baseline not in samples or spec.name not in samples:
        return None
    return ratio(samples[spec.baseline], samples[spec.name]).median


def gain(cell: Cell, spec: JobSpec, results: Results) -> float | None:
    """How many times faster the form is than the blocking call of the same job; None where it is that call."""
    blocking = _blocking(cell, spec, results)
    return ratio(blocking, results[cell][spec.name]).median if blocking and spec.name in results[cell] else None


def _blocking(cell: Cell, spec: JobSpec, results: Results) -> Samples | None:
    """The blocking call of the same job; None where the cell is that call."""
    return None if cell.form == "blocking" else results.get(replace(cell, form="blocking"), {}).get(spec.name)


def _time(samples: Samples | None, with_spread: bool) -> str:
    if samples is None:
        return _NOT_OFFERED
    spread = f" [dim]±{samples.spread:.0%}[/]" if with_spread else ""
    return f"{format_us(samples.median)}{spread}"


def size(cell: Cell) -> str:
    """Bytes and what is unusual about the cell, but its form."""
    words = [] if cell.operation in SIZELESS else [format_bytes(cell.bytes)]
    return " ".join(words + [word for word in cell.unusual if word != cell.form])


def as_data(specs: Sequence[JobSpec], results: Results) -> list[dict[str, Any]]:
    """The cells, in seconds."""
    cells = []
    for cell, samples in results.items():
        entry: dict[str, Any] = {**vars(cell), "jobs": {}, "ratios": {}, "ratio_intervals": {}}
        for spec in specs:
            if spec.name not in samples:
                continue
            of_job = samples[spec.name]
            entry["jobs"][spec.name] = {
                "median": of_job.median,
                "quartiles": of_job.quartiles,
                "interval": of_job.interval,
                "samples": of_job.values,
            }
            if (value := gain(cell, spec, results)) is not None:
                entry["jobs"][spec.name]["gain"] = value
            if (value := against_baseline(spec, samples)) is not None:
                entry["ratios"][spec.name] = value
                entry["ratio_intervals"][spec.name] = ratio(samples[spec.baseline or ""], of_job).interval
        cells.append(entry)
    return cells


def jobs_as_data(specs: Sequence[JobSpec], commands: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": spec.name,
            "mpi": spec.mpi.name,
            "omnes": spec.with_omnes,
            "variables": dict(spec.variables),
            "baseline": spec.baseline,
            "command": commands[spec.name],
        }
        for spec in specs
    ]
