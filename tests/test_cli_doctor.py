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
        env={name: value for name, value in {**os.environ, **variables}.items() if value is not None},
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


def test_jobs_that_start_late_for_a_look_at_fabrics(tmp_path):
    """An Open MPI whose jobs take long to start unless libfabric is left out."""
    real = PREFIXES["openmpi"]
    (tmp_path / "bin").mkdir()
    for name in ("mpicc", "ompi_info"):
        (tmp_path / "bin" / name).symlink_to(real / "bin" / name)
    (tmp_path / "lib").symlink_to(real / "lib")
    launcher = tmp_path / "bin/mpirun"
    launcher.write_text(f"""#!/bin/sh
case "$* $OMPI_MCA_btl" in *--version* | *^ofi*) ;; *) sleep 5 ;; esac
exec {real}/bin/mpirun "$@"
""")
    launcher.chmod(0o755)
    late = "s later than it could, as libfabric looks for networks"
    done = doctor("--mpi", str(tmp_path), OMPI_MCA_btl=None, OMPI_MCA_mtl=None)
    command = "export OMPI_MCA_btl=^ofi OMPI_MCA_mtl=^ofi"
    assert late in unwrapped(done.stdout) and command in done.stdout, done.stdout + done.stderr
    done = doctor("--mpi", str(tmp_path), OMPI_MCA_btl="self,sm,tcp", OMPI_MCA_mtl=None)
    assert done.returncode == 0 and late not in unwrapped(done.stdout), done.stdout + done.stderr


def test_what_fails_is_said_and_counts():
    done = doctor("--mpi", str(PREFIXES["openmpi"]), OMNES_BCAST="knomail")
    why = 'OMNES_BCAST: no algorithm "knomail" for bcast; did you mean knomial? valid: binary, '
    assert done.returncode == 1 and why in unwrapped(done.stdout) and fit(done.stdout), done.stdout
    # A job that omnes does not reach.
    done = doctor("--mpi", str(PREFIXES["openmpi"]), OMNES_OFF="1")
    assert done.returncode == 1 and "omnes was switched off" in unwrapped(done.stdout)
    # Less than ranks share on any processor: what they have of slots depends on it.
    done = doctor("--mpi", str(PREFIXES["openmpi"]), limits=[(resource.RLIMIT_FSIZE, 1 << 18)])
    assert done.returncode == 1 and "FAIL ulimit -f: 256K of file size" in done.stdout, done.stdout


def test_an_mpi_that_is_not_there():
    assert "no mpirun or mpiexec of a known MPI" in fails("doctor", "--mpi", "/dev")
