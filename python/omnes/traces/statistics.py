"""Merges the ranks' statistics files into one report and shows it.

Each rank writes DIR/rank-<world rank>.json when it finalises MPI: the first rank of its node, what omnes ran
("entries"), what it passed to the host MPI ("passed"), on which levels of the machine the ranks lie apart ("levels",
and why not on others, "left_out"; alike on all ranks), and what else is worth knowing ("notes"). A library that was
preloaded into a program of another family has run nothing, and says of which ("wrong_family"). An entry says its
form: blocking (where it says nothing), nonblocking, or persistent, of which every start counts; the ranks and nodes of
its communicators; and the bytes of a part, rounded down to a power of two; 0 where parts differ and no rank knows all.
"volume" is the exact bytes of a part, added up over the calls: of unequal parts the mean of those that this rank has.
Ranks may differ in calls, times and volume: the report sums them up, the tables show means. Both follow MPI's order of
operations, and tell forms apart behind it. What the time consists of is shares.py's to say.

A profile is such a report, with the program's words, for omnes tune and omnes map. For the latter entries also say
their root and group, an index into "groups": the members' ranks in the world ("0-7", "0-56:8"), in their order.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from omnes import _core
from omnes.errors import OmnesError
from omnes.launching import libraries
from omnes.terminal import files
from omnes.terminal.units import format_about, format_bytes, format_seconds
from omnes.traces import shares

FORMS = ("blocking", "nonblocking", "persistent")
_ABOUT = "~"
_OFF = "OMNES_OFF"  # why all calls were passed on
PROFILE = {"format": "omnes profile", "version": 1}


def merge(folder: Path) -> dict[str, Any] | None:
    """The report of all ranks that left a file; None when none did."""
    # The names of programs in it may be any bytes.
    ranks = [one for file in sorted(folder.glob("rank-*.json")) if (one := _of_rank(file)) is not None]
    if not ranks:
        return None
    return {
        "library": ranks[0]["library"],
        "ranks": ranks[0]["size"],
        "reports": len(ranks),
        "nodes": len({rank.get("node") for rank in ranks}),
        "levels": ranks[0].get("levels", []),
        "left_out": ranks[0].get("left_out", []),
        "wrong_family": next((rank["wrong_family"] for rank in ranks if "wrong_family" in rank), None),
        "entries": _sum(ranks, "entries", ("operation", "form", "size", "nodes", "bytes", "algorithm")),
        "called": _called(ranks),
        "passed": _sum(ranks, "passed", ("operation", "form", "reason")),
        "adopted": _adopted(ranks),
        "notes": sorted({note for rank in ranks for note in rank["notes"]}),
        **shares.of_ranks(ranks),
    }


def _of_rank(file: Path) -> dict[str, Any] | None:
    """None where it is not whole: the rank was killed, or the disk is full."""
    try:
        found = json.loads(file.read_text("utf-8", "replace"))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _sum(ranks: list[dict[str, Any]], section: str, key_names: tuple[str, ...]) -> list[dict[str, Any]]:
    by_rank: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for at, rank in enumerate(ranks):
        for entry in rank[section]:
            of_all = {"form": FORMS[0], "size": rank["size"], "nodes": 1, **entry}
            of_ranks = by_rank.setdefault(tuple(of_all[name] for name in key_names), {})
            of_ranks[at] = _joined(of_ranks[at], entry) if at in of_ranks else entry
    found = {key: list(of_ranks.values()) for key, of_ranks in by_rank.items()}
    return sorted(({**dict(zip(key_names, key)), **_total(of_ranks)} for key, of_ranks in found.items()), key=_place)


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two entries of a rank that differ in what does not count, such as the root."""
    sums: dict[str, Any] = {name: one[name] + other[name] for name in ("calls", "seconds", "volume") if name in one}
    fastest = {"fastest": min(one["fastest"], other["fastest"])} if "fastest" in one else {}
    return {**one, **sums, **fastest}


