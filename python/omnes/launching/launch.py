"""Builds the launcher's command line for a program under omnes (or on the stock MPI) and runs it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from omnes.errors import OmnesError
from omnes.launching import arguments, cpus, libraries, linkage, mpi
from omnes.launching.arguments import has_option
from omnes.launching.mpi import Mpi

# The launcher's own ways to say where ranks go: with one of them, the number of slots is the user's business.
_PLACEMENT = frozenset(
    dashes + name
    for name in ("oversubscribe", "nooversubscribe", "host", "hostfile", "machinefile", "map-by", "rankfile", "app")
    for dashes in ("-", "--")
) | {"-H", "-rf"}
_HOSTS = frozenset(dashes + name for name in ("host", "hosts", "hostfile", "machinefile") for dashes in ("-", "--"))
# Where launchers learn of hosts without being told.
_RESOURCE_MANAGERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID")
_HOST_FILES = (
    "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_default_hostfile",
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
)

# How each kind of launcher passes a variable to the ranks.
_PASS = {
    "prrte": lambda name, value: ["-x", f"{name}={value}"],
    "orte": lambda name, value: ["-x", f"{name}={value}"],
    "hydra": lambda name, value: ["-genv", name, value],
    "intel": lambda name, value: ["-genv", name, value],
}


@dataclass
class Launch:
    """What is started: a command line, and the environment it gets on top of the user's."""

    mpi: Mpi
    family: str | None
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def full_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}

    def __str__(self) -> str:
        settings = [f"{name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        return " ".join([*settings, shlex.join(self.command)])


def prepare(
    words: Sequence[str],
    ranks: int | None = None,
    launcher_options: Sequence[str] = (),
    with_omnes: bool = True,
    launcher: str | None = None,
    variables: Mapping[str, str] | None = None,
    on_cluster: bool = False,
    notices: str | None = None,
    yields: bool | None = None,
    found: linkage.Program | None = None,
    lenient: bool = False,
) -> Launch:
    """The launch of a program (words: its path and arguments). `variables` reach every rank.

    `on_cluster`: it will run on an emulated cluster, which sees to it that ranks yield. `notices`: the folder where
    ranks say that the program is of another family, where that is possible: it was taken from the launcher. `yields`:
    whether ranks that share CPUs yield; None: with omnes. `found`: by linkage.inspect_command(), where that was asked.
    `lenient`: what is of no known MPI runs without omnes.
    """
    found = found or linkage.inspect_command(words, os.environ)
    chosen, family = _choose_mpi(found, launcher)
    launch = Launch(chosen, family, [str(chosen.launcher)], chosen.environment(os.environ), [found.looked_at])
    if with_omnes and family is None:
        unknown = f"cannot tell the MPI family: {found.looked_at}, and {chosen.launcher} is of no known MPI"
        if not lenient:
            raise OmnesError(unknown)
        launch.warnings.append(f"{unknown}: runs without omnes")
        with_omnes = False
    launch.command += _permissions(chosen, ranks, launcher_options)
    if ranks is not None:
        launch.command += ["-n", str(ranks)]
    passed = {name: value for name, value in os.environ.items() if name.startswith("OMNES_")}
    stays = not on_cluster and not may_leave_machine(launcher_options, launcher)
    share_cpus = stays and ranks is not None and cpus.are_shared(ranks)
    yielding = share_cpus and (with_omnes if yields is None else yields)
    if yielding:
        passed.update({name: value for name, value in chosen.yielding.items() if name not in os.environ})
    passed.update(variables or {})
    earlier, others = _without_omnes(os.environ.get("LD_PRELOAD", ""))
    if with_omnes:
        launch.warnings += [
            f"LD_PRELOAD names {path}, for {libraries.FAMILIES[of]}; {found.looked_at}: left out"
            for path, of in others
            if of != family
        ]
        if yielding and chosen.kind == "hydra":
            launch.environment["LD_PRELOAD"] = _preload([libraries.session()], earlier)
        assert family is not None
        preload = [libraries.require(family)]
        if passed.get("OMNES_HEAP") == "shared":
            preload.insert(0, libraries.heap())
        if notices and found.family is None:
            passed["OMNES_NOTICES"] = notices
        # Tools count what the program calls; what they call comes to omnes.
        tools = [word for word in earlier if linkage.replaces_mpi(linkage.preloaded(word, os.environ))]
        first = [found.sanitizer] if found.sanitizer else []
        passed["LD_PRELOAD"] = _preload([*first, *tools, *preload], [word for word in earlier if word not in tools])
    elif others:
        launch.environment["LD_PRELOAD"] = _preload([], earlier)
    launch.command += launcher_options
    launch.command += _with_variables(chosen, passed, [_as_launched(words[0]), *words[1:]])
    return launch


def _preload(paths: Sequence[str | Path], earlier: Sequence[str]) -> str:
    return ":".join([*map(str, paths), *earlier])


def _without_omnes(preloaded: str) -> tuple[list[str], list[tuple[str, str]]]:
    """What LD_PRELOAD names but for our own libraries, and these with their families."""
    words = [word for word in re.split("[: ]", preloaded) if word]
    ours = {str(libraries.path(family).name): family for family in libraries.FAMILIES}
    others = [(word, ours[os.path.basename(word)]) for word in words if os.path.basename(word) in ours]
    return [word for word in words if os.path.basename(word) not in ours], others


def _choose_mpi(found: linkage.Program, launcher: str | None) -> tuple[Mpi, str | None]:
    if launcher is not None:
        named = mpi.at(launcher, os.environ)
        family = found.family or named.family
        if family != "abi" and named.family and family != named.family:
            raise OmnesError(f"{named.launcher} is {named.name}, but {found.looked_at}, which is of family {family}")
        return named, family
    if found.family is None and not linkage.is_script(found.path):
        raise OmnesError(f"no MPI program: {found.looked_at}; if it starts one, name the launcher: --mpirun PATH")
    chosen = mpi.beside(found.libmpi, found.family) if found.libmpi and found.family else None
    chosen = chosen or mpi.find(found.family, os.environ)
    if chosen is None:
        wanted = libraries.FAMILIES[found.family] if found.family else "any MPI"
        raise OmnesError(f"no launcher for {wanted} found ({found.looked_at}); name it: --mpirun PATH")
    return chosen, found.family or chosen.family


def _permissions(chosen: Mpi, ranks: int | None, options: Sequence[str]) -> list[str]:
    """What Open MPI asks for before it runs as root or puts more ranks than slots on a machine."""
    if not chosen.open_mpi:
        return []
    extra = []
    if os.geteuid() == 0 and not has_option(options, "--allow-run-as-root"):
        extra.append("--allow-run-as-root")
    placed = _hosts_are_known() or has_option(options, *_PLACEMENT)
    if ranks is not None and ranks > cpus.usable_cores() and not placed:
        extra.append("--oversubscribe")
    return extra


def _hosts_are_known() -> bool:
    return any(name in os.environ for name in (*_RESOURCE_MANAGERS, *_HOST_FILES))


def may_leave_machine(options: Sequence[str], launcher: str | None = None) -> bool:
    """Whether ranks may run on other hosts."""
    by_manager = launcher is not None and arguments.asks_for_hosts(launcher)
    return by_manager or _hosts_are_known() or has_option(options, *_HOSTS, "-H", "-f")


def meeting_place(options: Sequence[str], launcher: str | None = None) -> Path | None:
    """Where ranks can leave files: other hosts see this one's working folder, but not its /tmp. None: anywhere."""
    return Path.cwd() if may_leave_machine(options, launcher) and os.access(".", os.W_OK) else None


def _with_variables(chosen: Mpi, variables: Mapping[str, str], words: Sequence[str]) -> list[str]:
    """The program with its variables. A further program after ':' (an MPMD launch) gets them as well."""
    if not variables:
        return list(words)
    if chosen.kind not in _PASS:
        return _by_env([f"{name}={value}" for name, value in variables.items()], words)
    options = [word for name, value in variables.items() for word in _PASS[chosen.kind](name, value)]
    result = [*options]
    for word in words:
        result += [word, *options] if word == ":" and chosen.open_mpi else [word]
    return result


def _by_env(settings: Sequence[str], words: Sequence[str]) -> list[str]:
    """As srun and aprun have it: a further program comes after launcher options of its own."""
    end = words.index(":") if ":" in words else len(words)
    further = arguments.split(words[end + 1 :], {})
    rest = [":", *further.launcher, *_by_env(settings, further.program)] if further.program else words[end:]
    return ["env", *settings, *words[:end], *rest]


def _as_launched(word: str) -> str:
    """A bare name is looked up here already: launchers differ in where they look."""
    return word if os.sep in word else str(linkage.locate(word, os.environ))


def run(launch: Launch) -> int:
    """Runs the launch to its end with all signals passed on, and returns the shell's exit code for it."""
    return supervise(launch.command, launch.full_environment())


def supervise(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    pass_on: Callable[[subprocess.Popen[bytes], int], object] = subprocess.Popen.send_signal,
) -> int:
    """Runs a command to its end with all signals passed on, and returns the shell's exit code for it.

    A signal from the terminal reaches the whole foreground group, so the command has it already; one from another
    process has not.
    """
    forwarded = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, forwarded | {signal.SIGCHLD})
    try:
        child = subprocess.Popen(
            command,
            env=environment,
            pass_fds=pass_fds,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
        )
        while child.poll() is None:
            event = signal.sigwaitinfo(forwarded | {signal.SIGCHLD})
            from_terminal = event.si_code > 0
            if event.si_signo != signal.SIGCHLD and not from_terminal:
                pass_on(child, event.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def describe(launch: Launch) -> list[str]:
    """What --dry-run and --verbose show."""
    return [f"# {note}" for note in launch.notes] + [f"# {launch.mpi.name}, family {launch.family}", str(launch)]
