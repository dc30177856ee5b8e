"""The ranks' statistics files are merged into one report."""

from __future__ import annotations

import io
import json

from rich.console import Console

from omnes import stats


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
    stats.show(report, console)
    return console.export_text()


def test_ranks_are_summed(tmp_path):
    rank_file(tmp_path, 0, 2, [ran("bcast", 8, "linear", 10, 0.001), ran("barrier", 0, "linear", 1, 0.5)])
    passed = {"operation": "bcast", "reason": "intercommunicator", "calls": 3, "seconds": 0.25}
    rank_file(tmp_path, 1, 2, [ran("bcast", 8, "linear", 10, 0.003)], [passed], ["no single copy"])
    report = stats.merge(tmp_path)
    assert [(e["operation"], e["ranks"], e["calls"], e["seconds"]) for e in report["entries"]] == [
        ("barrier", 1, 1, 0.5),
        ("bcast", 2, 20, 0.004),
    ]
    assert report["passed"] == [{**passed, "ranks": 1}]
    text = shown(report)
    assert "200 µs" in text and "intercommunicator" in text and "note: no single copy" in text
    assert "left no report" not in text


def test_missing_ranks_are_told(tmp_path):
    rank_file(tmp_path, 3, 8, [ran("bcast", 8, "linear", 10, 0.001)])
    assert "7 of 8 ranks left no report" in shown(stats.merge(tmp_path))


def test_nothing_to_merge(tmp_path):
    assert stats.merge(tmp_path) is None
