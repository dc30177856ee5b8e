"""Faults and narrow limits in the midst of jobs: the quick cases of scripts/faults."""

from __future__ import annotations

import subprocess
import sys

import pytest

from launching import LIMIT, ROOT
from randomly import installed


def faults(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/faults"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode == 2 and "no namespaces here" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


@pytest.mark.parametrize("vendor", ["openmpi", "mpich"])
def test_jobs_end_and_leave_nothing_behind(vendor):
    """On Debian's MPI, or without one on that of scripts/setup."""
    name = f"system {vendor}" if f"system {vendor}" in installed() else vendor
    done = faults("--quick", "--mpi", name)
    assert done.returncode == 0 and "\n8 cases: 8 ok\n" in done.stdout, done.stdout + done.stderr


def test_unknown_mpi():
    done = faults("--mpi", "lam")
    assert done.returncode == 2 and "invalid choice: 'lam'" in done.stderr, done.stderr
