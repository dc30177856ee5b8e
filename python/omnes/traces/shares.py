"""What a program's time consists of: collectives and the rest of MPI, by rank; each kind of call, its waiting for late
ranks and its moving of data; by communicator; where in the program.

Of collectives that block, the time is that of their calls. Others are listed with the time from start to end, during
which the program does something else: it is in no share; waiting for them is in MPI_Wait's.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from omnes import _core
from omnes.terminal.units import format_about, format_bytes, format_seconds, format_share
from omnes.traces import waiting
from omnes.traces.members import parse_members

_BLOCKING = "blocking"
_SHOWN = 8  # rows of communicators, call sites and late ranks
_PATIENCE = 30.0  # seconds, for addr2line


def of_ranks(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the report of all ranks says of it; nothing where they do not say when they began."""
    found = waiting.of_ranks(files)
    if found is None:
        return {}
    of_each = [_of_rank(one, found) for one in files if "begun" in one]
    walls = [one["seconds"] for one in of_each]
    return {
        "seconds": _spread(walls),
        "in_collectives": _spread([one["in_collectives"] / one["seconds"] for one in of_each if one["seconds"] > 0]),
        "in_mpi": _spread([one["in_mpi"] / one["seconds"] for one in of_each if one["seconds"] > 0]),
        "waiting": _spread([one["waiting"] / one["seconds"] for one in of_each if one["seconds"] > 0]),
        "share_cpus": any(one.get("shares_cpu", False) for one in files),
        "per_rank": of_each,
        "kinds": _kinds(files, found),
        "communicators": _communicators(files, found),
        "functions": _functions(files),
        "sites": _sites(files, found),
        "timeline": found.timeline,
        "clocks": found.clocks,
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"min": 0.0, "mean": 0.0, "max": 0.0}
    return {"min": min(values), "mean": sum(values) / len(values), "max": max(values)}


def _calls(one: Mapping[str, Any], found: waiting.Found) -> Iterator[tuple[dict[str, Any], str, float | None]]:
    """A rank's entries, with the communicator's members, and which part of the time is waiting, where that is known."""
    for entry in (*one["entries"], *one["passed"]):
        if entry["calls"] == 0:
            continue
        group = entry.get("group", -1)
        members = one["groups"][group] if group >= 0 else ""
        known = entry["form"] == _BLOCKING and members
        yield entry, members, found.share(one["rank"], (members, entry["operation"], entry["bytes"])) if known else None


def _of_rank(one: Mapping[str, Any], found: waiting.Found) -> dict[str, Any]:
    blocking = [(entry, share) for entry, _, share in _calls(one, found) if entry["form"] == _BLOCKING]
    collectives = sum(entry["seconds"] for entry, _ in blocking)
    calls, others = found.late[one["rank"]]
    return {
        "rank": one["rank"],
        "seconds": one["seconds"],
        "in_collectives": collectives,
        "in_mpi": collectives + sum(function["seconds"] for function in one["functions"]),
        "waiting": sum(entry["seconds"] * (share or 0.0) for entry, share in blocking),
        "last": calls,
        "others_wait": others,
    }


def _kinds(files: Sequence[Mapping[str, Any]], found: waiting.Found) -> list[dict[str, Any]]:
    """Of each operation, form and size class: calls and seconds of all ranks, and by rank the least and the most."""
    node = {one["rank"]: one.get("node", 0) for one in files}
    sums: dict[tuple[str, str, int, int, int], dict[int, list[float]]] = defaultdict(
        lambda: defaultdict(lambda: [0.0, 0.0, 0.0, 0.0, 0.0])
    )
    for one in files:
        if "begun" not in one:
            continue
        for entry, members, share in _calls(one, found):
            nodes = len({node.get(rank, 0) for rank in parse_members(members)}) if members else 1
            key = (entry["operation"], entry["form"], entry["size"], nodes, entry["bytes"])
            of_rank = sums[key][one["rank"]]
            seconds = entry["seconds"]
            known = 0.0 if share is None else seconds
            for i, more in enumerate((entry["calls"], entry["volume"], seconds, seconds * (share or 0.0), known)):
                of_rank[i] += more
    rows = []
    for (operation, form, size, nodes, low), by_rank in sums.items():
        calls, volume, seconds, waits, known = (sum(column) for column in zip(*by_rank.values()))
        rows.append(
            {
                "operation": operation,
                "form": form,
                "size": size,
                "nodes": nodes,
                "bytes": low,
                "mean_bytes": volume / calls,
                "ranks": len(by_rank),
                "calls": int(calls),
                "seconds": seconds,
                "seconds_by_rank": _spread([of_rank[2] for of_rank in by_rank.values()]),
                "waiting": waits if known > 0 else None,
                "waiting_by_rank": _spread([of_rank[3] for of_rank in by_rank.values()]) if known > 0 else None,
                "moving": seconds - waits if known > 0 else None,
            }
        )
    order = _core.operations()
    return sorted(rows, key=lambda row: (order.index(row["operation"]), row["form"], row["size"], row["bytes"]))


