"""The results page of a campaign, in Markdown, with heat maps beside it: written from the records alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lab import heatmap
from omnes.bench import limits, variety
from omnes.bench.against_peers import BEST, Table, Times, best_peer, ratios, tables
from omnes.bench.parts import SIZELESS
from omnes.bench.records import Records
from omnes.bench.timing import Cell
from omnes.terminal import files
from omnes.terminal.units import format_bytes, format_us, geometric_mean

_HOW = """\
All jobs of a table are alive at once and take turns in every cell; results are checked before timing. Times are µs per
call, until its slowest rank has returned: the median over batches of the mean. A ratio is a peer's time over omnes',
the median of the ratios within rounds: above 1, omnes is faster; "ratio" is that of the fastest peer of the cell. Of
several launches of all jobs it is the median of theirs. Every sample is in the JSON lines beside this page.

The limit of a cell is what cannot be left out: one hand-over of a cache line, and one copy of what the busiest rank
receives, by one core, at the speed of the level of memory that holds its buffers; where ranks share a core, one after
the other. Where they do, and each rank waits for data of all others, it is, instead of the hand-over, the time that as
many processes need to learn that all have come, when they do nothing else than look and yield. The limit knows nothing
of MPI, of reductions, or of how buffers become visible to others.
"""
_VARIETY = {
    "random": "each call has other counts, from one element to as many as fit into the size, and another root",
    "sparse": "the same, but three of four counts are 0",
    "new-type": "a datatype is made and freed for each call",
    "dup": "each call has a communicator of its own, duplicated before and freed after it",
    "split": "the same with MPI_Comm_split, all ranks in one",
    "64-communicators": "calls take turns on so many",
    "beside-pending": "while a nonblocking allreduce of 8 bytes is pending, which is waited for after it",
    "nothing": "no call on that communicator",
    "twenty_calls": "of 14 operations and three types, 4 bytes to 4 KiB, one after the other; the time is that of all",
    "touching-256K": "between calls, outside the time, the program writes to each cache line of so much memory",
    "touching-4M": "the same with more",
    "together": "all ranks come at once; the time is from the last arrival to the last return",
    "uniform": "the same, but ranks are late by random times, at most so many times what the call takes on the fastest"
    " peer when all come together",
    "one-late": "one rank is late by all of that, at random",
    "half-late": "half of the ranks are",
    "sorted": "each rank is later than the one before it, by equal steps",
    "inside": "the time is what a rank spends in the call, on average, and in which it could have computed",
}


def write(records: Records, about: Sequence[str] = (), after: Sequence[str] = ()) -> list[Path]:
    """Writes NAME.md and the heat maps of each table beside NAME.jsonl; says which files. What else the page is to say:
    about the machine, and after the tables."""
    page = files.beside(records.path, ".md")
    all_tables = list(tables(records))
    cells = [cell for table in all_tables for cell in table.cells]
    names = {name for table in all_tables for name in (*table.peers, *table.omnes)}
    lines = [*_head(records, names, cells, about)]
    for table in all_tables:
        lines += ["", f"## {table.title}", "", *_about(records, table)]
        for ours in table.omnes:
            lines += ["", f"![ratio of each cell]({heatmap.path(table, ours, page).name})"]
        lines += ["", *_means(table), *_late(table), "", *_slower(table), "", *_limits(table), "", *_times(table)]
    page.write_text("\n".join([*lines, *after]) + "\n")
    return [page, *(heatmap.draw(table, ours, page) for table in all_tables for ours in table.omnes)]


def _head(records: Records, seen: Collection[str], cells: Sequence[Cell], about: Sequence[str]) -> Iterator[str]:
    machine = records.campaign["machine"]
    caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    yield f"# omnes and its peers on {machine['name']}, {records.campaign['begun'][:10]}"
    yield ""
    yield f"{machine['processor']}, {machine['cores']} cores, {machine['cpus']} CPUs; {caches}; memory"
    yield f"{machine['memory']}; {machine['system']}. Load at the start: {machine['load']:.2f}."
    yield from about
    yield ""
    yield _HOW
    rows = [
        [name, peer["why"], " ".join(f"`{variable}={value}`" for variable, value in peer["variables"].items())]
        for name, peer in records.campaign["peers"].items()
        if name in seen
    ]
    yield from _table(["peer", "why it is here", "settings"], rows)
    varied = " ".join(dict.fromkeys(cell.variety for cell in cells)).split()
    if varied:
        yield ""
        yield "What is made for a call is made and freed within the time. In the names of cells:"
        known = dict.fromkeys(name for word in varied for name in _VARIETY if f"-{name}-" in f"-{word}-")
        yield from (f"* {word}: {_VARIETY[word]}" for word in known)


def _about(records: Records, table: Table) -> Iterator[str]:
    plan = records.campaign["plans"][table.plan]
    stable = sum(times.stable for times in table.cells.values())
    seconds = sum(times.seconds for times in table.cells.values())
    launches = max(len(times.launches) for times in table.cells.values())
    yield plan["why"]
    yield (
        f"{len(table.cells)} cells in {seconds / 60:.0f} minutes{f', {launches} launches' if launches > 1 else ''}; in "
        f"{stable} of them the medians are known to {plan['width']:.0%} with 95 % confidence, the others ended at "
        f"their limit of {plan['seconds']:g} s."
    )
    failed = {(name, what): cell for cell, times in table.cells.items() for name, what in sorted(times.failed.items())}
    for (name, what), cell in failed.items():
        yield f"* {name} failed, last at {_label(cell)}: {what}"


def _means(table: Table) -> Iterator[str]:
    """For each omnes: geometric means of its ratios to the best peer and to each, of all cells and by operation, or by
    what varies."""
    for ours in table.omnes:
        by_peer = {peer: ratios(table, peer, ours) for peer in (BEST, *table.peers)}
        rows = []
        for kind in dict.fromkeys(_kind(cell) for cell in table.cells):
            of_kind = [[value for cell, value in by.items() if _kind(cell) == kind] for by in by_peer.values()]
            rows.append([kind, *(_number(geometric_mean(values)) for values in of_kind)])
        rows.append(["**all**", *(f"**{_number(geometric_mean(by.values()))}**" for by in by_peer.values())])
        yield f"Geometric means of the ratios to {ours}:"
        yield ""
        heads = dict.fromkeys("calls" if cell.variety else "operation" for cell in table.cells)
        yield from _table([" or ".join(heads), *by_peer], rows)
        yield ""


def _late(table: Table) -> Iterator[str]:
    """What late ranks cost each job."""
    names = (*table.peers, *table.omnes)
    rows = []
    for arrivals in dict.fromkeys(cell.arrivals for cell in table.cells):
        together = variety.together(arrivals)
        if arrivals == together:
            continue
        pairs = [
            (times, table.cells.get(replace(cell, arrivals=together)))
            for cell, times in table.cells.items()
            if cell.arrivals == arrivals
        ]
        of_each = [
            [
                late / usual
                for times, before in pairs
                if before
                if (late := times.of(name)) and (usual := before.of(name))
            ]
            for name in names
        ]
        rows.append([arrivals, *(_number(geometric_mean(ratios)) for ratios in of_each)])
    if rows:
        yield ""
        yield "How many times what it takes when all ranks come together, in the geometric mean of the cells:"
        yield ""
        yield from _table(["arrivals", *names], rows)


def _slower(table: Table) -> Iterator[str]:
    rows = []
    for ours in table.omnes:
        beyond_noise = 0
        slower = {cell: value for cell, value in ratios(table, BEST, ours).items() if value < 1}
        for cell, value in sorted(slower.items(), key=lambda item: item[1]):
            times = table.cells[cell]
            best = best_peer(table, times)
            assert best is not None  # or there were no ratio
            low, high = times.between(best, ours)
            beyond_noise += high < 1
            both = [_us(times.of(name)) for name in (best, ours)]
            known = f"{low:.2f} to {high:.2f}"
            rows.append([_label(cell), ours, best, *both, f"{value:.2f}", known, _us(table.least(cell))])
        if slower:
            yield f"* {ours} is slower than the best peer in {len(slower)} cells, beyond noise in {beyond_noise}."
    if not rows:
        yield "No cell is slower than on the best peer."
        return
    yield ""
    yield "Beyond noise: in every launch the median ratio to the fastest peer of that very cell is below 1 with 95 %"
    yield "confidence."
    yield ""
    heads = ["slower cell", "omnes", "best peer", "its µs", "omnes µs", "ratio", "between", "limit µs"]
    yield from _table(heads, rows)


def _limits(table: Table) -> Iterator[str]:
    if table.limits:
        yield "What this machine needed just before:"
        yield ""
        yield from _table(["limit", ""], list(limits.rows(table.limits)))


def _times(table: Table) -> Iterator[str]:
    rows = []
    for cell, times in table.cells.items():
        best = best_peer(table, times)
        shown = {name: _time(times, name) for name in (*table.peers, *table.omnes)}
        if best:
            shown[best] = f"*{shown[best]}*"
        values = [_number(times.against(best, ours)) for ours in table.omnes]
        values += [_number(times.against(stock, ours)) for ours, stock in table.stock.items()]
        rows.append([_label(cell), *shown.values(), *values, _us(table.least(cell))])
    heads = ["cell", *table.peers, *table.omnes, *(f"ratio {ours}" for ours in table.omnes)]
    heads += [*(f"{stock} / {ours}" for ours, stock in table.stock.items()), "limit"]
    yield from _table(heads, rows)


def _kind(cell: Cell) -> str:
    return cell.variety or cell.operation


def _label(cell: Cell) -> str:
    """As short as it can be told: what is usual is not said."""
    size = [] if cell.operation in SIZELESS else [format_bytes(cell.bytes)]
    return " ".join([cell.operation, *size, *cell.unusual])


def _time(times: Times, name: str) -> str:
    return "failed" if times.of(name) is None and name in times.failed else _us(times.of(name))


def _us(seconds: float | None) -> str:
    return "-" if seconds is None else format_us(seconds)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
