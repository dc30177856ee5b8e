# What the compiled core offers to Python. Wrong arguments raise ValueError with one line that says what is valid.
from typing import Any

__version__: str

def operations() -> list[str]: ...

# Every algorithm: operation, name, summary, source, radix (default; 0: takes none), min_radix, root_radix (the default
# is the square root of p), segmented, ordered, power_of_two, even, unequal (listed once more for the operations with
# unequal parts), aliases (other names).
def catalogue() -> list[dict[str, Any]]: ...

# The schedule of one rank in the readable text form.
def schedule_text(
    operation: str,
    algorithm: str,
    p: int,
    rank: int,
    root: int = 0,
    radix: int = 0,
    segments: int = 1,
    in_place: bool = False,
) -> str: ...

# The same as data, for drawing: per op kind, peers (a list; a publish lists all others), published, incoming_first,
# a, b, dst (each None or {buffer, first, count}), deps (indices of ops).
def schedule_ops(
    operation: str,
    algorithm: str,
    p: int,
    rank: int,
    root: int = 0,
    radix: int = 0,
    segments: int = 1,
    in_place: bool = False,
) -> list[dict[str, Any]]: ...

# Blocks per part in such a schedule.
def pieces(
    operation: str, algorithm: str, p: int, root: int = 0, radix: int = 0, segments: int = 1, in_place: bool = False
) -> int: ...

# None when the schedules of all p ranks are proved, else the first fault in one line.
def verify(
    operation: str, algorithm: str, p: int, root: int = 0, radix: int = 0, segments: int = 1, in_place: bool = False
) -> str | None: ...

# Why the algorithm cannot solve such a problem; empty when it can.
def why_not(
    operation: str, algorithm: str, p: int, radix: int = 0, segments: int = 1, commutative: bool = True
) -> str: ...

# "knomial:k=4,segment=16K" -> {algorithm, radix, segment (bytes; 0: none), text (normalised)}.
def parse_choice(operation: str, text: str) -> dict[str, Any]: ...

# What would run, by the environment and the decision table: {algorithm, radix, segment, text, why}.
def choose(
    operation: str, p: int, bytes: int, elements: int, commutative: bool = True, one_node: bool = True
) -> dict[str, Any]: ...

# Bytes of the shared-memory segment.
def segment_bytes(p: int, slots: int = 8, slot_bytes: int = 8192) -> int: ...

# {cpus: [int] (that this process may use), text (one line per level), levels: [{name, count, bytes (of one; 0: none),
# cpus: [[int]]}] from node to core}. Of this machine, or of one described in hwloc's way ("package:2 core:4 pu:2").
def machine(synthetic: str = "") -> dict[str, Any]: ...

# Whether one process may read another's memory (single copy).
def cma_works() -> bool: ...

# Who sends how much to whom: of an algorithm (in blocks) or recorded (in bytes).
class Traffic:
    p: int

    # {rank: {peer: amount}}, without ranks that send nothing.
    def rows(self) -> dict[int, dict[int, int]]: ...

    # levels: (name, unit of each rank), nearest first. bandwidths: by level, and one more; empty: the default. method:
    # auto, structure, general, metis. -> {method ("none": nothing is cheaper), symmetry, rows_seen, pieces, virtual_of,
    # real_of, bandwidths, before, after: {time, amount (by level)}, seconds: {traffic, mapping, cost}, fixups:
    # {exchange, reorder: {time, copied} or {why_not}} (up to so many ranks), metis: {cut, largest_part} (its own)}
    def map(
        self,
        levels: list[tuple[str, list[int]]],
        bandwidths: list[float] = [],
        method: str = "auto",
        fixups_up_to: int = 256,
    ) -> dict[str, Any]: ...

def traffic(operation: str, algorithm: str, p: int, root: int = 0, radix: int = 0, segments: int = 1) -> Traffic: ...

# Lines of 'rank rank bytes', # comments; for p ranks or more.
def read_traffic(text: str, p: int = 0) -> Traffic: ...

# Whether the method metis is there.
def has_metis() -> bool: ...
