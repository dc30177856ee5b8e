"""Performance guidelines: an operation should take no longer than others that together do the same, and more data no
less than fewer.

Those of Träff, Gropp, Thakur, "Self-Consistent MPI Performance Guidelines", IEEE TPDS 21 (2010): what breaks one can be
mended by the library itself, by calling the right side. How: all operations of one size, and of twice that size, take
turns in one group of cells, so a factor is the median of the factors within rounds. It counts as broken when its 95 %
confidence interval lies above the tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from omnes.bench.timing import Cell, Samples, ratio

# Left: the specialised operation. Sizes: all move the same n bytes, or parts that are n together.
_RULES = """
    bcast <= scatter + allgather
    reduce <= allreduce
    reduce <= reduce_scatter_block + gather
    allreduce <= reduce + bcast
    allreduce <= reduce_scatter_block + allgather
    gather <= allgather
    gather <= reduce
    scatter <= bcast
    allgather <= gather + bcast
    allgather <= alltoall
    allgather <= allreduce
    reduce_scatter_block <= reduce + scatter
    reduce_scatter_block <= allreduce
    exscan <= scan
    barrier <= allreduce
    gather <= gatherv
    scatter <= scatterv
    allgather <= allgatherv
    alltoall <= alltoallv
    reduce_scatter_block <= reduce_scatter
"""
_WHOLE = ("bcast", "reduce", "allreduce", "scan", "exscan")  # their n bytes are one part
TOLERANCE = 0.05


@dataclass(frozen=True)
class Guideline:
    """`left` takes at most as long as all of `right` one after the other."""

    text: str
    left: Cell
    right: tuple[Cell, ...]

    @property
    def operations(self) -> set[str]:
        return {cell.operation for cell in (self.left, *self.right)}


@dataclass(frozen=True)
class Verdict:
    guideline: Guideline
    job: str
    part: int  # bytes
    left: float  # seconds
    right: float
    factor: Samples  # left / right

    def broken(self, tolerance: float) -> bool:
        return self.factor.interval[0] > 1 + tolerance


def cell(operation: str, part: int, ranks: int, type_name: str = "double") -> Cell:
    size = 0 if operation == "barrier" else part * ranks if operation in _WHOLE else part
    return Cell(operation, size, type_name)


def of_size(part: int, ranks: int, operations: Sequence[str]) -> list[Guideline]:
    """For parts of so many bytes: the rules; and for each operation that it is monotone, and splitting no gain."""
    found = []
    for line in _RULES.strip().splitlines():
        left, _, right = line.strip().partition(" <= ")
        terms = tuple(cell(name, part, ranks) for name in right.split(" + "))
        found.append(Guideline(line.strip(), cell(left, part, ranks), terms))
    for name in dict.fromkeys(name for one in found for name in sorted(one.operations - {"barrier"})):
        once, twice = cell(name, part, ranks), cell(name, 2 * part, ranks)
        found.append(Guideline(f"{name}: n <= 2n", once, (twice,)))
        found.append(Guideline(f"{name}: 2n <= 2 × n", twice, (once, once)))
    return [one for one in found if one.operations <= set(operations)]


def operations() -> list[str]:
    """All that guidelines speak of."""
    words = _RULES.replace("<=", " ").replace("+", " ").split()
    return list(dict.fromkeys(words))


def cells_of(guidelines: Sequence[Guideline]) -> list[Cell]:
    return list(dict.fromkeys(cell for one in guidelines for cell in (one.left, *one.right)))


def judge(
    guidelines: Sequence[Guideline], part: int, results: Mapping[Cell, Mapping[str, Samples]]
) -> Iterator[Verdict]:
    for one in guidelines:
        for job in results[one.left]:
            terms = [results[cell][job] for cell in one.right if job in results[cell]]
            if len(terms) == len(one.right):
                right = Samples([sum(values) for values in zip(*(term.values for term in terms))])
                left = results[one.left][job]
                yield Verdict(one, job, part, left.median, right.median, ratio(left, right))
