"""Runs programs under SimGrid's smpirun: compiled by smpicc, alone or linked with omnes."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from omnes import programs
from omnes.errors import OmnesError
from omnes.launching import libraries
from omnes.simulation.platforms import Platform

SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
_NO_ALGORITHMS = ("automatic",)  # but all of them, one after the other
_OTHER_FILES = 64  # that a simulation opens, beside one for each rank


@dataclass(frozen=True)
class Machine:
    """Where the ranks run."""

    platform: Platform
    ranks: int
    ppn: int
    placement: str  # block, cyclic or random


def require(with_omnes: bool = True) -> None:
    if shutil.which("smpirun") is None or shutil.which("smpicc") is None:
        raise OmnesError("no SimGrid here: smpirun and smpicc are not in PATH (Debian: libsimgrid-dev)")
    if with_omnes and not libraries.simulated().is_file():
        raise OmnesError(
            "omnes was built without its library for simulations: build it with the CMake option "
            "OMNES_FAMILIES=ompi;mpich;abi;smpi"
        )


def build() -> str:
    """Which build of omnes it is."""
    return hashlib.sha256(libraries.simulated().read_bytes()).hexdigest()[:12]


def _allow_files(ranks: int) -> None:
    """The globals of each rank are an open file, which takes the place of the program's when the rank's turn comes."""
    needed = ranks + _OTHER_FILES
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < needed:
        raise OmnesError(f"{ranks} ranks need {needed} open files; the limit is {most} (ulimit -Hn)")
    if now != resource.RLIM_INFINITY and now < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def compiled(source: Path, with_omnes: bool) -> Path:
    """The library is linked whole, as algorithms register themselves, and its MPI functions go before SimGrid's."""
    library = libraries.simulated()
    words = (
        [f"-Wl,--whole-archive,{library},--no-whole-archive", "-Wl,-Bsymbolic", "-lstdc++", "-s"] if with_omnes else []
    )
    flags = ["-O2", "-DSMPI_NO_OVERRIDE_MALLOC"]
    return programs.compile_once(source, Path("smpicc"), flags, [*words, "-lm"], build() if with_omnes else "")


def run(
    program: Path, words: Sequence[str], machine: Machine, selector: str, variables: dict[str, str],
    settings: Sequence[str], patience: float,
) -> Iterator[str]:  # fmt: skip
    """The lines that the program prints, as they come. A failure, or silence for so many seconds, is an OmnesError."""
    _allow_files(machine.ranks)
    overhead = f"0:{machine.platform.overhead}:0"
    chosen = [
        f"smpi/coll-selector:{selector}", "smpi/privatization:mmap", "smpi/simulate-computation:no",
        "smpi/bw-factor:0:1", "smpi/lat-factor:0:1", f"smpi/os:{overhead}",
        f"smpi/ois:{overhead}", f"smpi/or:{overhead}", *settings,
    ]  # fmt: skip
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OMNES_")}
    environment = {**kept, "OMNES_MACHINE": "off", **variables}  # what was measured here says nothing of the platform
    with tempfile.TemporaryDirectory(prefix="omnes-simulate-") as name, (Path(name) / "errors").open("w+") as errors:
        folder = Path(name)
        hosts = machine.platform.host_of_each_rank(machine.ranks, machine.ppn, machine.placement)
        (folder / "hosts").write_text("\n".join(hosts) + "\n")
        command = [
            "smpirun", "-quiet", "-np", str(machine.ranks), "-platform", str(machine.platform.write(folder)),
            "-hostfile", str(folder / "hosts"), *(f"--cfg={setting}" for setting in chosen), "--log=root.thres:error",
            str(program), *words,
        ]  # fmt: skip
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment, cwd=folder, text=False
        )
        try:
            yield from _lines(process, patience)
        finally:
            process.terminate()
            code = process.wait()
        if code != 0:
            errors.seek(0)
            said = [line for line in errors.read().splitlines() if line.strip() and not line.startswith(" ")]
            raise OmnesError(f"the simulation failed: {said[0] if said else f'exit code {code}'}")


def named(program: Path, machine: Machine, operation: str) -> list[str]:
    """What SimGrid calls its algorithms for the operation, selectors among them: it says so of a name that is none."""
    try:
        list(run(program, [], machine, SELECTORS[0], {}, [f"smpi/{operation}:?"], 60))
    except OmnesError as refusal:
        if found := re.search(r"Valid algorithms: (.*)\.", refusal.format_message()):
            return [name for name in found[1].split(", ") if name not in _NO_ALGORITHMS]
    raise OmnesError(f"SimGrid does not say which algorithms it has for {operation}")


def _lines(process: subprocess.Popen[bytes], patience: float) -> Iterator[str]:
    assert process.stdout
    rest = b""
    while True:
        if not select.select([process.stdout], [], [], patience)[0]:
            raise OmnesError(f"the simulation said nothing for {patience:.0f} s")
        piece = os.read(process.stdout.fileno(), 65536)
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
        if not piece:
            return
