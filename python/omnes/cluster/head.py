"""The head of an emulated cluster: makes the hosts, runs the command, reaps whatever loses its parent.

How: it is the first process of a process namespace, so with it all others end. Each host's namespaces are held by a
process that sleeps. What only this cluster knows (its `ssh`, the holders, lists of hosts) lies in a folder that all
hosts see.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from omnes.cluster import NAMESPACES, Cluster, NotHere, network
from omnes.launching.mpi import YIELDING, of_command

_PLACE = Path("/dev/shm/cluster")
_SCRIPTS = Path(__file__).resolve().parent

_VARIABLES = {
    "PRTE_MCA_plm_ssh_agent": f"{_PLACE}/bin/ssh",
    "PRTE_MCA_prte_default_hostfile": f"{_PLACE}/open-mpi",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_plm_rsh_agent": f"{_PLACE}/bin/ssh",
    "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
    "OMPI_MCA_orte_default_hostfile": f"{_PLACE}/open-mpi",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "HYDRA_BINDING": "none",
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": f"{_PLACE}/bin/ssh",
    "HYDRA_HOST_FILE": f"{_PLACE}/hydra",
    "I_MPI_HYDRA_BOOTSTRAP": "ssh",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC": f"{_PLACE}/bin/ssh",
    "I_MPI_HYDRA_HOST_FILE": f"{_PLACE}/hydra",
    # Root of nobody's machine.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
# For who is not known: MPICH 5 then sleeps where it would yield, so not in each look.
_YIELDING = {
    **YIELDING["mpich-4"],
    **YIELDING["mpich"],
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
    **YIELDING["intel"],
}


def run(cluster: Cluster, words: Sequence[str], lifeline: int) -> int:
    """Runs the command on the head of a new cluster and returns the shell's exit code for it.

    The lifeline brings the numbers of signals for the command; when it breaks, all ends.
    """
    command: list[subprocess.Popen[bytes]] = []  # once there is one; kept, as it would be waited for when it goes
    for number in (signal.SIGINT, signal.SIGQUIT):  # from the terminal, which tells the command, too
        signal.signal(number, lambda *_: None)
    threading.Thread(target=_follow, args=(lifeline, command), daemon=True).start()
    _make(cluster)
    try:
        command.append(subprocess.Popen(words, env=_environment(cluster, words[0])))
    except OSError as fault:
        print(f"emulated-cluster: cannot start {words[0]}: {fault.strerror}", file=sys.stderr)
        return 127
    while True:
        process, status = os.wait()  # for anybody who has lost its parent, too
        if process == command[0].pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _follow(lifeline: int, command: Sequence[subprocess.Popen[bytes]]) -> None:
    while number := os.read(lifeline, 1):
        if not command:
            os._exit(128 + number[0])
        with contextlib.suppress(ProcessLookupError):  # it may have ended by the same signal
            os.kill(command[0].pid, number[0])
    os._exit(1)


def _make(cluster: Cluster) -> None:
    folders = [str(folder) for folder in (*cluster.shared, _SCRIPTS) if _is_covered(folder)]
    _do("give the head its folders", ["bash", str(_SCRIPTS / "own_folders.sh"), *folders, "--", "hostname", "head"])
    for name in ("bin", "hosts"):
        (_PLACE / name).mkdir(parents=True)
    shutil.copy(_SCRIPTS / "ssh.sh", _PLACE / "bin/ssh")
    (_PLACE / "bin/ssh").chmod(0o755)
    for name, lines in network.files(cluster).items():
        (_PLACE / name).write_text("\n".join(lines) + "\n")
    _do("name the hosts", ["mount", "--bind", str(_PLACE / "etc-hosts"), "/etc/hosts"])

    holders = [_begin_host(cluster, host, [*folders, str(_PLACE)]) for host in range(cluster.hosts)]
    for holder, name in zip(holders, cluster.names):
        _expect("made", holder, name)
    _do("make the network", ["ip", "-batch", "-"], network.links(cluster, [holder.pid for holder in holders]))
    _do("limit the bandwidth", ["tc", "-batch", "-"], network.shapes(cluster))
    for holder in holders:
        print(file=holder.stdin, flush=True)
    for holder, name, cpus in zip(holders, cluster.names, shares_of_cpus(cluster.hosts)):
        _expect("ready", holder, name)
        (_PLACE / "hosts" / name).write_text(f"{holder.pid} {','.join(map(str, cpus))}\n")


def _is_covered(folder: Path) -> bool:
    return any(folder.is_relative_to(place) and folder != Path(place) for place in ("/tmp", "/dev/shm"))


def _begin_host(cluster: Cluster, host: int, folders: Sequence[str]) -> subprocess.Popen[str]:
    words = [*NAMESPACES, "bash", str(_SCRIPTS / "own_folders.sh"), *folders, "--", "bash", str(_SCRIPTS / "host.sh")]
    words += [cluster.names[host], network.with_prefix(host)]
    if rate := cluster.bandwidth:
        words += [str(network.packet(rate)), *network.shape(rate)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def _expect(word: str, holder: subprocess.Popen[str], name: str) -> None:
    said = holder.stdout.readline().strip() if holder.stdout else ""
    if said != word:
        raise NotHere(f"no emulated cluster: cannot make host {name}: {said}")


def shares_of_cpus(hosts: int) -> list[list[int]]:
    """CPUs of each host: neighbours, of its own where there are enough."""
    cpus = sorted(os.sched_getaffinity(0))
    starts = [host * len(cpus) // hosts for host in range(hosts + 1)]
    return [cpus[start:end] or [cpus[start]] for start, end in zip(starts, starts[1:])]


def _environment(cluster: Cluster, command: str) -> dict[str, str]:
    """What makes launchers use the hosts, unless the user's environment says otherwise."""
    found = dict(_VARIABLES)
    if cluster.hosts * cluster.ranks > len(os.sched_getaffinity(0)):
        found.update(yielding(command))
    if cluster.switches > 1:
        found["OMNES_TOPOLOGY"] = f"{_PLACE}/topology.conf"
    return {**found, **os.environ, "PATH": f"{_PLACE}/bin:{os.environ.get('PATH', os.defpath)}"}


def yielding(command: str) -> dict[str, str]:
    """Hosts share CPUs, which no MPI can see: without these, waiting ranks keep them from those waited for.

    What MPICH before 5 needs has MPICH 5 sleep in each of its looks for messages, so only who is not known gets both.
    """
    mpi = of_command(command, os.environ)
    return {"OMPI_MCA_mpi_yield_when_idle": "1", **(mpi.yielding if mpi else _YIELDING)}


def _do(what: str, words: Sequence[str], given: Iterable[str] = ()) -> None:
    answer = subprocess.run(words, input="\n".join(given), capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        said = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[0]
        raise NotHere(f"no emulated cluster: cannot {what}: {said}")
