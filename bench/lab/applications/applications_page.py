"""The page of a campaign over real programs, in Markdown, from its records and the programs' descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.applications.description import Description, Figure
from lab.applications.measuring import WALL, Key, Measured, Records
from lab.applications.running import HEAP, NOT_ADOPTING, OMNES, STOCK
from omnes.bench.confidence import LEAST, Known, known, ratios
from omnes.terminal import files
from omnes.terminal.units import format_about, geometric_mean

_HOW = f"""\
Programs as Debian packages them, or built from their own source: the stock MPI, omnes preloaded (`{OMNES}`), and omnes
with `OMNES_HEAP=alloc_mem` (`{NOT_ADOPTING}`) or `OMNES_HEAP=shared` (`{HEAP}`). They run in turn, once in each round.
A ratio compares two runs of one round: above 1, omnes is faster; it is the median, with the interval that
holds it with 95 % confidence,
**bold** where 1 is outside. With fewer than {LEAST} rounds there is no such interval, and the least and the
greatest ratio stand there, in parentheses. A figure is the program's own; wall time is from the launch to the end of
the job. All runs passed the program's checks, many of which compare numbers with the stock MPI's.

Ranks that have a core each are bound to it. Where ranks share cores, Open MPI yields by itself, and MPICH is told to,
on both sides. Each rank has one thread."""
_MAX_OPERATIONS = 4
_WAYS = (OMNES, NOT_ADOPTING, HEAP)
_WALL = Figure(WALL, "")


def write(records: Records, programs: Sequence[Description]) -> Path:
    page = files.beside(records.path, ".md")
    page.write_text("\n".join(lines(records, programs)) + "\n")
    return page


def lines(records: Records, programs: Sequence[Description]) -> Iterator[str]:
    machine = records.campaign["machine"]
    caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    yield f"# Real programs on {machine['name']}, {records.campaign['begun'][:10]}"
    yield ""
    yield f"{machine['processor']}, {machine['cores']} cores, {machine['cpus']} CPUs; {caches}; memory"
    yield f"{machine['memory']}; {machine['system']}. Load at the start: {machine['load']:.2f}."
    yield "Made by `bench/run applications`."
    yield ""
    yield _HOW
    of = {program.name: program for program in programs}
    cases = {key: measured for key, measured in sorted(records.cases.items(), key=_place) if key.program in of}
    ways = [way for way in _WAYS if any(way in (*case.rounds, *case.failed) for case in cases.values())]
    yield from ("", "## All programs", "", *_overview(cases, of, ways), "", *_means(cases, of, ways))
    for name in dict.fromkeys(key.program for key in cases):
        yield from ("", f"## {name}", "", " ".join(of[name].why.split()), "")
        yield from _program({key: measured for key, measured in cases.items() if key.program == name}, of[name], ways)


def _place(item: tuple[Key, Measured]) -> tuple[str, str, int]:
    key = item[0]
    return key.program, key.mpi, key.ranks


def _overview(cases: Mapping[Key, Measured], of: Mapping[str, Description], ways: Sequence[str]) -> Iterator[str]:
    rows = []
    for key, measured in cases.items():
        first = of[key.program].figures[0]
        rounds = measured.done((STOCK, *ways))
        row = [key.program, key.mpi, str(key.ranks), _share(measured.profile), str(rounds)]
        rows.append(row + [_ratio(measured, way, figure) for way in ways for figure in (first, _WALL)])
    heads = ["program", "MPI", "ranks", "in collectives", "rounds"]
    heads += [f"{way}, {what}" for way in ways for what in ("its own figure", "wall time")]
    yield from _table(heads, rows)


def _means(cases: Mapping[Key, Measured], of: Mapping[str, Description], ways: Sequence[str]) -> Iterator[str]:
    """Geometric means over programs, by MPI and ranks."""
    rows = []
    for mpi, ranks in sorted({(key.mpi, key.ranks) for key in cases}):
        row = [mpi, str(ranks)]
        count = 0
        for way in ways:
            for wall in (False, True):
                found = [
                    median.median
                    for key, measured in cases.items()
                    if (key.mpi, key.ranks) == (mpi, ranks)
                    and (median := _known(measured, way, _WALL if wall else of[key.program].figures[0]))
                    and median.sure
                ]
                count = max(count, len(found))
                row.append(f"{geometric_mean(found):.3f}" if found else "-")
        rows.append([*row[:2], str(count), *row[2:]])
    yield f"Geometric means of these ratios, of cases with {LEAST} rounds or more:"
    yield ""
    heads = [f"{way}, {what}" for way in ways for what in ("its own figure", "wall time")]
    yield from _table(["MPI", "ranks", "programs", *heads], rows)


def _program(cases: Mapping[Key, Measured], program: Description, ways: Sequence[str]) -> Iterator[str]:
    rows = []
    for key, measured in cases.items():
        for figure in (*program.figures, _WALL):
            values = [_median(measured, way, figure) for way in (STOCK, *ways)]
            both = [_ratio(measured, way, figure) for way in ways]
            rows.append([key.mpi, str(key.ranks), f"{figure.name}, {figure.unit}", *values, *both])
    yield from _table(["MPI", "ranks", "figure", STOCK, *ways, *(f"ratio {way}" for way in ways)], rows)
    yield ""
    for key, measured in cases.items():
        if measured.profile:
            yield f"* {key.mpi}, {key.ranks} ranks: {where_time_goes(measured.profile)}"
        for way, what in measured.failed.items():
            yield f"* {key.mpi}, {key.ranks} ranks, {way} failed: {what}"


def where_time_goes(profile: Mapping[str, Any]) -> str:
    """In words."""
    share = profile["in_collectives"] / profile["seconds"] if profile["seconds"] else 0.0
    parts = [
        f"each rank spent {profile['in_collectives']:.3g} s of {profile['seconds']:.3g} s in collectives ({share:.0%})"
    ]
    if profile["in_collectives"] > 0:
        waiting = profile["waiting"] / profile["in_collectives"]
        parts[0] += f", {min(1.0, waiting):.0%} of that beyond the rank that waited least"
    told = [
        f"{name} {of['seconds']:.3g} s in {of['calls']:.0f} calls"
        + (f" of {format_about(of['bytes'] / of['calls'])} bytes in the mean" if of["bytes"] and of["calls"] else "")
        for name, of in list(profile["operations"].items())[:_MAX_OPERATIONS]
    ]
    if told:
        parts.append(", ".join(told))
    if profile["passed"]:
        calls = profile["passed"] + profile["served"]
        parts.append(f"left to the MPI: {profile['passed'] / calls:.2%} of the calls ({'; '.join(profile['reasons'])})")
    return "; ".join(parts) + "."


def _share(profile: Mapping[str, Any]) -> str:
    return f"{profile['in_collectives'] / profile['seconds']:.0%}" if profile else "-"


def _known(measured: Measured, way: str, figure: Figure) -> Known | None:
    values = ratios(*measured.both(way, figure.name), figure.better)
    return known(values) if values else None


def _ratio(measured: Measured, way: str, figure: Figure) -> str:
    if way in measured.failed or STOCK in measured.failed:
        return "failed"
    found = _known(measured, way, figure)
    if found is None:
        return "-"
    if not found.sure:
        return f"{found.median:.3f} ({found.low:.3f} to {found.high:.3f})"
    text = f"{found.median:.3f}"
    return f"{f'**{text}**' if found.differs_from(1) else text} [{found.low:.3f}, {found.high:.3f}]"


def _median(measured: Measured, way: str, figure: Figure) -> str:
    values = [of[figure.name] for of in measured.rounds.get(way, {}).values()]
    return f"{known(values).median:.4g}" if values else "-"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