def _adopted(ranks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What OMNES_HEAP=auto did with buffers, of all ranks; None where it is not set, or none could do it."""
    of_ranks = [rank["adopted"] for rank in ranks if "adopted" in rank]
    return {name: sum(one[name] for one in of_ranks) for name in of_ranks[0]} if of_ranks else None


def _called(ranks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Who called what, for omnes map: by communicator and root; calls of all members, and their mean bytes."""
    found: dict[tuple[str, str, str, int], list[int]] = {}
    for rank in ranks:
        for entry in rank["entries"]:
            if entry.get("group", -1) >= 0:
                members = rank["groups"][entry["group"]]
                key = (entry["operation"], entry["algorithm"], members, entry["root"])
                sums = found.setdefault(key, [0, 0])
                sums[0] += entry["calls"]
                sums[1] += entry["volume"]
    names = ("operation", "algorithm", "members", "root")
    return [
        {**dict(zip(names, key)), "calls": calls, "mean_bytes": volume / calls}
        for key, (calls, volume) in sorted(found.items())
    ]


def _total(of_ranks: list[dict[str, Any]]) -> dict[str, Any]:
    """Calls and seconds of all ranks, and what their differences tell of waiting for each other.

    waiting: seconds beyond those of the rank that spent least, which always comes last. beyond_fastest: seconds beyond
    what all calls would take if they were as fast as the fastest; it also has what ranks wait by turns, and all noise.
    """
    calls = sum(entry["calls"] for entry in of_ranks)
    seconds = sum(entry["seconds"] for entry in of_ranks)
    total = {"ranks": len(of_ranks), "calls": calls, "seconds": seconds}
    if "model" in of_ranks[0]:  # why it has chosen this
        total["model"] = of_ranks[0]["model"]
    if not all("volume" in entry for entry in of_ranks):
        return total
    fastest = min((entry["fastest"] for entry in of_ranks if entry["fastest"] > 0), default=0.0)
    return {
        **total,
        "mean_bytes": sum(entry["volume"] for entry in of_ranks) / max(calls, 1),
        "waiting": seconds - len(of_ranks) * min(entry["seconds"] for entry in of_ranks),
        "beyond_fastest": max(0.0, seconds - calls * fastest),
    }


def load_profile(path: Path) -> dict[str, Any]:
    """What omnes run --profile wrote."""
    try:
        profile = json.loads(files.read(path))
    except ValueError as fault:
        raise OmnesError(f"cannot read the profile {path}: {fault}") from None
    if not isinstance(profile, dict) or any(profile.get(key) != value for key, value in PROFILE.items()):
        raise OmnesError(f"{path} is no profile of version {PROFILE['version']}: omnes run --profile FILE writes one")
    return profile


def _place(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Where an entry belongs: operations and forms in their own order, the rest as it compares."""
    operations = _core.operations()
    name = entry["operation"]
    rest = [entry[field] for field in ("size", "nodes", "bytes", "algorithm", "reason") if field in entry]
    known = operations.index(name) if name in operations else len(operations)
    return known, name, FORMS.index(entry["form"]), *rest


def calls_by_form(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """For each form that was called: the calls that omnes ran, and all; over all ranks."""
    counts: dict[str, tuple[int, int]] = {}
    for form in FORMS:
        served, passed = (
            sum(entry["calls"] for entry in report[section] if entry["form"] == form)
            for section in ("entries", "passed")
        )
        if served + passed:
            counts[form] = served, served + passed
    return counts


def summary(report: dict[str, Any]) -> str:
    """One line: the share of calls that omnes ran, of each form where there are several, and why not all."""
    counts = calls_by_form(report)
    if report["wrong_family"] and not counts:
        return wrong_family(report)
    if not counts:
        return "No collective calls"
    served, calls = (sum(column) for column in zip(*counts.values()))
    line = f"omnes ran {_share(served, calls)}"
    if len(counts) > 1:
        line += f" ({'; '.join(f'{form} {_share(*of_form)}' for form, of_form in counts.items())})"
    reasons: dict[str, int] = {}
    for entry in report["passed"]:
        reasons[entry["reason"]] = reasons.get(entry["reason"], 0) + entry["calls"]
    if served == 0 and set(reasons) == {_OFF}:
        return f"omnes was switched off: the MPI ran all {calls} calls"
    why = [f"{reason} ({number})" for reason, number in sorted(reasons.items(), key=lambda item: -item[1])]
    return f"{line}; passed to the host MPI: {', '.join(why)}" if why else line


def adopted(of_all: dict[str, Any]) -> str:
    """One line: how many buffers of all ranks, what it cost, what it has saved."""
    line = "OMNES_HEAP=auto adopted no buffers"
    if of_all["buffers"]:
        line = f"OMNES_HEAP=auto adopted {of_all['buffers']} buffers of {format_about(of_all['bytes'])} in all"
        line += f", found again by {of_all['uses']} calls"
    line += f"; it took {format_seconds(of_all['seconds'])}"
    if of_all["uses"]:
        line += f", copies saved would have taken about {format_seconds(of_all['saved'])}"
    return line + (f"; {of_all['refused']} times it could not" if of_all["refused"] else "")


def wrong_family(report: dict[str, Any]) -> str:
    loaded, needed = (libraries.FAMILIES[report[which]] for which in ("library", "wrong_family"))
    return f"omnes ran nothing: its library for {loaded} was preloaded, but the program uses {needed}"


def _share(served: int, calls: int) -> str:
    """Never 100% unless it is all."""
    percent = 100 * served / calls
    return f"{'all' if served == calls else f'{min(percent, 99.9):.3g}% of'} {calls} calls"


def show(report: dict[str, Any], console: Console) -> None:
    """Tables of what ran and of what was passed on, and the share of each. Blocking calls need not say their form."""
    if "kinds" in report:
        shares.show(report, console)
    nodes = f" on {report['nodes']} nodes" if report["nodes"] > 1 else ""
    title = f"Collectives of each of {report['ranks']} ranks{nodes} ({report['library']})"
    other_forms = any(entry["form"] != FORMS[0] for section in ("entries", "passed") for entry in report[section])
    forms = ["form"] if other_forms else []
    groups = {(entry["size"], entry["nodes"]) for entry in report["entries"]}
    ranks = ["ranks"] if len(groups) > 1 else []

    def what(entry: dict[str, Any]) -> list[str]:
        form = "" if entry["form"] == FORMS[0] else entry["form"]
        return [entry["operation"], form] if other_forms else [entry["operation"]]

    if report["entries"]:
        table = Table("operation", *forms, *ranks, "bytes", "algorithm", title=f"{title}: run by omnes")
        _columns(table)
        for entry in report["entries"]:
            on = f" on {entry['nodes']} nodes" if entry["nodes"] > 1 else ""
            group = [f"{entry['size']}{on}"] if ranks else []
            by_model = f"\n  by the model: {entry['model']}" if "model" in entry else ""
            algorithm = entry["algorithm"] + by_model
            table.add_row(*what(entry), *group, _bytes(entry), algorithm, *_times(entry))
        if any(_bytes(entry).startswith(_ABOUT) for entry in report["entries"]):
            table.caption = f"{_ABOUT}: parts differ, and no rank knows all; the mean of the ranks' own"
        console.print(table)
    else:
        console.print(f"{title}: none ran by omnes")
    if report["passed"]:
        table = Table("operation", *forms, "why", title="Passed to the host MPI")
        _columns(table)
        for entry in report["passed"]:
            table.add_row(*what(entry), entry["reason"], *_times(entry))
        console.print(table)
    console.print(escape(summary(report)))
    if report["levels"]:
        levels = ", ".join(f"{level['level']} ({level['units']})" for level in report["levels"])
        console.print(f"Levels of the machine, and units of each: {levels}")
    if (of_all := report.get("adopted")) and of_all["buffers"] + of_all["refused"] > 0:
        console.print(adopted(of_all), highlight=False)
    for note in report["notes"]:
        console.print(f"note: {escape(note)}")
    if report["reports"] < report["ranks"]:
        missing = report["ranks"] - report["reports"]
        why = "they ended without MPI_Finalize, or ran where this folder is not shared"
        console.print(f"[yellow]{missing} of {report['ranks']} ranks left no report: {why}[/]")


def _bytes(entry: dict[str, Any]) -> str:
    """Of a part. Where none is known to all ranks, each still knows its own."""
    if entry["bytes"] == 0 and entry.get("mean_bytes"):
        return f"{_ABOUT}{format_about(entry['mean_bytes'])}"
    return format_bytes(entry["bytes"])


def _columns(table: Table) -> None:
    for name in ("calls", "mean", "total"):
        table.add_column(name, justify="right")


def _times(entry: dict[str, Any]) -> tuple[str, str, str]:
    mean = entry["seconds"] / entry["calls"] if entry["calls"] else 0.0
    per_rank = entry["calls"] / entry["ranks"]
    calls = f"{per_rank:.0f}" if per_rank == int(per_rank) else f"{per_rank:.1f}"
    return calls, format_seconds(mean), format_seconds(entry["seconds"] / entry["ranks"])
