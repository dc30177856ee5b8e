"""The paper's Table 5 (16 KiB, 8192 processes) beside its theory and simulations, and what theory leaves out.

Usage: bench/run paper-table-5 [-o PAGE.md]     (a minute; the same on every machine)
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

from lab.paper import ALPHA, BANDWIDTH, BYTES, EXCHANGE, GAMMA, MEASURED, THEORY, P
from omnes import _core

MACHINE = """
format = "omnes machine"
version = 1
name = "paper"
ranks_per_node = {per_node}
copy = [[0, 0, 0.1e-9]]
reduce = {{ "f64 sum" = [[0, 0, {gamma}]] }}
[[level]]
name = "node"
by = "memory"
send = 0.1e-6
recv = 0.1e-6
latency = 0.1e-6
copy = [[0, 0, 0.1e-9]]
fragment = 8192
out = {out}
[[level]]
name = "network"
by = "messages"
send = 0.79e-6
recv = 0.79e-6
latency = 0.79e-6
wire = [[0, 0, {beta}]]
"""

WHY = {
    "reduce": """Theory has 13 rounds of 7.7 µs; measured are 26 µs a round, with 12 processes per node as with 8,
        so it is no contention. The missing term is the work for a message, of which Hockney's model has
        none: two copies at 2.5 GB/s (13 µs) and the two further latencies of a message that waits for its
        receiver (4.7 µs) would be the missing 18 µs.""",
    "bcast": """The same tree downwards should cost what Reduce costs, less γ, yet takes 3.5 and 3.0 times as
        long. What Reduce does not have: a parent's messages to its children are under way at once and
        share its link, so the child with the largest subtree waits as long as a leaf. Where links are
        shared so, in SimGrid, this tree takes 3.5 times as long as Reduce (`bench/run paper-curves`), so that
        is the likely term; theory and our simulation send one message after the other. That the paper's
        curve jumps at 8192 remains without a reason.""",
    "gather": """The root takes in 134 MB: at 3183 MB/s that is the 42 ms of theory and simulation; measured are
        2.2 GB/s, alike for 8 and 12 per node. The missing term is the copying at inner nodes and at the
        root, which hold what they pass on.""",
    "scatter": """The same bytes the other way take 2.4 times as long as Gather: 0.93 GB/s out of the root. Theory
        lets a parent's messages follow each other without a gap; a root that waits for each receiver in
        turn, with half of everything in its first message, does not. The missing term is synchronisation,
        and the root's copies.""",
    "allgather": """632 to 429 ms is 1.47, near 12 / 8: what counts is all that a node receives, 12 or 8 times 134 MB,
        and that passes at 2.5 GB/s in both cases. The missing term is what the processes of a node share.
        Theory only takes a smaller bandwidth for it; and the simulated ring in rank order shows what was
        possible: just one message of each round leaves a node, 42 ms.""",
    "allreduce": """5126 to 3487 µs is 1.47 again: the processes of a node share. But the node passes only 0.5 GB/s,
        five times less than in Allgather: partners are 2, 4 ... 4096 places away, so that in most rounds
        every message leaves the node and meets all others between switches. The missing terms are
        contention at the card, which the simulation has, and in the network.""",
    "alltoall": """9.9 to 3.4 s is 2.9, far beyond 12 / 8: each process gets 14 or 40 MB/s of the 450 or 569 that
        pairs of nodes reach, a node 0.16 or 0.32 GB/s, the less the more messages are under way. The
        missing term is the bisection of the network, congested: every byte crosses it. Neither theory nor
        the simulation has its width, as the paper gives none.""",
}


def simulated(operation: str, algorithm: str, per_node: int) -> float:
    text = MACHINE.format(per_node=per_node, gamma=GAMMA, beta=1 / BANDWIDTH, out=1 / (EXCHANGE[per_node] * per_node))
    # 12 processes on a node do not divide 8192: the next multiple.
    ranks = P if P % per_node == 0 else -(-P // per_node) * per_node
    return 1e6 * _core.predict(operation, algorithm, ranks, [BYTES], text, per_node)[0]["seconds"]


def page() -> list[str]:
    lines = [
        "# The paper's Table 5 beside its theory",
        "",
        f"{datetime.date.today()}, made by `bench/run paper-table-5`. Luo, Zhang 2017: 8192 processes, parts of "
        "16 KiB, microseconds, with 12 and 8 processes per node. Theory: the paper's formulas with its figures, "
        "α = 2.37 µs, 3183 MB/s from one to all, Sendrecv's 569 (8 per node) and 450 MB/s (12 per node) from all to "
        "all. Simulation: the same figures, with a card for each node that its processes share "
        "(8 · 569 and 12 · 450 MB/s).",
        "",
        "| operation | algorithm | measured 12 / 8 | theory 12 / 8 | measured / theory "
        "| simulated 12 / 8 | measured / simulated |",
        "|---|---|---|---|---|---|---|",
    ]
    for operation, measured in MEASURED.items():
        algorithm, all_to_all = THEORY[operation]
        theory, simulation = {}, {}
        for per_node in (12, 8):
            bandwidth = EXCHANGE[per_node] if all_to_all else BANDWIDTH
            theory[per_node] = 1e6 * _core.hockney(operation, algorithm, P, BYTES, ALPHA, 1 / bandwidth, GAMMA)
            simulation[per_node] = simulated(operation, algorithm, per_node)
        columns = [" / ".join(f"{values[k]:.0f}" for k in (12, 8)) for values in (measured, theory)] + [
            " / ".join(f"{measured[k] / theory[k]:.1f}" for k in (12, 8))
        ]
        columns += [
            " / ".join(f"{simulation[k]:.0f}" for k in (12, 8)),
            " / ".join(f"{measured[k] / simulation[k]:.1f}" for k in (12, 8)),
        ]
        lines.append(f"| {operation} | {algorithm} | {' | '.join(columns)} |")
    lines += ["", "## What theory leaves out", ""]
    lines += [f"* **{operation}**: {' '.join(WHY[operation].split())}" for operation in MEASURED]
    return lines


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-o", "--output", type=Path)
    given = arguments.parse_args()
    text = "\n".join(page()) + "\n"
    given.output.write_text(text) if given.output else print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
