"""Which jobs to compare: every MPI as it comes, tuned for shared CPUs, with the user's settings, and with omnes."""

from __future__ import annotations

from collections.abc import Sequence

from omnes.bench.job import JobSpec
from omnes.errors import OmnesError
from omnes.mpi import Mpi

# What users set when ranks share CPUs; without it these MPIs spin. Open MPI yields by itself when it is told to
# oversubscribe.
SHARED_CPUS = {
    "hydra": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "0",
        "MPIR_CVAR_POSIX_POLL_FREQUENCY": "1",
    },
    "intel": {"I_MPI_WAIT_MODE": "1", "I_MPI_THREAD_YIELD": "2"},
}


def jobs(mpis: Sequence[Mpi], oversubscribed: bool, peers: Sequence[str]) -> list[JobSpec]:
    """For each MPI: stock, stock tuned for shared CPUs (when they are), the peers, omnes."""
    specs: list[JobSpec] = []
    for mpi in mpis:
        of = "" if len(mpis) == 1 else f" {mpi.name}"
        stock = f"stock{of}"
        specs.append(JobSpec(stock, mpi))
        if oversubscribed and mpi.kind in SHARED_CPUS:
            specs.append(JobSpec(f"{stock}, yielding", mpi, variables=SHARED_CPUS[mpi.kind]))
        for peer in peers:
            name, variables = _parse_peer(peer)
            specs.append(JobSpec(f"{name}{of}", mpi, variables=variables))
        specs.append(JobSpec(f"omnes{of}", mpi, with_omnes=True, baseline=stock))
    return specs


def _parse_peer(text: str) -> tuple[str, dict[str, str]]:
    """'NAME:A=1 B=2' -> the name and the variables."""
    name, colon, settings = text.partition(":")
    pairs = [word.partition("=") for word in settings.split()]
    if not name or not colon or not pairs or not all(equals and variable for variable, equals, _ in pairs):
        raise OmnesError(f"'{text}' is no peer: write NAME:VARIABLE=VALUE [VARIABLE=VALUE...]")
    return name, {variable: value for variable, _, value in pairs}
