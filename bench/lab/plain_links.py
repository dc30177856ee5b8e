"""The machine file of a simulated platform with plain links, for omnes predict.

In SimGrid a rank's copies and reductions take no time, and pairs of ranks of a host do not slow each other down.
"""

from __future__ import annotations


def machine_file(
    name: str,
    per_host: int,
    work: float,
    memory_latency: float,
    memory_bandwidth: float,
    latency: float,
    bandwidth: float,
) -> str:
    """TOML. Seconds and bytes a second; work: of a message, at each end; of the network: between any two hosts."""
    return f"""
format = "omnes machine"
version = 1
name = "{name}"
ranks_per_node = {per_host}
copy = [[0, 0, 0.0]]
reduce = {{ "f64 sum" = [[0, 0, 0.0]] }}
[[level]]
name = "node"
by = "messages"
send = {work}
recv = {work}
latency = {memory_latency}
wire = [[0, 0, {1 / memory_bandwidth}]]
out = {1 / bandwidth}
[[level]]
name = "network"
by = "messages"
send = {work}
recv = {work}
latency = {latency}
wire = [[0, 0, {1 / bandwidth}]]
"""
