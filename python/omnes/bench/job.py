"""One MPI job that waits, asleep, for commands: the collbench program on some MPI, with or without omnes.

Each rank reads its own channel, so between two commands no rank of the job uses a CPU.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnes import programs
from omnes.bench.channels import Connections, Pipes
from omnes.cluster import Cluster
from omnes.errors import OmnesError
from omnes.launching import launch, libraries, mpi
from omnes.launching.mpi import Mpi

_START_SECONDS = 60.0  # launching many ranks on few CPUs takes a while
_START_SECONDS_AFAR = 180.0  # as does launching them on many hosts
_STOP_SECONDS = 30.0  # spinning ranks that share CPUs are slow to finalise
_OPEN_MPI_BINDING = ("PRTE_MCA_hwloc_default_binding_policy", "OMPI_MCA_hwloc_base_binding_policy")
# What a launcher says of a job that ended, the most telling first: the words of omnes, and words of any kind.
_TELLING = (r"\bOMNES_\w+: ", r"(?i)error|signal|fault|cannot|not found")


@dataclass(frozen=True)
class JobSpec:
    """What to compare: a name for the tables, an MPI, and whether omnes is loaded."""

    name: str
    mpi: Mpi
    with_omnes: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None  # the job that this one is compared with
    options: tuple[str, ...] = ()  # of the launcher
    launcher: str = ""  # that starts the ranks, such as srun; none: the MPI's own

    @property
    def stock(self) -> bool:
        """The MPI as it comes."""
        return not self.with_omnes and not self.variables and not self.options

    @property
    def label(self) -> str:
        """The name where it is clear which MPI is meant."""
        return self.name.replace(f" {self.mpi.name}", "")


@dataclass(frozen=True)
class Spread:
    """The hosts that the ranks lie on, of an emulated cluster, or real ones. One, without a name: this machine as it
    is, or wherever launchers go by themselves."""

    hosts: int = 1
    cyclic: bool = False  # ranks are dealt to the hosts; else one is filled after the other
    bandwidth: str | None = None  # of each host's link, such as 1gbit; none: as fast as the kernel copies
    names: tuple[str, ...] = ()  # of real hosts

    @property
    def emulated(self) -> bool:
        return self.hosts > 1 and not self.names


ONE_HOST = Spread()


class JobError(OmnesError):
    """Something is wrong with one job."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"the {name} job: {what}")
        self.name = name
        self.what = what


class WrongResult(JobError):
    """A collective returned something else than MPI promises; such a thing is not timed."""


class JobLost(JobError):
    """It ended or hangs; it answers no more."""


