"""Figures of Luo, Zhang 2017: a cluster with up to 8192 processes, and what operations took there."""

from __future__ import annotations

P, BYTES = 8192, 16384  # of Table 5
# Of PingPong, one to all; 2.2 GHz, 256 bits a cycle.
ALPHA, BANDWIDTH, GAMMA = 2.37e-6, 3183e6, 1 / (2.2e9 * 32)
EXCHANGE = {8: 569e6, 12: 450e6}  # bytes per second of each process when all of a node send and receive at once

# Table 5: measured microseconds by processes on a node.
MEASURED = {
    "reduce": {12: 342, 8: 352},
    "bcast": {12: 1208, 8: 1056},
    "gather": {12: 61466, 8: 59600},
    "scatter": {12: 144919, 8: 141772},
    "allgather": {12: 632637, 8: 429510},
    "allreduce": {12: 5126, 8: 3487},
    "alltoall": {12: 9886531, 8: 3383299},
}
# The algorithm whose formula applies; whether all send to all.
THEORY = {
    "reduce": ("knomial", False),
    "bcast": ("knomial", False),
    "gather": ("knomial", False),
    "scatter": ("knomial", False),
    "allgather": ("ring", True),
    "allreduce": ("recursive_doubling", True),
    "alltoall": ("pairwise", True),
}
