"""omnes doctor: what works here, what does not."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import pytest

from cli import fails, fit, unwrapped
from launching import LIMIT, PREFIXES


def doctor(*words, limits=(), **variables):
    def limit():
        for which, most in limits:
            resource.setrlimit(which, (most, most))

    return subprocess.run(
        [sys.executable, "-m", "omnes", "doctor", *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=limit,
    )


@pytest.mark.parametrize("name", PREFIXES)
def test_a_program_is_tried_on_an_mpi(name):
    done = doctor("--mpi", str(PREFIXES[name]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a program on 2 ranks: omnes ran all " in unwrapped(done.stdout) and fit(done.stdout)
    assert done.stdout.splitlines()[-1].startswith("omnes works here")


def test_findings_are_for_scripts_too():
    done = doctor("--mpi", str(PREFIXES["openmpi"]), "--json")
    findings = json.loads(done.stdout)["findings"]
    assert {"OMNES_ variables", "shared memory", "single copy (CMA)", "CPUs"} <= {one["subject"] for one in findings}
    assert {one["state"] for one in findings} <= {"works", "costs"} and done.returncode == 0


def test_what_fails_is_said_and_counts():
    done = doctor("--mpi", str(PREFIXES["openmpi"]), OMNES_BCAST="knomail")
    why = 'OMNES_BCAST: no algorithm "knomail" for bcast; did you mean knomial? valid: binary, '
    assert done.returncode == 1 and why in unwrapped(done.stdout) and fit(done.stdout), done.stdout
    # A job that omnes does not reach.
    done = doctor("--mpi", str(PREFIXES["openmpi"]), OMNES_OFF="1")
    assert done.returncode == 1 and "omnes was switched off" in unwrapped(done.stdout)
    done = doctor("--mpi", str(PREFIXES["openmpi"]), limits=[(resource.RLIMIT_FSIZE, 1 << 20)])
    assert done.returncode == 1 and "FAIL ulimit -f: 1M of file size" in done.stdout, done.stdout


def test_an_mpi_that_is_not_there():
    assert "no mpirun or mpiexec of a known MPI" in fails("doctor", "--mpi", "/dev")
