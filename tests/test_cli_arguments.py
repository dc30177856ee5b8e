"""omnes run tells its own options, the launcher and its options, and the program apart."""

from __future__ import annotations

import pytest

from cli import fails
from omnes.errors import OmnesError
from omnes.launching import arguments

OWN = {"-n": 1, "--stats": 0, "--stats-json": 1, "--mpirun": 1}


@pytest.mark.parametrize(
    ("words", "own", "launcher", "program"),
    [
        ("./app", "", "", "./app"),
        ("-n 4 ./app -n 9 --stats", "-n 4", "", "./app -n 9 --stats"),
        ("-n 4 -- ./app -- x", "-n 4", "", "./app -- x"),
        ("-n 4 ./app -- x", "-n 4", "", "./app -- x"),
        ("--stats-json=f.json app", "--stats-json=f.json", "", "app"),
        ("--map-by core -n 2 --stats ./app", "-n 2 --stats", "--map-by core", "./app"),
        ("--mca btl self,sm ./app", "", "--mca btl self,sm", "./app"),
        ("-genv A 1 -x B=2 ./app", "", "-genv A 1 -x B=2", "./app"),
        ("-genv A=1 -env B=2 ./app", "", "-genv A=1 -env B=2", "./app"),
        ("--map-by=core ./app", "", "--map-by=core", "./app"),
        ("--oversubscribe app", "", "--oversubscribe", "app"),
        ("--unknown value-that-cannot-start ./app", "", "--unknown value-that-cannot-start", "./app"),
        ("--unknown /bin/sh x", "", "--unknown", "/bin/sh x"),
        ("--unknown --unknown2 /bin/sh x", "", "--unknown --unknown2", "/bin/sh x"),
        ("--unknown sh -- ./app", "", "--unknown sh", "./app"),
        ("-n 2", "-n 2", "", ""),
        ("mpirun -n 4 ./app -n 9", "--mpirun mpirun -n 4", "", "./app -n 9"),
        (
            "--stats /opt/bin/mpirun.openmpi --map-by core ./app",
            "--stats --mpirun /opt/bin/mpirun.openmpi",
            "--map-by core",
            "./app",
        ),
        ("srun -N 2 --stats -n 4 ./app", "--mpirun srun -n 4", "-N 2 --stats", "./app"),
        ("srun -q debug -H -n 4 ./app", "--mpirun srun -n 4", "-q debug -H", "./app"),
        ("mpiexec -n 1 ./app : -n 1 ./other", "--mpirun mpiexec -n 1", "", "./app : -n 1 ./other"),
        ("mpiexec --version", "", "", "mpiexec --version"),
        ("--mpirun a mpirun -n 4 ./app", "--mpirun a", "", "mpirun -n 4 ./app"),
        ("mpirunner -n 4", "", "", "mpirunner -n 4"),
    ],
)
def test_split(words, own, launcher, program):
    split = arguments.split(words.split(), OWN)
    assert (split.own, split.launcher, split.program) == (own.split(), launcher.split(), program.split())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("-n", "option -n needs a value"),
        ("--mca btl", "option --mca needs 2 values"),
        ("--unknown sh x", "is 'sh' the value of --unknown, or the program? put -- before the program"),
    ],
)
def test_what_cannot_be_split(words, complaint):
    with pytest.raises(OmnesError) as error:
        arguments.split(words.split(), OWN)
    assert error.value.message == complaint


@pytest.mark.parametrize("command", ["compare --tolerance", "check-guidelines --tolerance", "regret --above"])
def test_nan_is_no_number(command):
    assert "'nan' is no number" in fails(*command.split(), "nan", "x")
