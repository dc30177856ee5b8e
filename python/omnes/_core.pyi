"""
What the compiled core offers to Python.

Wrong arguments raise ValueError with one line that says what is valid. Ranks are at most 2^20, of proofs 2^14, of
mappings 2^24; files are regular ones of 16 MiB at most.
"""

from collections.abc import Sequence
from typing import Any

__version__: str

def operations() -> list[str]:
    """The names of all operations, such as 'allreduce'."""

def rooted_operations() -> list[str]:
    """The names of those with a root."""

def reductions() -> list[str]:
    """The names of those that reduce."""

def in_place_operations() -> list[str]:
    """The names of those with a form in place."""

def catalogue() -> list[dict[str, Any]]:
    """
    Every algorithm, sorted by operation and name.

    Each a dict: operation, name, summary, source (who described it), radix (the default; 0: takes none), min_radix,
    root_radix (the default is the square root of p), segmented, ordered (combines in the order of the ranks),
    power_of_two, even (only for such p), unequal (listed once more for the operations with unequal parts), hierarchical
    (composed over levels), aliases (other names).
    """

def schedule_text(
    operation: str,
    algorithm: str,
    p: int,
    rank: int,
    root: int = 0,
    radix: int = 0,
    segments: int = 1,
    in_place: bool = False,
    nodes: Sequence[int] = [],
) -> str:
    """
    The schedule of one rank in the text form.

    nodes: the node of each of the p ranks, for hierarchical algorithms; empty: all ranks are one group. radix 0: the
    algorithm's own. Raises ValueError for names and numbers that are not valid, saying which are.
    """

def schedule_ops(
    operation: str,
    algorithm: str,
    p: int,
    rank: int,
    root: int = 0,
    radix: int = 0,
    segments: int = 1,
    in_place: bool = False,
    nodes: Sequence[int] = [],
) -> list[dict[str, Any]]:
    """
    The schedule of one rank as data, for drawing: a dict for each op, in program order.

    kind, peers (a list; a publish lists all others), published, incoming_first; a, b and dst (each None, or a dict of
    buffer, first and count, in blocks); deps (indices of ops that have to be complete before). Arguments and errors: as
    of schedule_text.
    """

def pieces(
    operation: str,
    algorithm: str,
    p: int,
    root: int = 0,
    radix: int = 0,
    segments: int = 1,
    in_place: bool = False,
    nodes: Sequence[int] = [],
) -> int:
    """
    Blocks per part in such a schedule. Arguments and errors: as of schedule_text.
    """

def verify(
    operation: str, algorithm: str, p: int, root: int = 0, radix: int = 0, segments: int = 1, in_place: bool = False
) -> str | None:
    """
    None when the schedules of all p ranks are proved, else the first fault in one line.

    p is at most 2^14. Raises ValueError for names and numbers that are not valid. Runs without the GIL.
    """

def verify_texts(texts: Sequence[str], ordered: bool = False) -> str | None:
    """
    The same for schedules in the text form, one for each rank in order.

    ordered: whether reductions have to combine in the order of the ranks. Raises ValueError for what is no schedule:
    the line, what was found and what was expected.
    """

def why_not(
    operation: str,
    algorithm: str,
    p: int,
    radix: int = 0,
    segments: int = 1,
    commutative: bool = True,
    nodes: Sequence[int] = [],
) -> str:
    """
    Why the algorithm cannot solve such a problem; empty when it can.

    commutative: whether the reduction is. Other arguments and errors: as of schedule_text.
    """

def parse_choice(operation: str, text: str) -> dict[str, Any]:
    """
    What a forced choice means: 'knomial:k=4,segment=16K' -> a dict.

    algorithm, radix (0: the algorithm's own), segment (bytes; 0: none), text (normalised). Raises ValueError, which
    lists what is valid.
    """

