"""The command line of the emulated cluster (scripts/emulated-cluster): starts its head in new namespaces and waits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

if not __package__:  # started by its path
    sys.path[0] = str(Path(__file__).resolve().parents[2])

import click

from omnes.cluster import NAMESPACES, Cluster, NotHere, head, network
from omnes.launching import launch
from omnes.terminal import options

_TOOLS = {"unshare": "util-linux", "nsenter": "util-linux", "taskset": "util-linux", "ip": "iproute2", "tc": "iproute2"}


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": True},
    options_metavar="[OPTIONS] [--]",
)
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...", type=click.UNPROCESSED)
@click.option("-H", "--hosts", type=click.IntRange(1, network.MAX_HOSTS), default=4, show_default=True, metavar="N")
@click.option("--ranks", type=click.IntRange(1), default=2, show_default=True, metavar="N", help="Slots of each host.")
@click.option("--switches", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option("--bandwidth", callback=options.rate, metavar="RATE", help="Of each host's link, such as 1gbit.")
@click.option(
    "--uplink",
    callback=options.rate,
    metavar="RATE",
    help="Of the links between switches.",
)
@click.option(
    "--share",
    "shared",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    metavar="FOLDER",
    help="A folder of /tmp that all hosts see; may be repeated. The current folder is one.",
)
@click.option("--inside", type=int, hidden=True)  # the head itself; where it learns of signals and of our end
def main(
    words: tuple[str, ...],
    hosts: int,
    ranks: int,
    switches: int,
    bandwidth: str | None,
    uplink: str | None,
    shared: tuple[Path, ...],
    inside: int | None,
) -> None:
    """Run a command on the head of an emulated cluster.

    mpirun and mpiexec of Open MPI, MPICH and Intel MPI start their ranks across the hosts n1, n2, ... by themselves.
    All ends with the command. Where the machine does not allow this, the exit code is 77.

    \b
    scripts/emulated-cluster -H 4 --ranks 2 -- omnes run -n 8 --stats ./app
    scripts/emulated-cluster -H 8 --switches 2 --bandwidth 1gbit --uplink 500mbit mpiexec -n 16 ./app
    scripts/emulated-cluster -H 2 bash                      then: ssh n1 hostname
    """
    folders = tuple(dict.fromkeys((*shared, Path.cwd())))
    cluster = Cluster(hosts, ranks, min(switches, hosts), bandwidth, uplink, folders)
    if inside is not None:
        sys.exit(head.run(cluster, words, inside))
    namespaces = _namespaces()
    reading, writing = os.pipe()
    own = [sys.executable, __file__, f"--inside={reading}", *cluster.command(words)[2:]]
    sys.exit(
        launch.supervise(
            [*namespaces, *own], pass_fds=[reading], pass_on=lambda _, number: os.write(writing, bytes([number]))
        )
    )


def _namespaces() -> list[str]:
    """The words that start the head's process; an error says what is missing for them."""
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"  # which not all users have there
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            raise NotHere(f"no emulated cluster: there is no {tool}; install {package}")
    words = [*NAMESPACES, *(() if os.geteuid() == 0 else ("--user", "--map-root-user"))]
    probe = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise NotHere(f"no emulated cluster: the machine allows no namespaces: {probe.stderr.strip()}")
    return words


if __name__ == "__main__":
    main()
