"""Draws docs/performance.svg from what was measured: the best peer's time over that of omnes, on each machine.

Usage: bench/run picture [-o FILE.svg] [NAME=FILE.jsonl.gz ...]
Two ranks on a core each, warm buffers; needs neither a network nor a compiler.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lab import heatmap
from omnes.bench import against_peers
from omnes.bench.records import Records

HERE = Path(__file__).resolve().parent
OURS = "omnes-openmpi-5"
MACHINES = {"Xeon": "xeon-bound", "EPYC Zen 5": "epyc-zen5-bound", "EPYC Zen 4": "epyc-zen4-bound"}
FILES = [f"{name}={HERE / 'results' / stem}.jsonl.gz" for name, stem in MACHINES.items()]


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("-o", "--output", type=Path, default=HERE.parent / "docs/performance.svg")
    arguments.add_argument("files", nargs="*", metavar="NAME=FILE", default=FILES)
    given = arguments.parse_args()
    panels = []
    for name, _, file in (word.partition("=") for word in given.files):
        for table in against_peers.tables(Records(Path(file))):
            values = against_peers.ratios(table, against_peers.BEST, OURS)
            usual = {cell: value for cell, value in values.items() if not cell.unusual}
            panels.append((f"{name}, {table.ranks} ranks", usual))
    given.output.write_text(heatmap.sheet(panels))
    return 0


if __name__ == "__main__":
    sys.exit(main())