def choose(
    operation: str,
    p: int,
    bytes: int,
    elements: int,
    commutative: bool = True,
    node: Sequence[int] = [],
    shared_memory: bool = True,
    table: str = "",
    machine: str = "",
    model: bool = True,
    host: bool = False,
) -> dict[str, Any]:
    """
    What would run, by the environment and the decision tables.

    A dict of algorithm, radix, segment (bytes), text, why, and buffers (what OMNES_HEAP=auto does with them; empty
    where that is not set). bytes: of a part; elements: of a part. node: of each of
    the p ranks; empty: all ranks are on one. shared_memory: whether ranks of a node share it. table: a file in front of
    the compiled-in one; 'off': none; empty: the environment's, or the user's. machine: the text of a machine file;
    empty: likewise. model: whether it is asked where a rule or a variable leaves the choice to it, as for ranks with a
    CPU each. host: whether calls may be left to the host MPI; the algorithm is 'host' then. Raises ValueError for wrong
    values, also of the environment's variables.
    """

def check_settings() -> list[str]:
    """
    A line for each OMNES_ variable of the environment that is ignored, as there is none of its name.

    Raises ValueError for a value that MPI_Init would refuse.
    """

def candidates(operation: str, part_bytes: int) -> list[str]:
    """
    What is worth trying for parts of so many bytes.

    Every algorithm as it comes, and with a few radices and segments.
    """

def default_settings(ranks: int, own_cpus: bool) -> dict[str, str]:
    """
    Of the settings that a table may hold, the values where nobody sets them, as text by name.

    For blocking calls of so many ranks of one node, which have a CPU each or share some.
    """

def known_machine_file() -> tuple[str, str]:
    """
    Name and text of the machine file that a job would know.

    OMNES_MACHINE's, or the user's; both empty where there is none.
    """

def rules(table: str = "") -> list[dict[str, Any]]:
    """
    All rules in the order in which they are asked, each a dict.

    operation, text (where it stands, and its conditions), use, own (whether it is the user's). table: as of choose.
    Raises ValueError for a file that is no table.
    """

def table_file(table: str = "") -> str:
    """
    The file in front of the compiled-in table; empty: none. table: as of choose.
    """

def renumbering(
    operation: str,
    choice: str,
    bytes: int,
    levels: Sequence[tuple[str, Sequence[int]]],
    machine: str = "",
    commutative: bool = True,
) -> dict[str, Any]:
    """
    Whether a communicator whose ranks lie so is renumbered, with the present environment: a dict.

    renumbered; text (the choice, with ' remap=exch' or ' remap=reorder'); gain (the predicted time of messages before,
    divided by that after); why. bytes: of a part. levels: (name, unit of each rank), nearest first. Raises ValueError.
    """

def machine(description: str = "") -> dict[str, Any]:
    """
    This machine, or one that hwloc describes: a dict of cpus, text and levels.

    cpus: those that this process may use. text: one line per level. levels, from node to core: dicts of name, count,
    bytes (of one; 0: none), cpus (a list for each). description: an XML file of hwloc, or words such as 'package:2
    core:4 pu:2'. Raises ValueError, also where there is no hwloc.
    """

def cma_works() -> bool:
    """Whether one process may read another's memory (single copy)."""

def cpu_quota() -> float | None:
    """
    CPUs that this process and the others of its control groups may keep busy, such as 1.5; None: no limit.
    """

def segment_bytes(p: int) -> int:
    """
    Bytes of the shared-memory segment of p ranks, with the settings in force.
    """

def job(ranks: str, machine: str = "", network: str = "", levels: str = "") -> dict[str, Any]:
    """
    A described job (docs/topology.md): a dict of p, nodes, levels, left_out and groups.

    ranks: a file or a pattern such as '8x8 cyclic'; machine: as of machine(), or 'this'; network: a file; levels: such
    as 'numa,node'. nodes: the name of each rank's. levels, from the nearest: dicts of name and units (one for each
    rank). left_out: dicts of name, kind (off, absent, inactive, declined) and why. groups: dicts of level and groups
    (lists of ranks, each with its leader first). Raises ValueError for what cannot be read.
    """

def network(file: str) -> dict[str, list[str]]:
    """
    The switches above each node, by its name, from the nearest to the widest.

    Raises ValueError for a file that is none of a network.
    """

def network_file() -> str | None:
    """Slurm's file of the network on this machine; None where there is none."""

def inner_units(cpus: Sequence[int], system: str = "") -> dict[str, int]:
    """
    For each level within a node, the unit of this machine that holds all these CPUs, named by its lowest CPU.

    -1: there is no such level; -2: the CPUs are of several units. system: read instead of /sys/devices/system.
    """