class Job:
    def __init__(self, spec: JobSpec, ranks: int, bind: bool, spread: Spread = ONE_HOST) -> None:
        """Emulated hosts live as long as the job. On real ones that are named, or where variables say how, ranks are
        bound as their launcher does by itself."""
        self.spec = spec
        self.bound = bind
        starter = mpi.at(spec.launcher, os.environ) if spec.launcher else spec.mpi
        where = [*by_hosts(starter, spread, ranks), *spec.options]
        self._afar = not spread.emulated and launch.may_leave_machine(where, str(starter.launcher))
        told = spread.names or (self._afar and binding_is_given(starter, os.environ))
        options, variables = ([], {}) if told else binding(starter, bind)
        program = programs.build("collbench", spec.mpi)
        self._ranks = Connections(ranks, program.parent) if self._afar else Pipes(ranks)
        self.launch = launch.prepare(
            [str(program), str(self._ranks.folder)],
            ranks,
            [*options, *where],
            spec.with_omnes,
            str(starter.launcher),
            {**variables, **spec.variables},
            on_cluster=spread.emulated,
        )
        if spread.emulated:
            shared = (self._ranks.folder, program.parent, spec.mpi.prefix, libraries.folder())
            slots = -(-ranks // spread.hosts)
            cluster = Cluster(spread.hosts, slots, bandwidth=spread.bandwidth, shared=shared)
            self.launch.command = cluster.command(self.launch.command)
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            self.launch.command,
            env=self.launch.full_environment(),
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._buffer = b""

    def wait_until_ready(self) -> None:
        answer = self._answer("start", _START_SECONDS_AFAR if self._afar else _START_SECONDS)
        self._persistent = answer["persistent"]
        if answer["omnes"] != self.spec.with_omnes:
            raise JobLost(self.spec.name, "omnes is not loaded" if self.spec.with_omnes else "omnes is loaded")

    def offers(self, form: str) -> bool:
        """Whether this MPI has that form of the operations: blocking, nonblocking, or persistent."""
        return form != "persistent" or self._persistent

    def ask(self, command: str, seconds: float) -> dict[str, Any]:
        """Gives a command to all ranks and waits for rank 0's answer."""
        self._ranks.tell(command)
        answer = self._answer(command, seconds)
        if "wrong" in answer:
            raise WrongResult(self.spec.name, f"{command}: {answer['wrong']}")
        return answer

    def _answer(self, what: str, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            if said := self._ranks.hear(0.2):
                self._buffer += said
            elif self._process.poll() is not None:
                raise JobLost(self.spec.name, f"ended at '{what}': {self._last_words()}")
            elif time.monotonic() > deadline:
                raise JobLost(self.spec.name, f"no answer to '{what}' in {seconds:.0f} s; it hangs or crawls")
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def _last_words(self) -> str:
        """The line that most likely says why, out of a launcher's many."""
        self._said.seek(0)
        lines = [line.strip(" -=|*") for line in self._said.read().splitlines() if line.strip(" -=|*")]
        for pattern in _TELLING:
            if telling := [line for line in lines if re.search(pattern, line)]:
                return telling[-1]
        return lines[-1] if lines else f"exit code {self._process.returncode}"

    def close(self) -> None:
        """Ends the job: politely, then by force."""
        try:
            if self._process.poll() is None:
                self._ranks.tell("quit")
                self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for number in (signal.SIGTERM, signal.SIGKILL):
                os.killpg(self._process.pid, number)
                try:
                    self._process.wait(3)
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            self._ranks.close()
            self._said.close()


def binding(mpi: Mpi, bind: bool) -> tuple[list[str], dict[str, str]]:
    """Launcher options and variables that bind each rank to a core, or none."""
    if mpi.open_mpi:
        return ["--bind-to", "core" if bind else "none"], {}
    if mpi.kind == "hydra":
        return ["-bind-to", "core" if bind else "none"], {}
    if mpi.kind == "intel":
        return [], {"I_MPI_PIN": "1" if bind else "0"}
    return [], {}


def binding_is_given(mpi: Mpi, environment: Mapping[str, str]) -> bool:
    """Whether variables tell the launcher how to bind ranks."""
    if mpi.open_mpi:
        return any(name in environment for name in _OPEN_MPI_BINDING)
    return ("I_MPI_PIN" if mpi.kind == "intel" else "HYDRA_BINDING") in environment


def by_hosts(mpi: Mpi, spread: Spread, ranks: int) -> list[str]:
    """Fill one host after the other, also where the user's machine has fewer cores than they have slots together; or
    give each rank to the next host."""
    if spread.names:
        return on_hosts(mpi, spread.names, -(-ranks // spread.hosts))
    if spread.hosts == 1:
        return []
    if mpi.open_mpi:
        return ["--map-by", "node" if spread.cyclic else "slot"]
    return ["-ppn", "1"] if spread.cyclic else []


def on_hosts(mpi: Mpi, names: Sequence[str], each: int) -> list[str]:
    """Launcher options that put so many ranks on each of these hosts, one host after the other."""
    if mpi.open_mpi:
        return ["--host", ",".join(f"{name}:{each}" for name in names), "--map-by", "slot"]
    if mpi.kind == "hydra":
        return ["-hosts", ",".join(f"{name}:{each}" for name in names)]
    if mpi.kind == "intel":
        return ["-hosts", ",".join(names), "-ppn", str(each)]
    if mpi.launcher.name == "srun":
        return ["-N", str(len(names)), f"--ntasks-per-node={each}", "-w", ",".join(names)]
    raise OmnesError(f"cannot tell {mpi.launcher} on which hosts to start ranks: give mpirun, mpiexec or srun")
