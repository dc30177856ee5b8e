"""Which jobs to compare: for each MPI as it comes, tuned for shared CPUs, with the user's settings, and with omnes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from omnes.bench.job import JobSpec
from omnes.errors import OmnesError, UsageError
from omnes.launching.mpi import Mpi

# What omnes comes with, whatever table and machine file the user has.
COMPILED_IN = {"OMNES_TABLE": "off", "OMNES_MACHINE": "off"}


def jobs(
    mpis: Sequence[Mpi], oversubscribed: bool, peers: Sequence[str], variants: Sequence[str] = ()
) -> list[JobSpec]:
    """For each MPI: stock, stock tuned for shared CPUs (when they are), the peers, omnes, its variants."""
    specs: list[JobSpec] = []
    for mpi, of in _told_apart(mpis):
        stock = f"stock{of}"
        specs.append(JobSpec(stock, mpi))
        if oversubscribed and mpi.yielding:
            specs.append(JobSpec(f"{stock}, yielding", mpi, variables=mpi.yielding))
        for peer in peers:
            name, variables = named_settings(peer, "peer")
            specs.append(JobSpec(f"{name}{of}", mpi, variables=variables))
        specs.append(JobSpec(f"omnes{of}", mpi, with_omnes=True, baseline=stock))
        for variant in variants:
            name, variables = named_settings(variant, "peer")
            specs.append(JobSpec(f"{name}{of}", mpi, with_omnes=True, variables=variables, baseline=stock))
    refuse_equal([spec.name for spec in specs], "jobs")
    return specs


def with_table(mpis: Sequence[Mpi], table: Path) -> list[JobSpec]:
    """For each MPI: omnes with the compiled-in table only, and with this one in front of it."""
    specs: list[JobSpec] = []
    for mpi, of in _told_apart(mpis):
        tuned = {**COMPILED_IN, "OMNES_TABLE": str(table.resolve())}
        specs.append(JobSpec(f"compiled-in{of}", mpi, True, COMPILED_IN))
        specs.append(JobSpec(f"tuned{of}", mpi, True, tuned, baseline=f"compiled-in{of}"))
    return specs


def _told_apart(mpis: Sequence[Mpi]) -> Iterator[tuple[Mpi, str]]:
    """Each with the end of its jobs' names: its own, unless it is alone, and its launcher if others are so named."""
    names = [mpi.name for mpi in mpis]
    for mpi in mpis:
        place = f" by {mpi.launcher}" if names.count(mpi.name) > 1 else ""
        yield mpi, "" if len(mpis) == 1 else f" {mpi.name}{place}"


def refuse_equal(names: Sequence[str], what: str) -> None:
    """what: the word for those that are named."""
    if len(set(names)) < len(names):
        raise UsageError(f"two {what} have one name: {', '.join(names)}")


def named_settings(text: str, what: str, error: type[OmnesError] = OmnesError) -> tuple[str, dict[str, str]]:
    """'NAME:A=1 B=2' -> the name and the variables. what: the word for it in the error."""
    name, _, settings = text.partition(":")
    pairs = [word.partition("=") for word in settings.split()]
    if not name or not pairs or not all(equals and variable for variable, equals, _ in pairs):
        raise error(f"'{text}' is no {what}: write NAME:VARIABLE=VALUE [VARIABLE=VALUE...]")
    return name, {variable: value for variable, _, value in pairs}