def expand_hostlist(list: str) -> list[str]:
    """
    Slurm's lists of nodes: 'n[01-02,7]' -> ['n01', 'n02', 'n7']. Raises ValueError for what is none.
    """

level_names: list = ...

def predict(
    operation: str,
    choice: str,
    p: int,
    sizes: Sequence[int],
    machine: str = "",
    ranks_per_node: int = 0,
    reduction: str = "f64 sum",
    root: int = 0,
    cyclic: bool = False,
) -> list[dict[str, Any]]:
    """
    Predicted times for parts of each of these sizes, in bytes: a dict for each.

    bytes; seconds; path: seconds of latency, bandwidth, overhead, reduction and copy on the critical path, which add up
    to these; method; simulated (ranks); for p <= 64, finished (seconds, of each simulated rank). machine: the text of a
    machine file; empty: the default. ranks_per_node: 0: the machine's. cyclic: ranks are dealt to the nodes in turns
    rather than in order. reduction: type and operation; where the machine lacks it, that of f64 sum. Raises ValueError.
    Runs without the GIL.
    """

def described_machine(machine: str = "") -> dict[str, Any]:
    """
    What the text of a machine file (empty: the default) describes.

    A dict of name, source, ranks_per_node, levels and reductions (names). Raises ValueError.
    """

def default_machine() -> str:
    """The text of the default machine file."""

def formulas() -> list[dict[str, Any]]:
    """
    The closed formulas, each a dict of number, operation, algorithm and text.
    """

def hockney(
    operation: str, algorithm: str, p: int, bytes: float, alpha: float, beta: float, gamma: float = 0.0
) -> float:
    """
    Seconds by the closed formula of that algorithm, for parts of so many bytes.

    alpha: seconds per message; beta: seconds per byte sent; gamma: seconds per byte combined. Raises ValueError where
    there is no formula.
    """

def time_copy(bytes: int, rounds: int) -> list[float]:
    """
    Seconds that one core takes to copy so many bytes (up to 2^30): a value for each round.
    """

def time_reduction(type: str, op: str, bytes: int, rounds: int) -> list[float]:
    """
    Seconds that one core takes to combine two operands of so many bytes (up to 2^30): a value for each round.

    type: f32, f64, i32, i64; op: max, min, prod, sum.
    """

class Traffic:
    """
    Who sends how much to whom: of an algorithm, in blocks, or recorded, in bytes.
    """

    @property
    def p(self) -> int:
        """The number of ranks."""

    def rows(self) -> dict[int, dict[int, int]]:
        """{rank: {peer: amount}}, without ranks that send nothing."""

    def map(
        self,
        levels: Sequence[tuple[str, Sequence[int]]],
        bandwidths: Sequence[float] = [],
        method: str = "auto",
        fixups_up_to: int = 256,
    ) -> dict[str, Any]:
        """
        Which ranks should share a unit: a dict.

        levels: (name, unit of each of the p ranks), nearest first. bandwidths: by level, and one more beyond the
        last, in bytes per second if times are to be seconds; empty: the default, which only has their ratios.
        method: auto, structure, general, metis. fixups_up_to: ranks up to which fixups are priced.

        method ('none': nothing is cheaper), symmetry, rows_seen, pieces, virtual_of and real_of (of each rank),
        bandwidths; before and after: time and amount (by level); seconds: traffic, mapping, cost; fixups: exchange
        and reorder, each time and copied, or why_not; with metis: cut and largest_part, its own. Raises ValueError.
        """

def traffic(operation: str, algorithm: str, p: int, root: int = 0, radix: int = 0, segments: int = 1) -> Traffic:
    """
    Who sends how many blocks to whom in an algorithm.

    Raises ValueError for names and numbers that are not valid.
    """

def read_traffic(text: str, p: int = 0) -> Traffic:
    """
    Recorded traffic, from lines of 'rank rank bytes' and # comments; of p ranks or more.

    Raises ValueError, which names the line.
    """

def sum_traffic(p: int, parts: Sequence[tuple[Traffic, Sequence[int], float]]) -> Traffic:
    """
    Traffic added up.

    parts: (traffic, its ranks among all p, how often it counts per part). Raises ValueError.
    """

def require_metis() -> None:
    """
    Raises ValueError where the method metis cannot be had: why, and what to install.
    """