def _communicators(files: Sequence[Mapping[str, Any]], found: waiting.Found) -> list[dict[str, Any]]:
    """By members; those of one set of members are one. Blocking calls."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for one in files:
        if "begun" not in one:
            continue
        for entry, members, share in _calls(one, found):
            if entry["form"] == _BLOCKING:
                for i, more in enumerate((entry["calls"], entry["seconds"], entry["seconds"] * (share or 0.0))):
                    sums[members][i] += more
    rows = [
        {"members": members, "size": size, "calls": round(calls), "seconds": seconds, "waiting": waits}
        for members, (calls, seconds, waits) in sums.items()
        for size in [len(parse_members(members)) if members else 0]
    ]
    return sorted(rows, key=lambda row: -row["seconds"])


def _functions(files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for one in files:
        for function in one.get("functions", []):
            sums[function["function"]][0] += function["calls"]
            sums[function["function"]][1] += function["seconds"]
    rows = [{"function": f"MPI_{name}", "calls": calls, "seconds": seconds} for name, (calls, seconds) in sums.items()]
    return sorted(rows, key=lambda row: -row["seconds"])


# Where in the program.


def _sites(files: Sequence[Mapping[str, Any]], found: waiting.Found) -> list[dict[str, Any]]:
    sums: dict[tuple[str, int, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for one in files:
        for number, site in enumerate(one.get("sites", []), 1):
            place = site["offset"] if _is_relocated(site["object"]) else site["address"]
            of_site = sums[site["object"], place, site["symbol"]]
            for i, more in enumerate(found.sites.get((one["rank"], number), (0.0, 0.0, 0.0))):
                of_site[i] += more
    names = _names(sums)
    rows = [
        {
            "function": names.get((path, place), ("", ""))[0] or symbol or f"{Path(path).name}+{place:#x}",
            "line": names.get((path, place), ("", ""))[1],
            "object": path,
            "calls": round(calls),
            "seconds": seconds,
            "waiting": waits,
        }
        for (path, place, symbol), (calls, seconds, waits) in sums.items()
        if calls > 0
    ]
    return sorted(rows, key=lambda row: -row["seconds"])


def _is_relocated(path: str) -> bool:
    """A shared library, or a program that may lie anywhere: its addresses count from where it is loaded."""
    try:
        with open(path, "rb") as file:
            return file.read(18)[16:] != b"\x02\x00"  # e_type: ET_EXEC
    except OSError:
        return True


def _names(places: Mapping[tuple[str, int, str], Any]) -> dict[tuple[str, int], tuple[str, str]]:
    """The function and 'file:line' of each, by addr2line, if there is one, and what it was compiled with tells."""
    tool = shutil.which("addr2line")
    found: dict[tuple[str, int], tuple[str, str]] = {}
    if tool is None:
        return found
    for path in {path for path, _, _ in places}:
        wanted = [place for of, place, _ in places if of == path]
        words = [tool, "-f", "-C", "-e", path, *map(hex, wanted)]
        try:
            lines = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE).stdout.splitlines()
        except (OSError, subprocess.TimeoutExpired):
            continue
        for place, function, line in zip(wanted, lines[::2], lines[1::2]):
            known_line = "" if line.startswith("?") or line.endswith(("?", ":0")) else line.partition(" ")[0]
            found[path, place] = ("" if function.startswith("?") else function, known_line)
    return found


# What is shown, within 80 columns.


def answer(report: Mapping[str, Any]) -> list[str]:
    """Two lines: the shares of the time, and what that in collectives consists of."""
    wall = report["seconds"]["mean"]
    lines = [
        f"{format_share(report['in_collectives']['mean'])} of {format_seconds(wall)} in collectives"
        f" ({_range(report['in_collectives'])} by rank), {format_share(report['in_mpi']['mean'])} in MPI"
        f" ({_range(report['in_mpi'])})"
    ]
    collectives = report["in_collectives"]["mean"]
    if collectives > 0:
        waits = min(1.0, report["waiting"]["mean"] / collectives)
        lines.append(
            f"of the time in collectives {format_share(waits)} is waiting for late ranks,"
            f" {format_share(1 - waits)} moving data"
        )
    return lines


def late(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Ranks that others wait for, the one that costs most first."""
    return sorted((one for one in report["per_rank"] if one["others_wait"] > 0), key=lambda one: -one["others_wait"])


