"""omnes doctor: what works here, what does not, and what to do about it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.markup import escape

from omnes import _core, programs
from omnes.commands.info import HUGE_PAGES, huge_pages
from omnes.errors import OmnesError, said
from omnes.launching import cpus, features, launch, libraries, mpi
from omnes.launching.processes import last_words, to_the_end
from omnes.terminal import options, output, units
from omnes.traces import statistics

WORKS, COSTS, FAILS = "works", "costs", "fails"
_MARKS = {WORKS: "[green]ok[/]  ", COSTS: "[yellow]slow[/]", FAILS: "[red]FAIL[/]"}
_RANKS = 2
_LIMIT_SECONDS = 60.0
_PROC = Path("/proc")
_LATE_SECONDS = 0.5  # of a job's start: what people notice, and no noise of a quiet machine


@dataclass(frozen=True)
class Finding:
    subject: str
    state: str  # WORKS, COSTS: it works, but slower than it could; FAILS: what needs it does not run
    what: str
    to_do: str = ""
    command: str = ""  # what to type for that, on one line however long


@click.command()
@click.option("--mpi", "places", multiple=True, metavar="PREFIX", help="Only this MPI. May be repeated.")
@options.json_only
def command(places: tuple[str, ...], to_json: Path | None) -> None:
    """Look whether omnes can work here: the MPIs, shared memory, what the kernel allows.

    Exits with 1 if something fails. Where an MPI's compiler is there, a program is started on two ranks, to see that
    omnes reaches them.

    \b
    omnes doctor
    omnes doctor --mpi /opt/openmpi
    """
    chosen = [mpi.at(place, os.environ) for place in places] or mpi.find_all(os.environ)
    found = list(_look(chosen))
    if output.deliver(to_json, {"findings": [asdict(one) for one in found]}):
        console = output.console()
        for one in found:
            first, *others = output.lines(f"{one.subject}: {one.what}", 5)
            console.print(_MARKS[one.state], escape(first.lstrip()), soft_wrap=True, highlight=False)
            for line in others:
                console.print(escape(line), soft_wrap=True, highlight=False)
            for line in output.lines(one.to_do, 7):
                console.print(escape(line), soft_wrap=True, highlight=False, style="dim")
            if one.command:
                console.print(f"         {escape(one.command)}", soft_wrap=True, highlight=False, style="dim")
        failing = sum(one.state == FAILS for one in found)
        slower = sum(one.state == COSTS for one in found)
        console.print(_verdict(failing, slower))
    sys.exit(any(one.state == FAILS for one in found))


def _verdict(failing: int, slower: int) -> str:
    if failing:
        return f"{failing} of these have to be put right first."
    if slower:
        return f"omnes works here; {slower} of these would make it faster."
    return "omnes works here, as fast as it can."


def _look(chosen: list[mpi.Mpi]) -> Iterator[Finding]:
    settings = _settings()
    yield settings
    if settings.state == FAILS:
        return  # no program would start
    yield _shared_memory()
    yield _single_copy()
    yield _huge_pages()
    yield from _cpus(chosen)
    yield from _limits()
    if not chosen:
        yield Finding("MPI", FAILS, "none found", "Put its mpirun into PATH, or name it: omnes doctor --mpi PREFIX.")
    for one in chosen:
        yield from _mpi(one)


def _settings() -> Finding:
    try:
        ignored = _core.check_settings()
    except ValueError as fault:
        return Finding("OMNES_ variables", FAILS, str(fault), "Until then MPI_Init fails with this message.")
    if ignored:
        return Finding("OMNES_ variables", COSTS, "; ".join(ignored), "What is ignored has no effect: drop it.")
    names = [name for name in sorted(os.environ) if name.startswith("OMNES_")]
    return Finding("OMNES_ variables", WORKS, ", ".join(names) + " are valid" if names else "none is set")


def _shared_memory() -> Finding:
    """Ranks share nameless memory; where they cannot pass it on, a file in /dev/shm."""
    needed = units.format_bytes(_core.segment_bytes(_RANKS))
    try:
        descriptor = os.memfd_create("omnes")
        os.ftruncate(descriptor, 1 << 20)
        os.close(descriptor)
    except OSError as fault:
        return _in_files(f"no nameless memory ({said(fault)})")
    return Finding("shared memory", WORKS, f"nameless; {needed} for {_RANKS} ranks, taken as it is used")


def _in_files(why: str) -> Finding:
    try:
        facts = os.statvfs("/dev/shm")
        free = facts.f_bavail * facts.f_frsize
        with tempfile.TemporaryFile(dir="/dev/shm"):
            pass
    except OSError as fault:
        to_do = "Mount /dev/shm, or allow memfd_create: without, messages go by the MPI."
        return Finding("shared memory", COSTS, f"{why}, and no files in /dev/shm ({said(fault)})", to_do)
    if free < _core.segment_bytes(_RANKS):
        return Finding(
            "shared memory", COSTS, f"{why}, and /dev/shm is full", "Make it larger: docker run --shm-size=1g."
        )
    return Finding("shared memory", WORKS, f"{why}; files in /dev/shm instead")


def _single_copy() -> Finding:
    if _core.cma_works():
        return Finding("single copy (CMA)", WORKS, "ranks may read each other's memory (process_vm_readv)")
    scope = _word(_PROC / "sys/kernel/yama/ptrace_scope")
    to_do = "In a container: docker run --cap-add SYS_PTRACE." if scope in (None, "0", "1") else (
        f"The kernel's yama/ptrace_scope is {scope}; 1 or 0 allows it."
    )  # fmt: skip
    return Finding("single copy (CMA)", COSTS, "not permitted: long messages are copied twice", to_do)


def _huge_pages() -> Finding:
    chosen = huge_pages()
    what = f"{chosen}, in shared memory"
    if chosen not in ("never", "deny"):
        return Finding("huge pages", WORKS, what)
    to_do = "For memory that ranks map (OMNES_HEAP=shared), as root:"
    return Finding("huge pages", WORKS, what, to_do, f"echo advise > {HUGE_PAGES}")


def _cpus(chosen: list[mpi.Mpi]) -> Iterator[Finding]:
    usable = cpus.usable_cpus()
    quota = cpus.quota()
    if quota is not None and quota < usable:
        to_do = "Of more ranks those that wait sleep early, but all may be stopped: start fewer, or raise it."
        yield Finding("CPUs", COSTS, f"{usable} usable, but a limit of the control group allows {quota:g}", to_do)
    else:
        yield Finding("CPUs", WORKS, f"{usable} usable, on {cpus.usable_cores()} cores")
    groups = _word(_PROC / "sys/kernel/sched_autogroup_enabled")
    if groups == "1" and any(one.kind == "hydra" for one in chosen):
        what = "on: with MPICH's launcher each rank is a group of its own, which yields to no other"
        to_do = "omnes run sees to it. Else, for more ranks than CPUs, as root:"
        yield Finding("autogroup", COSTS, what, to_do, "sysctl kernel.sched_autogroup_enabled=0")


def _limits() -> Iterator[Finding]:
    for name, limit, what in (
        ("ulimit -v", resource.RLIMIT_AS, "address space"),
        ("ulimit -f", resource.RLIMIT_FSIZE, "file size, which counts for shared memory, too"),
    ):
        allowed = resource.getrlimit(limit)[0]
        if allowed == resource.RLIM_INFINITY:
            continue
        state = FAILS if allowed < _core.segment_bytes(_RANKS) else WORKS
        yield Finding(name, state, f"{units.format_bytes(allowed)} of {what}", "Raise it." if state == FAILS else "")


def _mpi(one: mpi.Mpi) -> Iterator[Finding]:
    name = f"{one.name} ({one.launcher})"
    if one.family not in libraries.built():
        yield Finding(name, FAILS, "omnes was built without its library", "Install omnes with all families of MPIs.")
        return
    offers = features.offers(one)
    if offers is not None and not offers["progress_hook"]:
        what = "no progress hook: nonblocking collectives do not go on while a call of the MPI blocks"
        yield Finding(
            name, COSTS, what, "OMNES_ASYNC=1 has a thread do it; Open MPI has a hook, and so has MPICH 4.3 or newer."
        )
    try:
        program = programs.build("cg", one)
    except OmnesError as fault:
        yield Finding(name, WORKS, f"found; not tried, as nothing can be compiled for it: {fault.message}")
        return
    tried, seconds = _tried(one, name, program)
    yield tried
    # Who sets one of these has thought of it.
    if one.open_mpi and tried.state == WORKS and mpi.NO_FABRICS.keys().isdisjoint(os.environ):
        yield from _late(one, name, program, seconds)


def _late(one: mpi.Mpi, name: str, program: Path, seconds: float) -> Iterator[Finding]:
    """Whether jobs, one of which took `seconds`, wait for Open MPI's look at fabrics: where libfabric finds nothing."""
    if seconds < _LATE_SECONDS:
        return
    again, fewer_seconds = _tried(one, name, program, mpi.NO_FABRICS)
    saved = seconds - fewer_seconds
    if again.state == WORKS and saved > _LATE_SECONDS:
        what = f"each job starts {saved:.1f} s later than it could, as libfabric looks for networks"
        command = "export " + " ".join(f"{variable}={value}" for variable, value in mpi.NO_FABRICS.items())
        yield Finding(name, COSTS, what, "Where it has none to serve:", command)


