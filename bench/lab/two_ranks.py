"""What bench/run accuracy and bench/run choices measure: all that the model predicts for two ranks."""

from __future__ import annotations

from omnes import _core

RANKS = 2
SIZES = (8, 96, 600, 3072, 24576, 81920, 200_000, 786_432, 3 << 20)  # that omnes measure does not use
OPERATIONS = [
    name
    for name in _core.operations()
    if not name.startswith("neighbor") and not name.endswith(("v", "w")) and name != "reduce_scatter"
]
