# What the compiled core offers to Python. Wrong arguments raise ValueError with one line that says what is valid. Ranks
# are at most 2^20, of proofs 2^14, of mappings 2^24; files are regular ones of 16 MiB at most.
from typing import Any

__version__: str

def operations() -> list[str]: ...

# Those with a root; those that reduce; those that have a form in place.
def rooted_operations() -> list[str]: ...
def reductions() -> list[str]: ...
def in_place_operations() -> list[str]: ...

# Every algorithm: operation, name, summary, source, radix (default; 0: takes none), min_radix, root_radix (the default
# is the square root of p), segmented, ordered, power_of_two, even, unequal (listed once more for the operations with
# unequal parts), hierarchical (composed over levels), aliases (other names).
def catalogue() -> list[dict[str, Any]]: ...

# The schedule of one rank in the readable text form. nodes, here and below: of each rank, for hierarchical algorithms;
# empty: all ranks are one group.
def schedule_text(
    operation: str,
    algorithm: str,
    p: int,
    rank: int,
    root: int = 0,
    radix: int = 0,
    segments: int = 1,
    in_place: bool = False,
    nodes: list[int] = [],
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
    nodes: list[int] = [],
) -> list[dict[str, Any]]: ...

# Blocks per part in such a schedule.
def pieces(
    operation: str,
    algorithm: str,
    p: int,
    root: int = 0,
    radix: int = 0,
    segments: int = 1,
    in_place: bool = False,
    nodes: list[int] = [],
) -> int: ...

# None when the schedules of all p ranks are proved, else the first fault in one line.
def verify(
    operation: str, algorithm: str, p: int, root: int = 0, radix: int = 0, segments: int = 1, in_place: bool = False
) -> str | None: ...

# The same for schedules in the text form, one for each rank in order. ordered: reductions combine in rank order.
def verify_texts(texts: list[str], ordered: bool = False) -> str | None: ...

# Why the algorithm cannot solve such a problem; empty when it can.
def why_not(
    operation: str,
    algorithm: str,
    p: int,
    radix: int = 0,
    segments: int = 1,
    commutative: bool = True,
    nodes: list[int] = [],
) -> str: ...

# "knomial:k=4,segment=16K" -> {algorithm, radix, segment (bytes; 0: none), text (normalised)}.
def parse_choice(operation: str, text: str) -> dict[str, Any]: ...

# What would run, by the environment and the decision tables: {algorithm, radix, segment, text, why}. node: of each
# rank; none: all ranks are on one. shared_memory: ranks of a node share it. table, here and below: a file in front of
# the compiled-in one; "off": none; empty: the environment's, or the user's. machine: the text of a machine file; empty:
# likewise. model: whether it is asked where a rule or a variable leaves the choice to it, as for ranks with a CPU each.
# host: whether calls may be left to the host MPI; the algorithm is "host" then.
def choose(
    operation: str,
    p: int,
    bytes: int,
    elements: int,
    commutative: bool = True,
    node: list[int] = [],
    shared_memory: bool = True,
    table: str = "",
    machine: str = "",
    model: bool = True,
    host: bool = False,
) -> dict[str, Any]: ...

# What is worth trying for parts of so many bytes: every algorithm as it comes, and with a few radices and segments.
def candidates(operation: str, part_bytes: int) -> list[str]: ...

# The file in front of the compiled-in table; empty: none.
def table_file(table: str = "") -> str: ...

# All rules in the order in which they are asked: operation, text (where it stands, and its conditions), use, own (the
# user's).
def rules(table: str = "") -> list[dict[str, Any]]: ...

# Of those that a table may set, where nobody sets them, as text: for blocking calls of so many ranks of one node, which
# have a CPU each or share some.
def default_settings(ranks: int, own_cpus: bool) -> dict[str, str]: ...

# Raises ValueError for a value of an OMNES_ variable that MPI_Init would refuse. -> a line for each variable that is
# ignored, as there is none of its name.
def check_settings() -> list[str]: ...

