"""omnes run: finds the MPI, builds the command line, passes signals and exit codes, says in one line what is wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from cli import fails, omnes, unwrapped
from launching import LIMIT, YIELDING, mpirun, the_mpi
from omnes.launching import cpus, libraries
from omnes.traces import statistics


def run_cli(*words, environment=None, timeout=LIMIT):
    """The real command in its own process."""
    return subprocess.run(
        [sys.executable, "-m", "omnes", *map(str, words)],
        env={**os.environ, **YIELDING, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def dry_run(*words):
    """The command line that would be run."""
    result = omnes("run", "--dry-run", *map(str, words))
    assert result.exit_code == 0, result.output
    return shlex.split(result.output.strip().splitlines()[-1])


def test_the_program_decides_the_mpi(build, mpi):
    program = build("exits", mpi)
    words = dry_run("-n", 2, program, "3", "-n", "7")
    assert os.path.dirname(words[0]) == str(mpi.launcher.parent)
    assert words[-4:] == [str(program), "3", "-n", "7"]
    assert str(libraries.path(mpi.family)) in " ".join(words)
    assert "LD_PRELOAD" not in " ".join(dry_run("--no-omnes", "-n", 2, program))


def test_the_stock_mpi_is_without_an_omnes_that_is_preloaded_anyway(build, mpi, tmp_path):
    given = {"LD_PRELOAD": f"libm.so.6 {libraries.path(mpi.family)}", "OMNES_STATS": str(tmp_path)}
    done = run_cli("run", "--no-omnes", "-n", 1, build("exits", mpi), environment=given)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (0, "sum 0 \n", []), done.stderr


def test_a_command_that_starts_the_program(build, mpi, tmp_path):
    """What decides the MPI is the program, whatever starts it."""
    program = build("exits", mpi)
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nexec "$@"\n')
    wrapper.chmod(0o755)
    assert os.path.dirname(dry_run("-n", 2, wrapper, program)[0]) == str(mpi.launcher.parent)
    words = dry_run("-n", 2, "env", "A=1", program, "3")
    assert os.path.dirname(words[0]) == str(mpi.launcher.parent)
    assert words[-4:] == [shutil.which("env"), "A=1", str(program), "3"]
    assert str(libraries.path(mpi.family)) in " ".join(words)


def test_the_launcher_as_the_command(build, mpi):
    """As programs are started without omnes."""
    done = run_cli("run", mpi.launcher, "-n", 2, build("exits", mpi), "7")
    assert (done.returncode, done.stdout) == (7, "sum 1 \n"), done.stderr
    words = dry_run(mpi.launcher, "-n", 1, build("exits", mpi))
    assert words[0] == str(mpi.launcher) and str(libraries.path(mpi.family)) in " ".join(words)


def test_what_a_command_starts_by_a_launcher(build, mpi, tmp_path):
    program = build("exits", mpi)
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\nmpirun -n 2 {program} 0 first && mpiexec -n 1 {program} 7\n")
    script.chmod(0o755)
    (tmp_path / "mpiexec").symlink_to(mpi.launcher)
    path = {"PATH": f"{mpi.launcher.parent}:{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    for command in ([script], ["sh", "-c", str(script)]):
        done = run_cli("run", "--stats", *command, environment=path)
        assert done.returncode == 7, done.stdout + done.stderr
        assert done.stderr.count("omnes ran all") == 2 and "sum 1 first\n" in done.stdout
    done = run_cli("run", "sh", "-c", f"{mpi.launcher} --version", environment=path)
    assert (done.returncode, done.stderr.count("nothing ran on omnes")) == (0, 1), done.stderr
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["job.sh", "mpiexec"]


def test_a_command_keeps_its_path_and_its_folder_to_itself(build, mpi, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/solver").symlink_to(build("exits", mpi))
    (tmp_path / "random.py").write_text("raise SystemExit('not a module of omnes')\n")
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\ncd {tmp_path}\nPATH=$PWD/bin:$PATH\n{mpi.launcher.name} -n 1 solver 7\n")
    script.chmod(0o755)
    path = {"PATH": f"{mpi.launcher.parent}:{os.environ['PATH']}"}
    done = run_cli("run", "--stats", script, environment=path)
    assert (done.returncode, done.stdout) == (7, "sum 0 \n") and "omnes ran all" in done.stderr, done.stderr


def test_what_is_of_no_known_mpi_runs_as_it_is_in_a_script(tmp_path):
    (tmp_path / "srun").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    (tmp_path / "srun").chmod(0o755)
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nsrun -n 1 echo staged\n")
    script.chmod(0o755)
    done = run_cli("run", script, environment={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, done.stdout) == (0, "staged\n"), done.stderr
    assert done.stderr.count("runs without omnes") == 1, done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "${MPIRUN:-mpirun} -n 2 a",
        '"$(which mpirun)" -n 2 a',
        "mpirun -n 2 a",
        "exec 'srun' a",
        "make check",
        "cd b && time ctest -j 2",
    ],
)
def test_scripts_that_name_what_launches_are_started_once(tmp_path, line):
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n{line}\n")
    script.chmod(0o755)
    assert dry_run(script)[0] == str(script)


def test_ctest_is_started_once(tmp_path):
    """Also where it is a program in Python."""
    (tmp_path / "ctest").write_text(f"#!{sys.executable}\n")
    (tmp_path / "ctest").chmod(0o755)
    assert dry_run(tmp_path / "ctest")[0] == str(tmp_path / "ctest")


def test_scripts_that_only_speak_of_a_launcher_are_started_by_one(tmp_path):
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n# to be started by mpirun -n 2\necho mpirun-free, to make check\n")
    script.chmod(0o755)
    assert dry_run(script)[-1] == str(script)
    script.write_text(f"#!{sys.executable}\nimport mpi4py.MPI  # mpirun -n 2 job.sh\n")
    assert dry_run(script)[-1] == str(script)


def test_of_several_programs_there_is_no_one_file(tmp_path):
    assert "--profile is for one MPI program" in fails("run", "--profile", str(tmp_path / "x.json"), "sh", "-c", "true")


def test_the_launcher_alone(mpi):
    done = run_cli("run", mpi.launcher, "--version")
    assert done.returncode == 0 and mpi.version in done.stdout + done.stderr
    assert "omnes" not in done.stderr


def test_flags_only_where_needed(build, mpi):
    program = build("exits", mpi)
    few, many = dry_run("-n", 1, program), dry_run("-n", cpus.usable_cores() + 1, program)
    assert "--oversubscribe" not in few
    assert ("--oversubscribe" in many) == mpi.open_mpi
    assert ("--allow-run-as-root" in few) == (mpi.open_mpi and os.geteuid() == 0)
    if mpi.open_mpi:
        assert "--oversubscribe" not in dry_run(
            "-n", cpus.usable_cores() + 1, "--map-by", "slot:OVERSUBSCRIBE", program
        )


def test_ranks_that_share_cpus_yield(build, mpi, monkeypatch):
    program, many = build("exits", mpi), cpus.usable_cpus() + 1
    variable = "MPIR_CVAR_CH4_PROGRESS_THROTTLE"
    assert (f"-genv {variable} 1" in " ".join(dry_run("-n", many, program))) == (not mpi.open_mpi)
    for few in (dry_run("-n", 1, program), dry_run("--no-omnes", "-n", many, program)):
        assert variable not in few
    monkeypatch.setenv(variable, "0")  # the user's own
    assert variable not in dry_run("-n", many, program)


def test_ranks_that_share_cpus_are_in_one_session(mpi, tmp_path):
    """Linux may pass the CPU on among the processes of a session only."""
    ranks = cpus.usable_cpus() + 1
    done = run_cli(
        "run", "--mpirun", mpi.launcher, "-n", ranks, "sh", "-c", f"cut -d' ' -f5,6 /proc/$$/stat > {tmp_path}/$$"
    )
    assert done.returncode == 0, done.stderr
    groups, sessions = zip(*(file.read_text().split() for file in tmp_path.iterdir()), strict=True)
    assert (len(sessions), len(set(sessions)), len(set(groups))) == (ranks, 1, ranks)


def test_an_allocation_says_how_many_ranks_there_are(build, mpi, monkeypatch):
    for name in ("SLURM_JOB_ID", "PRTE_MCA_prte_default_hostfile"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert "--oversubscribe" not in dry_run("-n", cpus.usable_cores() + 1, build("exits", mpi))


def test_srun_as_the_launcher(build, mpi, tmp_path):
    """A stand-in that starts one rank, as srun does after its own options."""
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\n[ "$1" != --version ] || exec echo slurm 22.05.8\nshift 5\nexec "$@"\n')
    srun.chmod(0o755)
    file = tmp_path / "stats.json"
    words = ["--stats-json", file, "--mpirun", srun, "-N", 1, "-n", 1, "--mpi=pmix", build("exits", mpi), "7"]
    done = run_cli("run", *words)
    assert (done.returncode, done.stdout) == (7, "sum 0 \n"), done.stderr
    assert json.loads(file.read_text())["ranks"] == 1
    program = str(build("exits", mpi))
    words = dry_run(
        "--mpirun", srun, "-n", 1, program, "7", ":", "-N", 2, "-n", 4, program, ":", "-n", 1, "--", program
    )
    given = next(word for word in words if word.startswith("LD_PRELOAD="))
    first, second, third = " ".join(words).split(" : ")
    assert f"env {given} {program} 7" in first
    assert (second, third) == (f"-N 2 -n 4 env {given} {program}", f"-n 1 env {given} {program}")


def test_settings_reach_the_ranks(build, mpi, monkeypatch):
    monkeypatch.setenv("OMNES_BCAST", "knomial:k=4")
    monkeypatch.setenv("OMNES_IBCAST", "chain")
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    words = " ".join(dry_run("-n", 2, build("exits", mpi)))
    assert re.search(r"OMNES_BCAST[= ]knomial:k=4", words) and re.search(r"OMNES_IBCAST[= ]chain", words)
    assert re.search(r"LD_PRELOAD[= ]\S*libomnes-\w+\.so:libm\.so\.6", words)


def test_unknown_options_go_to_the_launcher(build, mpi):
    words = dry_run("-n", 2, "--timeout", "9", "--", build("exits", mpi), "--stats")
    assert words[words.index("--timeout") + 1] == "9" and words[-1] == "--stats"


def test_python_programs_use_what_mpi4py_loads():
    words = dry_run("-n", 2, sys.executable, "script.py")
    assert words[0].startswith(sys.prefix) and words[-2:] == [sys.executable, "script.py"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "no program given"),
        (("-n", "2", "./nothing-here"), "program ./nothing-here not found: no such file"),
        (("-n", "2", "nothing-here"), "program nothing-here not found: not in PATH"),
        (("-n", "2", "/bin/true"), r"no MPI program: /bin/true needs no libmpi, only libc.so.6"),
        (("-n", "2", __file__), "is not executable"),
        (("--mpirun", "/dev", "/bin/true"), "no mpirun or mpiexec of a known MPI in /dev/bin or /dev"),
        (("--no-omnes", "--check", "/bin/true"), "drop --check"),
        (("--no-omnes", "--check-results", "/bin/true"), "drop --check-results"),
    ],
)
def test_errors_are_one_line(words, complaint):
    assert complaint in fails("run", "--dry-run", *words)


def test_the_wrong_launcher_is_refused(build, mpi):
    other = "mpich" if mpi.open_mpi else "openmpi"
    message = fails("run", "--mpirun", str(the_mpi(other).launcher), "-n", "2", str(build("exits", mpi)))
    assert f"which is of family {mpi.family}" in message


def test_a_report_that_is_not_whole_counts_as_none(tmp_path):
    (tmp_path / "rank-0.json").write_text("{")
    assert statistics.merge(tmp_path) is None


def test_statistics_and_exit_code(build, mpi, tmp_path):
    file = tmp_path / "stats.json"
    done = run_cli("run", "-n", 3, "--stats", "--stats-json", file, build("exits", mpi), "7", "a b")
    assert (done.returncode, done.stdout) == (7, "sum 3 a b\n")
    report = json.loads(file.read_text())
    [entry] = report["entries"]
    assert (report["ranks"], entry["operation"], entry["bytes"], entry["calls"]) == (3, "allreduce", 4, 3)
    assert entry["algorithm"] in done.stderr and entry["form"] == "blocking"


def test_forms_are_reported_and_forced_apart(build, mpi, tmp_path):
    """persistent.c has persistent operations, and ends with a blocking MPI_Allreduce."""
    file = tmp_path / "stats.json"
    forced = {"OMNES_ALLREDUCE": "linear", "OMNES_IALLREDUCE": "recursive_doubling", "OMNES_BCAST": "binary"}
    program = build("persistent", mpi)
    done = run_cli("run", "-n", 3, "--stats", "--stats-json", file, program, environment=forced)
    assert done.returncode == 0, done.stderr
    ran = {}
    for entry in json.loads(file.read_text())["entries"]:
        ran.setdefault((entry["operation"], entry["form"]), set()).add(entry["algorithm"])
    assert ran["allreduce", "blocking"] == {"linear"}
    assert ran["allreduce", "persistent"] == {"recursive_doubling"}
    assert ran["bcast", "persistent"] == {"binary"}
    assert re.search(r"bcast +│ persistent +│", done.stderr)


_REST = r" \.\.\. \(see omnes list, omnes info\)"
_WRONG = [
    ("OMNES_IALLREDUCE", "nonsense", ['no algorithm "nonsense"', "recursive_doubling"]),
    ("OMNES_BCAST", "knomial:" + 400 * "x", ["no parameter"]),
    ("OMNES_MACHINE", __file__, [f"{__file__}: machine file: line 1"]),
    ("OMNES_TOPOLOGY", "/no/such/file", ["/no/such/file"]),
    ("OMNES_OFF", "yes", ["valid: 0, 1"]),
]


@pytest.mark.parametrize(("variable", "value", "complaints"), _WRONG, ids=[name for name, *_ in _WRONG])
def test_a_wrong_setting_is_told_before_anything_starts(build, mpi, variable, value, complaints):
    done = run_cli("run", "-n", 2, build("exits", mpi), environment={variable: value})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert all(complaint in done.stderr for complaint in [variable, *complaints]), done.stderr
    shown = run_cli("info", environment={variable: value})
    assert shown.returncode == 0 and all(complaint in unwrapped(shown.stdout) for complaint in [variable, *complaints])


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("OMNES_OFF", "yes", 'OMNES_OFF: "yes" is not valid; valid: 0, 1'),
        ("OMNES_IALLREDUCE", "nonsense", f'OMNES_IALLREDUCE: no algorithm "nonsense" for allreduce; valid: .*,{_REST}'),
        ("OMNES_BCAST", "x" * 400, f'OMNES_BCAST: no algorithm "x+{_REST}'),
    ],
)
def test_mpi_init_tells_a_wrong_setting_in_one_line(build, mpi, variable, value, said):
    """No host cuts it."""
    done = mpirun(mpi, 1, build("exits", mpi), variables={variable: value})
    lines = [line for line in (done.stdout + done.stderr).splitlines() if variable in line]
    assert done.returncode != 0 and len(lines) == 1, done.stdout + done.stderr
    assert re.search(said, lines[0]), lines


def test_an_unknown_setting_is_a_warning(build, mpi, tmp_path, monkeypatch):
    file = tmp_path / "stats.json"
    names = {"OMNES_ALREDUCE": "ring", "OMNES_ROOT": "/opt/omnes", "OMNES_HOME": "/opt/omnes", "OMNES_PATHS": "/opt"}
    done = run_cli("run", "-n", 2, "--stats-json", file, build("exits", mpi), environment=names)
    warnings = [
        "OMNES_ALREDUCE is ignored: there is no such variable; did you mean OMNES_ALLREDUCE?",
        "OMNES_PATHS is ignored: there is no such variable",
    ]
    assert (done.returncode, done.stdout) == (0, "sum 1 \n"), done.stderr
    assert sorted(line for line in done.stderr.splitlines() if "OMNES_" in line) == [
        f"omnes: {line}" for line in warnings
    ]
    report = json.loads(file.read_text())
    assert report["notes"] == warnings and sum(entry["calls"] for entry in report["entries"]) == 2
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert sorted(json.loads(omnes("info", "--json").output)["ignored_settings"]) == warnings
    assert f"note: {warnings[0]}" in unwrapped(omnes("info").output)


@pytest.mark.parametrize(("name", "valid"), [("SLOTS", "a whole number 2 to 64"), ("WAIT", "auto, spin, yield")])
def test_values_that_are_no_text_are_told_like_others(build, mpi, name, valid):
    wrong = {f"OMNES_{name}": b"a\xff"}
    told = f'OMNES_{name}: "a\\xff" is not valid; valid: {valid}'
    done = run_cli("run", "-n", 2, build("exits", mpi), environment=wrong)
    assert done.returncode != 0 and done.stderr == f"omnes: {told}\n"
    for command in ("info", "doctor"):
        assert told in unwrapped(run_cli(command, environment=wrong).stdout)


@pytest.mark.parametrize("name", ["STATS", "RECORD"])
def test_folders_may_have_names_that_are_no_text(build, mpi, tmp_path, name):
    folder = os.fsencode(tmp_path) + b"/a\xff"
    os.mkdir(folder)
    done = run_cli("run", "-n", 2, build("exits", mpi), environment={f"OMNES_{name}": folder})
    assert (done.returncode, done.stdout) == (0, "sum 1 \n"), done.stderr
    assert os.listdir(folder)


def test_names_that_are_not_ours_may_differ_between_ranks(build, mpi, tmp_path):
    """As where a module file names a folder of the node."""
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\nOMNES_ROOT=/opt/$$ OMNES_ANY=$$ exec "$@"\n')
    script.chmod(0o755)
    file = tmp_path / "stats.json"
    words = ["--mpirun", mpi.launcher, "-n", 2, "--stats-json", file, script, build("exits", mpi)]
    done = run_cli("run", *words)
    report = json.loads(file.read_text())
    assert (done.returncode, report["passed"], len(report["entries"])) == (0, [], 1), done.stderr


def test_statistics_to_the_standard_output(build, mpi, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "omnes", "run", "-n", "2", "--stats-json", "-", str(build("exits", mpi))],
        env={**os.environ, **YIELDING}, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    said, _, report = done.stdout.partition("\n")
    assert (said, json.loads(report)["ranks"], list(tmp_path.iterdir())) == ("sum 1 ", 2, [])


class TestWrongFamily:
    """A library for another MPI than the program's serves nothing, and that is told."""

    def test_in_the_statistics(self, build, mpi, tmp_path):
        other = "mpich" if mpi.open_mpi else "ompi"
        variables = {"LD_PRELOAD": str(libraries.path(other)), "OMNES_STATS": str(tmp_path)}
        done = mpirun(mpi, 2, build("exits", mpi), with_omnes=False, variables=variables)
        assert (done.returncode, done.stdout) == (0, "sum 1 \n"), done.stderr
        report = statistics.merge(tmp_path)
        assert (report["library"], report["wrong_family"], report["reports"]) == (other, mpi.family, 2)
        loaded, needed = (re.escape(libraries.FAMILIES[family]) for family in (other, mpi.family))
        assert re.fullmatch(f"omnes ran nothing: its library for {loaded} .* uses {needed}", statistics.summary(report))

    @pytest.mark.parametrize("options", [[], ["--stats"]], ids=["", "with statistics"])
    def test_after_a_script_that_starts_a_program_of_another(self, build, tmp_path, options):
        mpi = the_mpi("mpich")
        script = tmp_path / "script"
        script.write_text(f"#!/bin/sh\nexec {build('exits', mpi, standard_abi=True)}\n")
        script.chmod(0o755)
        done = run_cli("run", "--mpirun", mpi.launcher, "-n", 2, *options, script)
        assert (done.returncode, done.stdout) == (0, "sum 1 \n"), done.stderr
        said = " ".join(done.stderr.split())
        assert (
            "omnes ran nothing: its library for MPICH 3.4" in said and "the program uses the standard MPI ABI" in said
        )

    def test_in_the_environment(self, build, mpi):
        other = libraries.path("mpich" if mpi.open_mpi else "ompi")
        done = run_cli("run", "-n", 1, build("exits", mpi), environment={"LD_PRELOAD": str(other)})
        assert (done.returncode, done.stdout) == (0, "sum 0 \n")
        [line] = [line for line in done.stderr.splitlines() if "LD_PRELOAD" in line]
        assert line.startswith(f"omnes: LD_PRELOAD names {other}, for ") and line.endswith(": left out")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_job(build, mpi, number):
    process = subprocess.Popen(
        [sys.executable, "-m", "omnes", "run", "-n", "2", str(build("waits", mpi))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(LIMIT) != 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait()
