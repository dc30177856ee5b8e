"""An emulated cluster: several hosts on one machine, with which real launchers start real MPI programs across hosts.

A host is a set of Linux namespaces: a network interface, a name, processes, System V and POSIX shared memory, /tmp and
/dev/shm of its own, and its share of the CPUs; all other folders are shared, as on a cluster. One more set of
namespaces, the head, is where the command runs, from where `ssh n1 COMMAND` reaches the hosts (and nothing reaches
them from outside). MPI launchers find the hosts in variables and need no options.

Nothing can be left behind: all processes belong to the head, and the kernel ends them, with their interfaces, bridges
and mounts, when the head ends. It ends when its command does, or when the process that started it is gone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omnes.errors import OmnesError

# Of the head, and again of each host.
NAMESPACES = ("unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


class NotHere(OmnesError):
    """What the kernel or the rights do not allow."""

    exit_code = 77  # what test harnesses take for "skipped"


def bytes_per_second(rate: str) -> float:
    """What tc understands by the rate of a link."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(bit|bps)", rate)
    if not match:
        raise OmnesError(f"'{rate}' is no rate: write it as tc does, such as 1gbit or 500mbit")
    return float(match[1]) * 1000 ** " kmgt".index(match[2] or " ") / (8 if match[3] == "bit" else 1)


@dataclass(frozen=True)
class Cluster:
    hosts: int = 4
    ranks: int = 2  # slots of each host
    switches: int = 1
    bandwidth: str | None = None  # of each host's link, as tc writes it; none: as fast as the kernel copies
    uplink: str | None = None  # of each switch's link to the others; none: the hosts' bandwidth
    shared: tuple[Path, ...] = ()  # folders of /tmp and /dev/shm that all hosts see

    @property
    def names(self) -> list[str]:
        return [f"n{number}" for number in range(1, self.hosts + 1)]

    def switch_of(self, host: int) -> int:
        """Neighbours hang on one switch; the last switch may have fewer."""
        return host // -(-self.hosts // self.switches)

    def command(self, words: Sequence[str]) -> list[str]:
        """The command line that runs these words on the head of such a cluster."""
        options = [f"--hosts={self.hosts}", f"--ranks={self.ranks}", f"--switches={self.switches}"]
        options += [f"--bandwidth={self.bandwidth}"] if self.bandwidth else []
        options += [f"--uplink={self.uplink}"] if self.uplink else []
        options += [f"--share={folder}" for folder in self.shared]
        return [sys.executable, str(Path(__file__).with_name("__main__.py")), *options, "--", *words]
