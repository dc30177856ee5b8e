"""The ranks' statistics files are merged into one report."""

from __future__ import annotations

import io
import json

from rich.console import Console

from omnes.terminal import output
from omnes.traces import statistics


def rank_file(folder, rank, size, entries, passed=(), notes=()):
    report = {
        "rank": rank,
        "size": size,
        "library": "ompi",
        "entries": entries,
        "passed": list(passed),
        "notes": list(notes),
    }
    (folder / f"rank-{rank}.json").write_text(json.dumps(report))


def ran(operation, count, algorithm, calls, seconds):
    return {"operation": operation, "bytes": count, "algorithm": algorithm, "calls": calls, "seconds": seconds}


def shown(report):
    console = Console(width=120, record=True, file=io.StringIO())
    statistics.show(report, console)
    return console.export_text()


def rows(report, operation):
    """The table rows of an operation, without calls and times."""
    cells = [[cell.strip() for cell in line.split("│")[1:-4]] for line in shown(report).splitlines()]
    return [row for row in cells if row[:1] == [operation]]


def test_ranks_are_summed(tmp_path):
    rank_file(tmp_path, 0, 2, [ran("bcast", 8, "linear", 10, 0.001), ran("barrier", 0, "linear", 1, 0.5)])
    passed = {"operation": "bcast", "reason": "intercommunicator", "calls": 3, "seconds": 0.25}
    rank_file(tmp_path, 1, 2, [ran("bcast", 8, "linear", 10, 0.003)], [passed], ["no single copy"])
    report = statistics.merge(tmp_path)
    assert [(e["operation"], e["ranks"], e["calls"], e["seconds"]) for e in report["entries"]] == [
        ("barrier", 1, 1, 0.5),
        ("bcast", 2, 20, 0.004),
    ]
    assert report["passed"] == [{**passed, "form": "blocking", "ranks": 1}]
    text = shown(report)
    assert "200 µs" in text and "intercommunicator" in text and "note: no single copy" in text
    assert "left no report" not in text
    assert "omnes ran 87.5% of 24 calls; passed to the host MPI: intercommunicator (3)" in text


def test_forms_are_told_apart(tmp_path):
    started = {**ran("bcast", 8, "linear", 5, 0.001), "form": "persistent"}
    pending = {"operation": "bcast", "form": "nonblocking", "reason": "intercommunicator", "calls": 1, "seconds": 0.0}
    rank_file(tmp_path, 0, 1, [started, ran("bcast", 8, "linear", 4, 0.001)], [pending])
    report = statistics.merge(tmp_path)
    assert [(entry["form"], entry["calls"]) for entry in report["entries"]] == [("blocking", 4), ("persistent", 5)]
    assert statistics.calls_by_form(report) == {"blocking": (4, 4), "nonblocking": (0, 1), "persistent": (5, 5)}
    assert statistics.summary(report) == (
        "omnes ran 90% of 10 calls (blocking all 4 calls; nonblocking 0% of 1 calls; persistent all 5 calls); "
        "passed to the host MPI: intercommunicator (1)"
    )
    assert rows(report, "bcast") == [
        ["bcast", "", "8", "linear"],
        ["bcast", "persistent", "8", "linear"],
        ["bcast", "nonblocking", "intercommunicator"],
    ]


def test_only_blocking_calls_need_no_form(tmp_path):
    passed = {"operation": "bcast", "form": "blocking", "reason": "intercommunicator", "calls": 1, "seconds": 0.0}
    rank_file(tmp_path, 0, 1, [ran("bcast", 8, "linear", 4, 0.001)], [passed])
    report = statistics.merge(tmp_path)
    assert rows(report, "bcast") == [["bcast", "8", "linear"], ["bcast", "intercommunicator"]]
    assert "form" not in shown(report)


def test_operations_and_forms_are_in_their_own_order(tmp_path):
    entries = [
        {**ran(operation, count, "linear", 1, 0.001), "form": form}
        for operation in ("scan", "allgather", "bcast")
        for form in ("persistent", "nonblocking", "blocking")
        for count in (64, 8)
    ]
    passed = [
        {"operation": operation, "form": "persistent", "reason": reason, "calls": 1, "seconds": 0.0}
        for operation in ("scan", "barrier")
        for reason in ("invalid root", "intercommunicator")
    ]
    rank_file(tmp_path, 0, 1, entries, passed)
    report = statistics.merge(tmp_path)
    assert [(entry["operation"], entry["form"], entry["bytes"]) for entry in report["entries"]] == [
        (operation, form, count)
        for operation in ("bcast", "allgather", "scan")
        for form in statistics.FORMS
        for count in (8, 64)
    ]
    assert [(entry["operation"], entry["reason"]) for entry in report["passed"]] == [
        (operation, reason) for operation in ("barrier", "scan") for reason in ("intercommunicator", "invalid root")
    ]


def test_a_share_is_100_percent_only_when_it_is_all(tmp_path):
    passed = {"operation": "bcast", "reason": "intercommunicator", "calls": 1, "seconds": 0.0}
    rank_file(tmp_path, 0, 1, [ran("bcast", 8, "linear", 99999, 0.1)], [passed])
    assert "99.9% of 100000 calls" in statistics.summary(statistics.merge(tmp_path))
    rank_file(tmp_path, 0, 1, [ran("bcast", 8, "linear", 100000, 0.1)])
    assert statistics.summary(statistics.merge(tmp_path)) == "omnes ran all 100000 calls"
    rank_file(tmp_path, 0, 1, [])
    assert statistics.summary(statistics.merge(tmp_path)) == "No collective calls"


def test_bytes_of_unequal_parts_are_the_mean_of_the_ranks_own(tmp_path):
    """No rank knows all parts of an alltoallv, so ranks agree on 0 bytes; but each knows its own."""
    for rank, volume in ((0, 3 * 4000), (1, 3 * 2000)):
        known = {**ran("allgatherv", 1024, "ring", 3, 0.001), "volume": 3 * 1500, "fastest": 0.0001}
        own = {**ran("alltoallv", 0, "linear", 3, 0.001), "volume": volume, "fastest": 0.0001}
        none = {**ran("barrier", 0, "linear", 3, 0.001), "volume": 0, "fastest": 0.0001}
        rank_file(tmp_path, rank, 2, [known, own, none])
    report = statistics.merge(tmp_path)
    assert rows(report, "alltoallv") == [["alltoallv", "~2.93K", "linear"]]
    assert rows(report, "allgatherv") == [["allgatherv", "1K", "ring"]]
    assert rows(report, "barrier") == [["barrier", "0", "linear"]]
    assert "~: parts differ" in shown(report)


def test_names_are_whole_in_a_file(tmp_path):
    long = "hierarchical:node=recursive_doubling,switch=rabenseifner,top=circulant remap=reorder" * 3
    rank_file(tmp_path, 0, 1, [ran("reduce_scatter_block", 8, long, 1, 0.001)])
    file = io.StringIO()
    statistics.show(statistics.merge(tmp_path), output.console(file=file))
    assert long in file.getvalue() and "…" not in file.getvalue()


def test_missing_ranks_are_told(tmp_path):
    rank_file(tmp_path, 3, 8, [ran("bcast", 8, "linear", 10, 0.001)])
    assert "7 of 8 ranks left no report" in shown(statistics.merge(tmp_path))


def test_nothing_to_merge(tmp_path):
    assert statistics.merge(tmp_path) is None