def show(report: Mapping[str, Any], console: Console) -> None:
    for line in answer(report):
        console.print(escape(line), highlight=False, soft_wrap=True)
    waits = sum(one["others_wait"] for one in report["per_rank"])
    if report["share_cpus"]:
        console.print("Ranks share CPUs: to move data they wait for a CPU, too", highlight=False)
    for one in late(report)[:3]:
        if one["others_wait"] >= 0.1 * waits:
            console.print(
                f"rank {one['rank']} was last in {one['last']:.0f} calls: others waited"
                f" {format_seconds(one['others_wait'])} for it, added up",
                highlight=False,
                soft_wrap=True,
            )
    _show_kinds(report, console)
    if len(report["communicators"]) > 1:
        _show_communicators(report, console)
    if report["sites"]:
        _show_sites(report, console)
    others = [f"{one['function']} {format_seconds(one['seconds'] / report['reports'])}" for one in report["functions"]]
    if others:
        console.print(f"Elsewhere in MPI, by rank: {', '.join(others[:_SHOWN])}", highlight=False, soft_wrap=True)
    if report["clocks"] > 0:
        console.print(f"Clocks of nodes are known to {format_seconds(report['clocks'])}", highlight=False)


def _table(*heads: str, title: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for at, head in enumerate(heads):
        table.add_column(head, justify="left" if at == 0 else "right", no_wrap=at > 0)
    return table


def _show_kinds(report: Mapping[str, Any], console: Console) -> None:
    heads = ("operation", "bytes", "calls", "time", "min", "max", "waiting", "moving")
    table = _table(*heads, title="Times of a rank")
    for row in sorted(report["kinds"], key=lambda one: -one["seconds"] / one["ranks"]):
        by_rank = row["seconds_by_rank"]
        split = [row["waiting"], row["moving"]]
        table.add_row(
            spoken(row["operation"], row["form"]),
            _bytes(row),
            f"{row['calls'] / row['ranks']:.0f}",
            *(format_seconds(value) for value in (by_rank["mean"], by_rank["min"], by_rank["max"])),
            *("-" if value is None else format_seconds(value / row["ranks"]) for value in split),
        )
    console.print(table)


def _bytes(row: Mapping[str, Any]) -> str:
    if row["bytes"] == 0 and row["mean_bytes"]:
        return f"~{format_about(row['mean_bytes'])}"
    return format_bytes(row["bytes"])


def _show_communicators(report: Mapping[str, Any], console: Console) -> None:
    table = _table("communicators of ranks", "size", "calls", "time", "waiting", title="By members, times of one")
    for row in report["communicators"][:_SHOWN]:
        of = max(row["size"], 1)
        members = row["members"] or "not known"
        times = (format_seconds(row[what] / of) for what in ("seconds", "waiting"))
        table.add_row(members[:36], str(row["size"] or "-"), f"{row['calls'] / of:.0f}", *times)
    console.print(table)


def _show_sites(report: Mapping[str, Any], console: Console) -> None:
    table = _table("call site", "calls", "time", "waiting", title="By call site; times of all ranks")
    for row in report["sites"][:_SHOWN]:
        where = f"{row['function']} {Path(row['line']).name}".strip()
        times = (format_seconds(row[what]) for what in ("seconds", "waiting"))
        table.add_row(escape(where[:48]), str(row["calls"]), *times)
    console.print(table)


def spoken(operation: str, form: str) -> str:
    """As MPI calls it, in small letters: allreduce, iallreduce, allreduce_init."""
    return {"nonblocking": f"i{operation}", "persistent": f"{operation}_init"}.get(form, operation)


def _range(spread: Mapping[str, float]) -> str:
    return f"{spread['min'] * 100:.0f} to {format_share(spread['max'])}"