# Bytes of the shared-memory segment of p ranks, with the settings in force.
def segment_bytes(p: int) -> int: ...

# {cpus: [int] (that this process may use), text (one line per level), levels: [{name, count, bytes (of one; 0: none),
# cpus: [[int]]}] from node to core}. Of this machine, or of one that hwloc describes: an XML file, or words such as
# "package:2 core:4 pu:2". Raises ValueError, also where there is no hwloc.
def machine(description: str = "") -> dict[str, Any]: ...

# Whether one process may read another's memory (single copy).
def cma_works() -> bool: ...

# A described job (docs/topology.md). ranks: a file or a pattern such as "8x8 cyclic"; machine: as above, or "this";
# network: a file; levels: such as "numa,node". -> {p, nodes: [name, by rank], levels: [{name, units: [int, by rank]}]
# from the nearest, left_out: [{name, kind: off | absent | inactive | declined, why}], groups: [{level, groups: [[rank,
# its leader first]]}]}.
def job(ranks: str, machine: str = "", network: str = "", levels: str = "") -> dict[str, Any]: ...

# Every node's switches, from the nearest to the widest, from a file of a network.
def network(file: str) -> dict[str, list[str]]: ...

# Slurm's file on this machine, if there is one.
def network_file() -> str | None: ...

# For each level within a node, the unit of this machine that holds all these CPUs, named by its lowest; -1: there is no
# such level, -2: the CPUs are of several units. `system`: instead of /sys/devices/system.
def inner_units(cpus: list[int], system: str = "") -> dict[str, int]: ...

# "n[01-02,7]" -> ["n01", "n02", "n7"].
def expand_hostlist(list: str) -> list[str]: ...

# All levels that there can be.
level_names: list[str]

# Predicted times for parts of each of these sizes: [{bytes, seconds, path: {latency, bandwidth, overhead, reduction,
# copy} (adds up to seconds), method, simulated (ranks), finished (seconds of each simulated rank; for p <= 64)}].
# machine: the text of a machine file; empty: the default. ranks_per_node: ranks in order, so many on a node; 0: the
# machine's.
def predict(
    operation: str,
    choice: str,
    p: int,
    sizes: list[int],
    machine: str = "",
    ranks_per_node: int = 0,
    reduction: str = "f64 sum",
    root: int = 0,
) -> list[dict[str, Any]]: ...

# {name, source, ranks_per_node, levels: [str]} of a machine file's text; empty: of the default.
def described_machine(machine: str = "") -> dict[str, Any]: ...

# Name and text of the machine file that a job would know: OMNES_MACHINE's, or the user's; empty where there is none.
def known_machine_file() -> tuple[str, str]: ...

# The text of the default machine file.
def default_machine() -> str: ...

# The closed formulas: [{number, operation, algorithm, text}].
def formulas() -> list[dict[str, Any]]: ...

# Seconds by the closed formula of that algorithm, for parts of so many bytes.
def hockney(
    operation: str, algorithm: str, p: int, bytes: float, alpha: float, beta: float, gamma: float = 0.0
) -> float: ...

# Seconds that one core takes to copy so many bytes, or to combine two operands of so many (type: f32, f64, i32, i64;
# op: max, min, prod, sum): one value for each round.
def time_copy(bytes: int, rounds: int) -> list[float]: ...
def time_reduction(type: str, op: str, bytes: int, rounds: int) -> list[float]: ...

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

# Of (traffic, its ranks among all p, how often it counts per part), added up.
def sum_traffic(p: int, parts: list[tuple[Traffic, list[int], float]]) -> Traffic: ...

# Raises ValueError where the method metis cannot be had: why, and what to install.
def require_metis() -> None: ...

# What a communicator whose ranks lie so does with the present environment, for parts of so many bytes: {renumbered,
# text (the choice, with " remap=exch" or " remap=reorder"), gain (predicted, of the time of messages), why}.
def renumbering(
    operation: str,
    choice: str,
    bytes: int,
    levels: list[tuple[str, list[int]]],
    machine: str = "",
    commutative: bool = True,
) -> dict[str, Any]: ...
