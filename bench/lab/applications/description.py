"""Program files: how a program is installed or built, its input, its command, its own figure, its result's check.

In a command, an input, a build and a preparation some words stand for what differs from run to run: @RANKS@; @ROWS@ and
@COLUMNS@, the squarest grid of so many ranks; @SOURCE@, where the program's source was built; @MPICC@, @MPICXX@ and
@MPIFORT@, the compilers of the MPI.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnes.errors import OmnesError
from omnes.terminal import toml_files

# What bench/programs calls an MPI, and the family of its library.
MPIS = {"openmpi": "ompi", "mpich": "mpich"}
BETTER = ("less", "more")
OF = ("last", "sum")

_DEFAULTS = {
    "why": toml_files.REQUIRED,
    "packages": [],  # Debian's, on every MPI
    "git": "",  # or its source: a repository
    "commit": "",  # of that, in full
    "build": "",  # shell commands, run in a copy of the source for each MPI
    "prepare": "",  # shell commands that make inputs, run once in a folder that holds the files
    "files": {},  # inputs by name
    "command": [],  # or one for each MPI
    "variables": {},
    "output": "",  # files that the program writes, such as *.log, read beside what it prints
    "ranks": [],  # that it can run with; none: any
    "seconds": 300.0,  # of a run, at most: then it hangs
    "figures": toml_files.REQUIRED,
    "checks": toml_files.REQUIRED,
    "mpi": toml_files.REQUIRED,
}
_FIGURE_DEFAULTS = {
    "name": toml_files.REQUIRED,
    "pattern": toml_files.REQUIRED,
    "unit": "s",
    "better": "less",
    "of": "last",  # of several matches; or "sum"
}
_CHECK_DEFAULTS = {
    "pattern": toml_files.REQUIRED,  # is to be found; with a group: a number, the same as on the stock MPI
    "tolerance": 0.0,  # relative, of that number
}
_MPI_DEFAULTS: dict[str, Any] = {
    "packages": [],
    "command": [],  # another one than for the others
}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eEdD][-+]?\d+)?")


@dataclass(frozen=True)
class Figure:
    """A number that the program itself prints about its run."""

    name: str
    pattern: str
    unit: str = "s"
    better: str = "less"
    of: str = "last"

    def read(self, text: str) -> float | None:
        """None where the program did not print it."""
        values = numbers(self.pattern, text)
        return (sum(values) if self.of == "sum" else values[-1]) if values else None


@dataclass(frozen=True)
class Check:
    pattern: str
    tolerance: float = 0.0

    @property
    def compares(self) -> bool:
        return re.compile(self.pattern).groups > 0

    def wrong(self, text: str, stock: str) -> str | None:
        """What is wrong with a run's output, set beside the stock MPI's."""
        if not re.search(self.pattern, text, re.MULTILINE):
            return f"nothing in its output matches '{self.pattern}'"
        if not self.compares:
            return None
        ours, theirs = numbers(self.pattern, text), numbers(self.pattern, stock)
        if len(ours) != len(theirs):
            return f"'{self.pattern}' is there {len(ours)} times, on the stock MPI {len(theirs)} times"
        for mine, other in zip(ours, theirs):
            if not abs(mine - other) <= self.tolerance * max(abs(mine), abs(other)):
                return f"'{self.pattern}' is {mine:.12g}, on the stock MPI {other:.12g}"
        return None


@dataclass(frozen=True)
class OnMpi:
    """What differs on one MPI."""

    packages: tuple[str, ...]
    command: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    name: str
    why: str
    git: str
    commit: str
    build: str
    prepare: str
    files: Mapping[str, str]
    variables: Mapping[str, str]
    output: str
    ranks: tuple[int, ...]
    seconds: float
    figures: tuple[Figure, ...]
    checks: tuple[Check, ...]
    mpi: Mapping[str, OnMpi]

    def runs_with(self, ranks: int) -> bool:
        return not self.ranks or ranks in self.ranks


def read(path: Path) -> Description:
    where = str(path)
    values = toml_files.over_defaults(toml_files.load(path), _DEFAULTS, where)
    packages, command = values.pop("packages"), values.pop("command")
    values["figures"] = tuple(
        Figure(**toml_files.over_defaults(table, _FIGURE_DEFAULTS, f"{where}: figures"))
        for table in _tables(values["figures"], f"{where}: figures")
    )
    values["checks"] = tuple(
        Check(**toml_files.over_defaults(table, _CHECK_DEFAULTS, f"{where}: checks"))
        for table in _tables(values["checks"], f"{where}: checks")
    )
    values["mpi"] = _mpis(values["mpi"], packages, command, f"{where}: mpi")
    values["ranks"] = tuple(values["ranks"])
    values["variables"] = {name: str(value) for name, value in values["variables"].items()}
    _require_patterns(values["figures"], values["checks"], where)
    if bool(values["git"]) != bool(values["commit"]) or (values["git"] and not values["build"]):
        raise OmnesError(f"{where}: a source needs git, commit and build, all of them")
    if values["build"] and not values["git"]:
        raise OmnesError(f"{where}: build is for a source: give git and commit, too")
    return Description(path.stem, **values)


def _tables(given: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not given or not all(isinstance(table, dict) for table in given):
        raise OmnesError(f"{where} is to be one or more tables, [[...]]")
    return given


def _mpis(given: Any, packages: Sequence[str], command: Any, where: str) -> dict[str, OnMpi]:
    if not isinstance(given, dict) or not given or set(given) - set(MPIS):
        raise OmnesError(f"{where} is to have one or more of the tables {', '.join(f'[mpi.{name}]' for name in MPIS)}")
    found = {}
    for name, table in given.items():
        own = toml_files.over_defaults(table, _MPI_DEFAULTS, f"{where}.{name}")
        words = own["command"] or command
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise OmnesError(f"{where}.{name}: command is to be a list of words, not {words!r}")
        found[name] = OnMpi((*packages, *own["packages"]), tuple(words))
    return found


def _require_patterns(figures: Sequence[Figure], checks: Sequence[Check], where: str) -> None:
    for figure in figures:
        if figure.better not in BETTER or figure.of not in OF:
            raise OmnesError(
                f"{where}: figures: better is one of {', '.join(BETTER)}, not '{figure.better}'; "
                f"of is one of {', '.join(OF)}, not '{figure.of}'"
            )
    for least, pattern in [(1, each.pattern) for each in figures] + [(0, each.pattern) for each in checks]:
        try:
            groups = re.compile(pattern).groups
        except re.error as fault:
            raise OmnesError(f"{where}: '{pattern}' is no regular expression: {fault}") from None
        if not least <= groups <= 1:
            raise OmnesError(f"{where}: '{pattern}' is to have {'one group' if least else 'at most one group'}")


def numbers(pattern: str, text: str) -> list[float]:
    """Those in the pattern's group, Fortran's (1.5D-03) and '1m 2.5' included."""
    return [_number(found) for found in re.findall(pattern, text, re.MULTILINE)]


def _number(text: str) -> float:
    minutes, m, seconds = text.partition("m")
    parts = [minutes, seconds] if m else [text]
    found = [float(part.strip().lower().replace("d", "e")) for part in parts if _NUMBER.fullmatch(part.strip())]
    if len(found) != len(parts):
        return math.nan
    return 60 * found[0] + found[1] if m else found[0]


def grid(ranks: int) -> tuple[int, int]:
    """The squarest, with no more rows than columns."""
    rows = max(rows for rows in range(1, math.isqrt(ranks) + 1) if ranks % rows == 0)
    return rows, ranks // rows


def fill(text: str, words: Mapping[str, str]) -> str:
    for name, value in words.items():
        text = text.replace(f"@{name}@", value)
    return text