def _tried(
    one: mpi.Mpi, name: str, program: Path, more_variables: Mapping[str, str] | None = None
) -> tuple[Finding, float]:
    """Whether a program on two ranks finds omnes in front of its MPI, and its memory shared; and its seconds."""
    with tempfile.TemporaryDirectory(prefix=".omnes-doctor-", dir=launch.meeting_place([])) as folder:
        more = ["--oversubscribe"] if one.open_mpi else []  # an allocation may have a slot for one rank only
        variables = {"OMNES_STATS": folder, **(more_variables or {})}
        started = launch.prepare([str(program)], _RANKS, more, launcher=str(one.launcher), variables=variables)
        with tempfile.TemporaryFile("w+", errors="replace") as said_all:
            try:
                seconds, code = to_the_end(started, said_all, _LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                what = f"a program on {_RANKS} ranks does not end in {_LIMIT_SECONDS:.0f} s"
                return Finding(name, FAILS, what, "Try:", str(started)), _LIMIT_SECONDS
            said_all.seek(0)
            complaint = last_words(said_all.read())
        report = statistics.merge(Path(folder))
    if code != 0:
        wrong = f"exit code {code}: {complaint}"
    elif report is None or report["reports"] < _RANKS:
        wrong = "omnes does not reach the ranks: LD_PRELOAD is lost on the way"
    elif report["wrong_family"] or not report["entries"]:
        wrong = statistics.summary(report)
    else:
        return Finding(name, WORKS, f"a program on {_RANKS} ranks: {statistics.summary(report)}"), seconds
    return Finding(name, FAILS, wrong, "Try:", str(started)), seconds


def _word(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None
