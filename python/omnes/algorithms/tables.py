"""Decision tables as files: where the present one is, and what was measured for it."""

from __future__ import annotations

from pathlib import Path

from omnes import _core
from omnes.errors import from_core
from omnes.models.prediction import Ranks
from omnes.terminal import files, toml_files

OFF = "off"  # in place of a file: none
HOST = "host"  # in place of an algorithm: blocking calls are left to the MPI


def present(table: str) -> Path | None:
    """The file in front of the compiled-in table: the named one, else OMNES_TABLE's, else the user's, if any."""
    with from_core():
        found = _core.table_file(table)
    return Path(found) if found else None


def measured(table: str, operation: str, ranks: Ranks, size: int) -> dict[str, float]:
    """Seconds by candidate in this very case; none where the table does not have it."""
    file = present(table)
    if file is None:
        return {}
    known = toml_files.load(file).get("measured", {})
    with files.expecting(file, "no table as omnes tune writes: [measured] is not as it should be"):
        for entry in known.get(operation, []):
            if (entry["ranks"], entry["nodes"], entry["bytes"]) == (ranks.count, ranks.nodes, size):
                return {name: float(seconds) for name, seconds in entry["seconds"].items()}
    return {}
