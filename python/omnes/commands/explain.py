"""omnes explain: which algorithm runs for a case, why, and what the others would cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from omnes import _core
from omnes.algorithms import catalogue, tables
from omnes.errors import UsageError, from_core
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.placement import patterns
from omnes.terminal import options, output, units


@click.command()
@click.argument("operation")
@click.option("-n", "count", metavar="N", help="Number of ranks.")
@click.option("-b", "--bytes", "size", default="8", show_default=True, metavar="BYTES", help="Bytes of one part.")
@options.nodes("one node")
@options.costs_file()
@click.option(
    "--table",
    default="",
    metavar="FILE",
    help="Decision table, as omnes tune writes it; off: none.  [default: OMNES_TABLE, or the user's]",
)
@click.option("--ordered", is_flag=True, help="The reduction is the program's own.")
@options.for_scripts
def command(
    operation: str,
    count: str | None,
    size: str,
    nodes: str | None,
    path: Path | None,
    table: str,
    ordered: bool,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """Explain a choice: the rule that fired, all candidates with predicted cost, who was excluded and why, and whether
    ranks would be renumbered.

    The choice is the one that omnes makes with the present environment (OMNES_BCAST=... included), or with a table.
    Where a tuned table has measured the case, it says so.

    \b
    omnes explain allreduce -n 2 -b 64K
    omnes explain bcast --nodes 8x8 -b 1M --costs cluster.toml
    omnes explain allreduce -n 2 -b 64K --table table.toml
    omnes explain allgather --nodes "8x8 cyclic" -b 64K
    """
    catalogue.select(operation)
    machine = MachineCosts.load(path)
    ranks = prediction.groups(count, nodes, machine)
    if len(ranks) != 1:
        raise UsageError("explain one case at a time: one number of ranks")
    cyclic = ranks[0].cyclic
    per_node = ranks[0].per_node if nodes else ranks[0].count  # rules for one node are what most cases are about
    case = Ranks(ranks[0].count, per_node)
    bytes_ = units.parse_bytes(size)
    measured = tables.measured(table, operation, case, bytes_)
    answer = explain(operation, case, bytes_, machine, not ordered, measured, table, cyclic)
    case_of_all = {name: answer[name] for name in ("operation", "ranks", "nodes", "bytes")}
    candidates = [
        {**case_of_all, **entry, "chosen": entry["candidate"] == answer["choice"]} for entry in answer["candidates"]
    ]
    if output.deliver(to_json, answer, to_csv, candidates):
        _show(answer, f"{operation}, {units.format_bytes(bytes_)}, {case}")


def explain(
    operation: str,
    ranks: Ranks,
    size: int,
    machine: MachineCosts,
    commutative: bool = True,
    measured: Mapping[str, float] | None = None,
    table: str = "",
    cyclic: bool = False,
) -> dict[str, Any]:
    """measured: seconds by candidate, where a table has them. table: a file, or "off"; empty: the environment's.
    cyclic: ranks are dealt to the nodes in turns; times are still those of consecutive ones."""
    chosen = prediction.chosen(operation, ranks, size, commutative, table, machine.text, host=True)
    names = _core.candidates(operation, size)
    known = (chosen["text"], *(measured or {}))
    names += [name for name in known if name not in (*names, tables.HOST)]
    costs, excluded = prediction.costs(operation, names, ranks, [size], machine, commutative)
    able: list[dict[str, Any]] = [
        {"candidate": name, "predicted": seconds, "measured": (measured or {}).get(name)}
        for name, (seconds,) in sorted(costs.items(), key=lambda item: item[1])
    ]
    if tables.HOST in known:  # of which nothing is known
        able.append({"candidate": tables.HOST, "predicted": None, "measured": (measured or {}).get(tables.HOST)})
    others = [entry["candidate"] for entry in able if entry["candidate"] != chosen["text"]]
    return {
        "operation": operation,
        "ranks": ranks.count,
        "nodes": ranks.nodes,
        "bytes": size,
        "choice": chosen["text"],
        "why": chosen["why"],
        "buffers": chosen["buffers"],
        "renumbering": _renumbering(operation, chosen["text"], ranks, size, machine, commutative, cyclic),
        "runner_up": others[0] if others else None,
        "candidates": able,
        "excluded": [{"candidate": name, "why": why} for name, why in excluded.items()],
    }


def _renumbering(
    operation: str, choice: str, ranks: Ranks, size: int, machine: MachineCosts, commutative: bool, cyclic: bool
) -> dict[str, Any]:
    if choice == tables.HOST:
        return {"renumbered": False, "text": choice, "gain": 0.0, "why": "as only the algorithms of omnes can be"}
    sizes = [min(ranks.per_node, ranks.count - first) for first in range(0, ranks.count, ranks.per_node)]
    levels = (
        patterns.placing(",".join(map(str, sizes)) + (" cyclic" if cyclic else "")).levels if len(sizes) > 1 else []
    )
    with from_core():
        return _core.renumbering(operation, choice, size, levels, machine.text, commutative)


def _show(answer: dict[str, Any], title: str) -> None:
    measured = any(entry["measured"] is not None for entry in answer["candidates"])
    table = Table(title=title)
    table.add_column("candidate")
    table.add_column("predicted µs", justify="right")
    table.add_column("× fastest", justify="right")
    if measured:
        table.add_column("measured µs", justify="right")
    table.add_column("")
    for entry in answer["candidates"]:
        notes = {answer["choice"]: "[bold]chosen[/]", answer["runner_up"]: "runner-up"}
        row = [entry["candidate"]]
        if entry["predicted"] is None:
            row += ["-", "-"]
        else:
            fastest = max(answer["candidates"][0]["predicted"], 1e-12)
            row += [units.format_us(entry["predicted"]), f"{entry['predicted'] / fastest:.2f}"]
        if measured:
            row.append(units.format_us(entry["measured"]) if entry["measured"] is not None else "-")
        table.add_row(*row, notes.get(entry["candidate"], ""))
    console = output.console()
    console.print(f"Chosen: {answer['choice']}, by {answer['why']}", markup=False, highlight=False, soft_wrap=True)
    if answer["buffers"]:
        console.print(f"Buffers: {answer['buffers']} (OMNES_HEAP=auto)", markup=False, highlight=False, soft_wrap=True)
    if answer["nodes"] > 1:
        ranks = answer["renumbering"]
        said = ranks["text"] if ranks["renumbered"] else "not renumbered"
        console.print(f"Ranks: {said}, {ranks['why']}", markup=False, highlight=False, soft_wrap=True)
    console.print(table)
    by_reason: dict[str, list[str]] = {}
    for entry in answer["excluded"]:
        by_reason.setdefault(entry["why"], []).append(entry["candidate"])
    for reason, names in by_reason.items():
        console.print(f"Excluded: {', '.join(names)}: {reason}", markup=False, highlight=False, soft_wrap=True)
