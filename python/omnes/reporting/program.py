"""A recorded program: what its time went into, by rank and as it went by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from omnes.errors import OmnesError
from omnes.reporting import page
from omnes.reporting.page import Section
from omnes.terminal.units import format_bytes, format_seconds, format_share
from omnes.traces import shares

_ROWS = 64  # ranks of a picture; of more, evenly chosen ones
_WIDTH, _ROW, _LEFT = 860, 14, 56  # of a picture
_KINDS = 24  # rows of the table
_WAITING, _MOVING, _OTHER = "var(--s1)", "var(--s0)", "var(--s4)"


def section(number: int, name: str, profile: Mapping[str, Any]) -> Section:
    if "timeline" not in profile:
        raise OmnesError(
            f"{name} does not say when ranks came to their calls: record it again with omnes run --profile"
        )
    title = "The program: " + " ".join(profile.get("program", [name])).encode("utf-8", "replace").decode()
    body = [
        *(f"<p>{escape(line)}.</p>" for line in shares.answer(profile)),
        page.facts(
            [
                ("of the time in collectives", format_share(profile["in_collectives"]["mean"])),
                ("of the time in MPI", format_share(profile["in_mpi"]["mean"])),
                ("of the time waiting for late ranks", format_share(profile["waiting"]["mean"])),
            ]
        ),
        _key(),
        _timeline(profile["timeline"]),
        _imbalance(profile["per_rank"]),
        _late(profile),
        _kinds(profile),
    ]
    return Section(f"program-{number}", title, "\n".join(body))


def _key() -> str:
    colours = [(_MOVING, "moving data"), (_WAITING, "waiting for late ranks"), (_OTHER, "the rest of MPI")]
    marks = "".join(
        f'<span style="margin-right:1.5rem"><i style="display:inline-block;width:.9em;height:.9em;background:{colour}">'
        f"</i> {what}</span>"
        for colour, what in (*colours, ("var(--rest)", "computation"))
    )
    return f"<p>{marks}</p>"


def _chosen(count: int) -> list[int]:
    return list(range(count)) if count <= _ROWS else sorted({i * count // _ROWS for i in range(_ROWS)})


def _picture(caption: str, rows: int, body: Sequence[str], below: str) -> str:
    height = rows * _ROW + 24
    return (
        f'<figure><figcaption>{escape(caption)}</figcaption><svg role="img" aria-label="{escape(caption)}"'
        f' viewBox="0 0 {_LEFT + _WIDTH + 8} {height}" style="width:100%;height:auto;font-size:10px;fill:var(--ink)">'
        f'{"".join(body)}<text x="{_LEFT}" y="{height - 8}">0</text>'
        f'<text x="{_LEFT + _WIDTH}" y="{height - 8}" text-anchor="end">{escape(below)}</text></svg></figure>'
    )


def _label(row: int, rank: int) -> str:
    return f'<text x="{_LEFT - 6}" y="{row * _ROW + _ROW - 4}" text-anchor="end">rank {rank}</text>'


def _bar(left: float, row: int, width: float, colour: str, tip: str) -> str:
    return (
        f'<rect x="{_LEFT + left:.1f}" y="{row * _ROW + 1}" width="{max(width, 0):.1f}" height="{_ROW - 2}"'
        f' style="fill:{colour}"><title>{escape(tip)}</title></rect>'
    )


def _timeline(timeline: Mapping[str, Any]) -> str:
    """Each rank's time from left to right: of each stretch the part in collectives, moving first, then waiting."""
    body = []
    chosen = _chosen(len(timeline["ranks"]))
    for row, at in enumerate(chosen):
        rank = timeline["ranks"][at]
        body += [_label(row, rank), _bar(0, row, _WIDTH, "var(--rest)", f"rank {rank}")]
        bins = len(timeline["moving"][at])
        width = _WIDTH / bins
        for i, (moving, waits) in enumerate(zip(timeline["moving"][at], timeline["waiting"][at])):
            if moving + waits > 0:
                tip = f"rank {rank}: moving {format_share(moving)}, waiting {format_share(waits)}"
                body.append(_bar(i * width, row, moving * width, _MOVING, tip))
                body.append(_bar((i + moving) * width, row, min(waits, 1 - moving) * width, _WAITING, tip))
    return _picture("Ranks in collectives, as time goes by", len(chosen), body, format_seconds(timeline["seconds"]))


def _imbalance(per_rank: Sequence[Mapping[str, Any]]) -> str:
    """Each rank's whole time: who computes longest waits least."""
    longest = max((one["seconds"] for one in per_rank), default=0.0) or 1.0
    ordered = sorted(per_rank, key=lambda one: one["rank"])
    chosen = [ordered[i] for i in _chosen(len(ordered))]
    body = []
    for row, one in enumerate(chosen):
        body += [_label(row, one["rank"])]
        moving = max(one["in_collectives"] - one["waiting"], 0.0)
        other = max(one["in_mpi"] - one["in_collectives"], 0.0)
        computes = max(one["seconds"] - one["in_mpi"], 0.0)
        left = 0.0
        for seconds, colour, what in (
            (computes, "var(--rest)", "computation"),
            (other, _OTHER, "the rest of MPI"),
            (moving, _MOVING, "moving data"),
            (one["waiting"], _WAITING, "waiting"),
        ):
            width = seconds / longest * _WIDTH
            body.append(_bar(left, row, width, colour, f"rank {one['rank']}: {what} {format_seconds(seconds)}"))
            left += width
    return _picture("What each rank's time goes into", len(chosen), body, format_seconds(longest))


def _late(profile: Mapping[str, Any]) -> str:
    rows = [
        [f"rank {one['rank']}", f"{one['last']:.0f}", format_seconds(one["others_wait"])]
        for one in shares.late(profile)[:10]
    ]
    return (
        page.table("Ranks that others wait for", ["", "calls in which it was last", "others waited"], rows)
        if rows
        else ""
    )


def _kinds(profile: Mapping[str, Any]) -> str:
    rows = []
    for row in sorted(profile["kinds"], key=lambda one: -one["seconds"] / one["ranks"])[:_KINDS]:
        split = (
            "-" if row[what] is None else format_seconds(row[what] / row["ranks"]) for what in ("waiting", "moving")
        )
        by_rank = (format_seconds(row["seconds_by_rank"][what]) for what in ("mean", "min", "max"))
        name = shares.spoken(row["operation"], row["form"])
        rows.append([name, format_bytes(row["bytes"]), f"{row['calls'] / row['ranks']:.0f}", *by_rank, *split])
    heads = ["", "bytes", "calls", "time", "min", "max", "waiting", "moving"]
    return page.table("Calls and times of a rank", heads, rows)
