"""The network of an emulated cluster, as ip and tc read it, and its hosts and switches, as other programs read them.

A host's interface eth0 is one end of a veth pair; the other end, named after the host, is a port of its switch: a
bridge in the head's network namespace. Where there are several, s1, s2, ..., each hangs on the bridge s0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnes.cluster import Cluster, bytes_per_second

_HEAD = "10.77.255.254"
_PREFIX = 16  # bits of the network
_OF_A_BLOCK = 250  # hosts whose addresses differ in the last byte only
MAX_HOSTS = 255 * _OF_A_BLOCK
_PACKET_SECONDS = 24e-6  # on a shaped link
_TWO_FRAMES, _LARGEST_PACKET = 2 * 1514, 65536  # bytes


def address(host: int) -> str:
    return f"10.77.{host // _OF_A_BLOCK}.{host % _OF_A_BLOCK + 1}"


def with_prefix(host: int) -> str:
    return f"{address(host)}/{_PREFIX}"


def links(cluster: Cluster, holders: Sequence[int]) -> Iterator[str]:
    """For ip; the holders are processes in the hosts' namespaces."""
    yield from ("link set lo up", "link add s0 type bridge", "link set s0 up", f"addr add {_HEAD}/{_PREFIX} dev s0")
    for switch in _leaves(cluster):
        yield from (f"link add s{switch} type bridge", f"link set s{switch} up")
        yield f"link add up{switch} type veth peer name down{switch}"
        yield from (f"link set up{switch} master s{switch} up", f"link set down{switch} master s0 up")
    for host, (name, holder) in enumerate(zip(cluster.names, holders)):
        switch = cluster.switch_of(host) + 1 if cluster.switches > 1 else 0
        yield f"link add {name} type veth peer name eth0 netns {holder}"
        yield f"link set {name} master s{switch} up"


def packet(rate: str) -> int:
    """Bytes of the largest that a link carries. The kernel makes packets of 64 KiB, which a slow link would pass on as
    a whole, and all at once when it was idle; packets of fewer than two frames cost too much time."""
    return min(max(round(bytes_per_second(rate) * _PACKET_SECONDS), _TWO_FRAMES), _LARGEST_PACKET)


def shape(rate: str) -> list[str]:
    """A bucket that holds two packets, as timers are late; waiting packets fill 50 ms."""
    return f"tbf rate {rate} burst {2 * packet(rate)} latency 50ms".split()


def shapes(cluster: Cluster) -> Iterator[str]:
    """For tc; the hosts shape what they send themselves."""
    rates: dict[str, str | None] = dict.fromkeys(cluster.names, cluster.bandwidth)
    for switch in _leaves(cluster):
        rates.update(dict.fromkeys((f"up{switch}", f"down{switch}"), cluster.uplink or cluster.bandwidth))
    for port, rate in rates.items():
        if rate:
            yield " ".join(["qdisc add dev", port, "root", *shape(rate)])


def files(cluster: Cluster) -> dict[str, list[str]]:
    """Lists of hosts for each kind of launcher, and the switches as Slurm describes them."""
    on_switch = [
        [name for host, name in enumerate(cluster.names) if cluster.switch_of(host) == switch]
        for switch in range(cluster.switches)
    ]
    switches = [f"SwitchName=s{number} Nodes={','.join(names)}" for number, names in enumerate(on_switch, 1)]
    if cluster.switches > 1:
        switches.append(f"SwitchName=s0 Switches=s[1-{cluster.switches}]")
    addresses = [f"{address(host)} {name}" for host, name in enumerate(cluster.names)]
    return {
        "etc-hosts": ["127.0.0.1 localhost", f"{_HEAD} head", *addresses],
        "open-mpi": [f"{name} slots={cluster.ranks}" for name in cluster.names],
        "hydra": [f"{name}:{cluster.ranks}" for name in cluster.names],
        "topology.conf": switches,
    }


def _leaves(cluster: Cluster) -> range:
    return range(1, cluster.switches + 1) if cluster.switches > 1 else range(0)
