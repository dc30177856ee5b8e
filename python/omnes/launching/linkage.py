"""Finds which MPI library a program uses, without running the program.

How: a dynamically linked program names its libraries (ldd resolves them as the loader would); a Python interpreter is
asked what its mpi4py loads; a script leads to its interpreter. The name of the library tells the family, which fixes
the binary interface.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omnes.errors import OmnesError
from omnes.launching import arguments

# The file names that the families' libraries are linked by.
_FAMILIES = (
    (re.compile(r"libmpi\.so\.40$"), "ompi"),
    (re.compile(r"libmpi(ch|_mt|_cray|_gnu_\w+|_intel)?\.so\.12$"), "mpich"),
    (re.compile(r"libmpi_abi\.so(\.\d+)?$"), "abi"),
)

# GCC's and Clang's AddressSanitizer, where it is no part of the program.
_SANITIZER = re.compile(r"libasan\.so|libclang_rt\.asan")

# Prints the MPI library that mpi4py brings into the interpreter, after a marker, without starting MPI.
_MPI4PY_PROBE = """
import mpi4py; mpi4py.rc.initialize = False
import mpi4py.MPI
for line in open("/proc/self/maps"):
    if "/libmpi" in line:
        print("mpi4py-library", line.split(None, 5)[5].strip())
"""


@dataclass(frozen=True)
class Program:
    path: Path
    family: str | None  # ompi, mpich, abi; None: not to be told from the file
    libmpi: Path | None  # the library itself, where it was found
    looked_at: str  # for messages: what was looked at, and what was seen
    sanitizer: str | None = None  # AddressSanitizer's library, which refuses to be loaded after others


def family_of(library: str) -> str | None:
    """The family of a library by its file name, such as libmpi.so.40."""
    return next((family for pattern, family in _FAMILIES if pattern.search(os.path.basename(library))), None)


def inspect(command: str, environment: Mapping[str, str]) -> Program:
    """Looks at the program that a launcher would start for this command word."""
    path = locate(command, environment)
    with path.open("rb") as file:
        head = file.read(256)
    if head.startswith(b"#!"):
        return _inspect_script(path, head, environment)
    if not head.startswith(b"\x7fELF"):
        return Program(path, None, None, f"{path} is neither an ELF program nor a script with a #! line")
    if _is_python(path):
        return _inspect_python(path, path, environment)
    return _inspect_elf(path, environment)


def inspect_command(words: Sequence[str], environment: Mapping[str, str]) -> Program:
    """The same of a program and its arguments; where it is none of MPI's but a command that starts one, as in
    `perf stat ./app`, that one."""
    first = inspect(words[0], environment)
    if first.family is None:
        for word in words[1:]:
            if arguments.is_launcher(word):  # it is not this command that starts it
                break
            if not word.startswith("-") and shutil.which(word, path=environment.get("PATH", os.defpath)):
                started = inspect(word, environment)
                if started.family is not None:
                    return started
    return first


def is_script(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def locate(command: str, environment: Mapping[str, str]) -> Path:
    search = environment.get("PATH", os.defpath)
    found = shutil.which(command, path=search)
    if found:
        return Path(found).absolute()
    here = Path(command)
    if here.is_file() and os.sep in command:
        raise OmnesError(f"program {command} is not executable (chmod +x {command})")
    hint = f"; there is one here: ./{command}" if here.is_file() else ""
    where = "no such file" if os.sep in command else "not in PATH"
    raise OmnesError(f"program {command} not found: {where}{hint}")


def replaces_mpi(library: Path) -> bool:
    """Whether a library replaces functions of MPI and is no MPI: a tool, which calls the MPI's by their PMPI_ names."""
    try:
        names = _defined(library.read_bytes())
    except (OSError, struct.error, ValueError):
        return False
    return any(name.startswith(b"MPI_") for name in names) and b"PMPI_Comm_rank" not in names


def preloaded(word: str, environment: Mapping[str, str]) -> Path:
    """Where the loader finds what LD_PRELOAD names."""
    folders = environment.get("LD_LIBRARY_PATH", "").split(":") if os.sep not in word else []
    return next((path for folder in folders if (path := Path(folder or ".", word)).is_file()), Path(word))


def _defined(elf: bytes) -> set[bytes]:
    """The names that a library for this machine defines for others."""
    dynamic_symbols, entry_bytes = 11, 24
    if not elf.startswith(b"\x7fELF\2\1"):
        raise ValueError("not ELF of 64 bits, little-endian")
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    (size, count) = struct.unpack_from("<HH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQI", elf, start + i * size) for i in range(count)]
    names = set()
    for _, kind, _, _, offset, length, link in sections:
        if kind != dynamic_symbols:
            continue
        strings = sections[link][4]
        for name, _, _, section in struct.iter_unpack(
            "<IBBH16x", elf[offset : offset + length // entry_bytes * entry_bytes]
        ):
            if section != 0:
                names.add(elf[strings + name : elf.index(b"\0", strings + name)])
    return names


def _is_python(path: Path) -> bool:
    return re.fullmatch(r"(python|pypy)[\d.]*t?", path.name) is not None


def _inspect_elf(path: Path, environment: Mapping[str, str]) -> Program:
    listing = subprocess.run(["ldd", str(path)], env=dict(environment), capture_output=True, text=True, check=False)
    names: list[str] = []
    libmpi = None
    for line in listing.stdout.splitlines():
        match = re.match(r"\s*(\S+)(?: => (not found|\S+))?", line)
        if match and libmpi is None and (family := family_of(match[1])):
            libmpi = (family, Path(match[2]) if match[2] and match[2] != "not found" else None, match[1])
        if match and match[1].startswith("lib"):
            names.append(match[1])
    if libmpi:
        family, found, name = libmpi
        sanitizer = next(filter(_SANITIZER.match, names), None)
        return Program(path, family, found, f"{path} needs {name}", sanitizer)
    if not names:
        return Program(path, None, None, f"{path} is statically linked")
    return Program(path, None, None, f"{path} needs no libmpi, only {', '.join(names)}")


def _inspect_script(path: Path, head: bytes, environment: Mapping[str, str]) -> Program:
    words = head[2:].split(b"\n", 1)[0].decode(errors="replace").split()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return Program(path, None, None, f"{path} has an empty #! line")
    interpreter = locate(words[0], environment)
    if _is_python(interpreter):
        return _inspect_python(path, interpreter, environment)
    return Program(path, None, None, f"{path} is a script for {interpreter.name}, which may start anything")


def _inspect_python(path: Path, interpreter: Path, environment: Mapping[str, str]) -> Program:
    probe = subprocess.run(
        [str(interpreter), "-c", _MPI4PY_PROBE], env=dict(environment), capture_output=True, text=True, check=False
    )
    for line in probe.stdout.splitlines():
        library = line[len("mpi4py-library ") :] if line.startswith("mpi4py-library ") else ""
        if family := family_of(os.path.basename(library)) or family_of(_soname(library)):
            return Program(path, family, Path(library), f"the mpi4py of {interpreter} loads {library}")
    complaint = (probe.stderr.strip().splitlines() or ["it loads no libmpi"])[-1]
    return Program(path, None, None, f"{interpreter} has no working mpi4py ({complaint})")


def _soname(library: str) -> str:
    """The name that a library is linked by: its file may be called libmpi.so.40.30.4."""
    return re.sub(r"(\.so\.\d+)\..*", r"\1", os.path.basename(library))
