"""What lies at an address of a process: functions, variables and sections of its files, stack, heap, shared memory.

By a copy of its /proc/self/maps and what nm and readelf say of the files; of a library of omnes that was installed
without names, by the one in build/editable/lib.
"""

from __future__ import annotations

import bisect
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from omnes.errors import OmnesError

BUILT = Path(__file__).resolve().parents[2] / "build/editable/lib"
_WHERE_THE_FILE_SAYS = 2  # e_type of a program that is not moved
_LAST = 1 << 64  # no address


class Region(NamedTuple):
    begin: int
    end: int
    access: str
    path: str  # or such as [stack]; of nameless memory right behind a file's data, the file's
    base: int  # what the file's addresses are counted from


class Named(NamedTuple):
    begin: int
    bytes: int
    name: str


@dataclass(frozen=True)
class File:
    """The symbols and sections of an ELF file, by its own addresses."""

    symbols: list[Named]
    sections: list[Named]

    def symbol(self, at: int) -> str | None:
        """With how far behind its beginning, unless that is it."""
        found = _at(self.symbols, at)
        if found is None:
            return None
        return found.name + (f"+{at - found.begin:#x}" if at > found.begin else "")

    def section(self, at: int) -> str | None:
        found = _at(self.sections, at)
        return found.name if found else None


class Maps:
    def __init__(self, text: str, thread: int) -> None:
        self._regions = _regions(text)
        self._thread = thread

    def function(self, address: int) -> str:
        """Such as `libmpi.so.40: MPI_Bcast`."""
        region = self._region(address)
        if region is None or not region.path.startswith("/"):
            return region.path if region else "?"
        file, at = elf(region.path), address - region.base
        symbol = file.symbol(at)
        return f"{Path(region.path).name}: {symbol or file.section(at)}"

    def place(self, address: int) -> str:
        """Of data: such as `stack`, `libmpi.so.40 .data: ompi_mpi_comm_world+0x40`."""
        region = self._region(address)
        if region is None:
            return "?"
        if region.path.startswith("/") and (found := _place_in_file(region, address)):
            return found
        if region == self._region(self._thread):
            return f"of the thread: fs{address - self._thread:+#x}"
        return region.path.strip("[]") if region.path.startswith("[") else "allocated"

    def _region(self, address: int) -> Region | None:
        at = bisect.bisect_right(self._regions, (address, _LAST)) - 1
        return self._regions[at] if at >= 0 and address < self._regions[at].end else None


def _place_in_file(region: Region, address: int) -> str | None:
    """None: behind what belongs to the file."""
    name = Path(region.path).name
    if region.access.endswith("s"):
        return f"shared: {name}+{address - region.begin:#x}"
    file, at = elf(region.path), address - region.base
    symbol, section = file.symbol(at), file.section(at)
    return f"{name} {section}" + (f": {symbol}" if symbol else "") if section else None


def _regions(text: str) -> list[Region]:
    found: list[Region] = []
    bases: dict[str, int] = {}
    for line in text.splitlines():
        span, access, offset, _device, _inode, *path = line.split(None, 5)
        begin, end = (int(bound, 16) for bound in span.split("-"))
        name = path[0] if path else ""
        before = found[-1] if found else None
        if not name and before and before.end == begin and before.path.startswith("/") and "w" in before.access:
            name = before.path
        elif name.startswith("/"):
            bases.setdefault(name, 0 if _is_fixed(name) else begin - int(offset, 16))
        found.append(Region(begin, end, access, name, bases.get(name, 0)))
    return found


@lru_cache(None)
def _is_fixed(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(18)
    except OSError:
        return False
    return head[:4] == b"\x7fELF" and head[16] == _WHERE_THE_FILE_SAYS


@lru_cache(None)
def elf(path: str) -> File:
    file = _with_names(Path(path))
    symbols: dict[int, Named] = {}
    for options in ("-DCS", "-CS"):  # what has a name in both has the longer one
        for at, size, kind, name in re.findall(r"^(\w+) (\w+) (\w) (.+)$", _say("nm", options, file), re.MULTILINE):
            if kind not in "Uw":
                symbols[int(at, 16)] = Named(int(at, 16), int(size, 16), name)
    headers = re.findall(
        r"^ +\[ *\d+\] (\S+) +(?!NULL)\S+ +(\w{16}) \w+ (\w+) \w+ +(\w*A\w*) ",
        _say("readelf", "-SW", file),
        re.MULTILINE,
    )
    sections = [Named(int(at, 16), int(size, 16), name) for name, at, size, flags in headers if "T" not in flags]
    return File(sorted(symbols.values()), sorted(sections))


def _with_names(file: Path) -> Path:
    """The same library where it was built, if it is."""
    built = BUILT / file.name
    same = built.exists() and _build(built) is not None and _build(built) == _build(file)
    return built if same else file


def _build(file: Path) -> str | None:
    found = re.search(r"Build ID: (\w+)", _say("readelf", "-nW", file))
    return found[1] if found else None


def _say(tool: str, options: str, file: Path) -> str:
    try:
        done = subprocess.run([tool, options, str(file)], capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise OmnesError(f"to name what calls touch takes {tool}: install binutils") from None
    return done.stdout


def _at(names: list[Named], at: int) -> Named | None:
    place = bisect.bisect_right(names, (at, _LAST)) - 1
    found = names[place] if place >= 0 else None
    return found if found and at < found.begin + max(found.bytes, 1) else None
