"""The emulated cluster, and programs under omnes across its hosts: results, sudden ends, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli import omnes
from launching import LIMIT, ROOT, expect_ok, mpirun, the_mpi
from omnes import _core
from omnes.cluster import Cluster, NotHere, head, network
from omnes.launching import launch

FILLING = {"prrte": ["--map-by", "slot"], "hydra": []}
DEALING = {"prrte": ["--map-by", "node"], "hydra": ["-ppn", "1"]}


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """Four hosts with slots for two ranks, where the kernel and the rights allow it."""
    probe = Cluster(2, bandwidth="1gbit").command(["true"])
    answer = subprocess.run(probe, capture_output=True, text=True, timeout=LIMIT, check=False)
    if answer.returncode == NotHere.exit_code:
        pytest.skip(answer.stderr.strip())
    assert answer.returncode == 0, answer.stderr
    return Cluster()


def on_hosts(cluster, mpi, program, *words, folder, ranks=8, options=None, **variables):
    """Runs it across the hosts, with statistics in the folder."""
    where = Cluster(cluster.hosts, -(-ranks // cluster.hosts), shared=(folder,))
    return mpirun(
        mpi,
        ranks,
        program,
        *words,
        variables={"OMNES_STATS": str(folder), **variables},
        options=options or FILLING[mpi.kind],
        cluster=where,
    )


def reports(folder, ranks=8):
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(ranks)]


def said_by(words, timeout=LIMIT):
    answer = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    return answer.returncode, answer.stdout, answer.stderr


@pytest.mark.parametrize("program", ["movement", "reductions"])
def test_results_across_hosts(cluster, mpi, build, program, tmp_path):
    expect_ok(on_hosts(cluster, mpi, build(program, mpi), "1", folder=tmp_path))
    ranks = reports(tmp_path)
    assert [rank["node"] for rank in ranks] == [0, 0, 2, 2, 4, 4, 6, 6]  # those that share memory
    assert not ranks[1]["notes"]
    ran = {entry["algorithm"] for entry in ranks[1]["entries"] if entry["operation"] == "allreduce"}
    assert not ran or "all_to_all" not in ran  # which the table has for one node


@pytest.mark.parametrize("version", ["4.3.2", "5.0.2", "unknown"])
def test_hosts_that_share_cpus_have_ranks_yield(version, tmp_path):
    """As their MPI does, not as another that knows some of the same variables: MPICH 5 would sleep in each look."""
    launcher = tmp_path / ("mpiexec" if version != "unknown" else "launch")
    launcher.write_text(f"#!/bin/sh\necho HYDRA build details: Version: {version}\n")
    launcher.chmod(0o755)
    told = head.yielding(str(launcher))
    assert told["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert ("MPIR_CVAR_ENABLE_HEAVY_YIELD" in told) == (version != "5.0.2")
    count = told.get("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT")
    assert count == {"4.3.2": None, "5.0.2": "0", "unknown": "64"}[version]


def test_hosts_that_share_cpus_know_the_mpi(mpi):
    assert head.yielding(str(mpi.launcher)) == {"OMPI_MCA_mpi_yield_when_idle": "1", **mpi.yielding}


def test_the_first_calls_of_a_communicator_are_the_mpis(cluster, mpi, build, tmp_path):
    """Except reductions, which give the same bits from the first call on, and where the MPI itself begins slowly."""
    expect_ok(on_hosts(cluster, mpi, build("first_calls", mpi), folder=tmp_path))
    begins_slowly = mpi.kind == "prrte"
    for rank in reports(tmp_path):
        left = sum(entry["calls"] for entry in rank["passed"] if "first calls of a communicator" in entry["reason"])
        assert left == (0 if begins_slowly else 4)
        assert {entry["operation"] for entry in rank["passed"]} <= {"bcast"}


def test_the_catalogue_across_hosts(cluster, mpi, build, tmp_path):
    """Three ranks on each host; all forms."""
    expect_ok(on_hosts(cluster, mpi, build("catalogue", mpi), "all", "bcast", "knomial", folder=tmp_path, ranks=12))
    assert {rank["node"] for rank in reports(tmp_path, 12)} == {0, 3, 6, 9}


def test_renumbered_ranks_across_hosts(cluster, mpi, build, tmp_path):
    """Dealt to the hosts in turns, so that a ring's neighbors are never on one."""
    words = ("blocking", "allgather", "ring")
    dealt = {"options": DEALING[mpi.kind], "folder": tmp_path}
    expect_ok(on_hosts(cluster, mpi, build("catalogue", mpi), *words, **dealt, OMNES_REMAP="reorder"))
    ranks = reports(tmp_path)
    assert [rank["node"] for rank in ranks] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert "ring remap=reorder" in {entry["algorithm"] for entry in ranks[0]["entries"]}


def test_levels_of_the_machine(cluster, mpi, build, tmp_path):
    """Switches of a file, one level switched off; an algorithm whose levels are those; a wrong file."""
    network = tmp_path / "network"
    network.write_text("n[1-2] s1 top\nn[3-4] s2 top\n")
    wanted = {"OMNES_TOPOLOGY": str(network), "OMNES_LEVELS": "node,switch,switch2"}
    forced = {"OMNES_ALLREDUCE": "hierarchical:node=linear,switch=knomial,top=recursive_doubling"}
    expect_ok(on_hosts(cluster, mpi, build("reductions", mpi), "1", folder=tmp_path, **wanted, **forced))
    ranks = reports(tmp_path)
    assert all(rank["levels"] == ranks[0]["levels"] for rank in ranks)
    assert ranks[0]["levels"] == [{"level": "node", "units": 4}, {"level": "switch", "units": 2}]
    why = {level["level"]: level["why"] for level in ranks[0]["left_out"]}
    assert why["l3"] == "switched off" and why["switch2"] == "all ranks share one"
    ran = {entry["algorithm"] for entry in ranks[1]["entries"] if entry["operation"] == "allreduce"}
    assert "hierarchical:node=linear,switch=knomial,top=recursive_doubling" in ran
    network.write_text("n[1-2] s1 top\nn[3-4] s2\n")
    refused = on_hosts(cluster, mpi, build("reductions", mpi), "1", folder=tmp_path, **wanted)
    assert refused.returncode != 0 and f"{network}:2: 1 switches; expected 2" in refused.stderr


def test_jobs_are_led_from_another_host(cluster, tmp_path):
    """Where launchers go to hosts that see neither this one's pipes nor its memory."""
    command = [sys.executable, "-m", "omnes", "bench", "barrier", "bcast", "-b", "4K", "-n", "3", "--time", "0.1"]
    package = Path(launch.__file__).resolve().parents[1]
    where = Cluster(3, 1, shared=(ROOT, package, tmp_path))
    code, out, err = said_by(where.command([*command, f"--csv={tmp_path}/bench.csv"]))
    assert code == 0, out + err
    assert {"barrier", "bcast"} <= {line.split(",")[0] for line in (tmp_path / "bench.csv").read_text().splitlines()}


def test_a_killed_rank_ends_the_job(cluster, mpi, build, tmp_path):
    before = inhabitants()
    assert on_hosts(cluster, mpi, build("endless", mpi), "4", folder=tmp_path).returncode != 0
    assert inhabitants() == before


def inhabitants() -> set[str]:
    """What a cluster could leave behind where it was started: interfaces and mounts."""
    return {path.name for path in Path("/sys/class/net").iterdir()} | set(Path("/proc/self/mounts").open())


def in_namespaces(names: set[str]) -> list[str]:
    """The processes in one of these namespaces."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if names & {os.readlink(process / "ns" / kind) for kind in ("net", "pid", "mnt")}:
                found.append((process / "cmdline").read_text())
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.parametrize("end", ["ctrl-c", "sigterm", "sigkill", "failure"])
def test_nothing_is_left_behind(cluster, end):
    """The command prints its namespaces and those of a host, on which a process sleeps, that has lost its parent.

    It then becomes what waits: a shell that hears ctrl-c while it starts a child goes on waiting for that one.
    """
    look = "readlink /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/mnt"
    script = (
        f"{look}; ssh n2 '(sleep 1000 &) ; {look}'; echo ready; {'exit 3' if end == 'failure' else 'exec sleep 1000'}"
    )
    before = inhabitants()
    process = subprocess.Popen(
        Cluster(2).command(["sh", "-c", script]),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    )
    names = set()
    while (line := process.stdout.readline()) not in ("ready\n", ""):
        names.add(line.strip())
    assert len(names) == 6
    if end == "ctrl-c":
        os.killpg(process.pid, signal.SIGINT)
    elif end != "failure":
        process.send_signal(getattr(signal, end.upper()))
    codes = {"ctrl-c": 128 + signal.SIGINT, "sigterm": 128 + signal.SIGTERM, "sigkill": -signal.SIGKILL, "failure": 3}
    assert process.wait(LIMIT) == codes[end]
    process.stdout.read()  # to its end, which comes when nobody holds the other one
    process.stdout.close()
    assert in_namespaces(names) == [] and inhabitants() == before


def test_hosts_are_apart(cluster, tmp_path):
    """Names, addresses, shaped links, switches; a folder of /tmp where it is shared."""
    (tmp_path / "note").write_text("seen\n")
    on_host = f"hostname; ls /tmp/only-here; tc qdisc show dev eth0; cat {tmp_path}/note; getent hosts n1"
    script = f"touch /tmp/only-here; ssh n3 '{on_host}'; cat /dev/shm/cluster/topology.conf"
    wide = Cluster(3, switches=2, bandwidth="1gbit", uplink="500mbit", shared=(tmp_path,))
    code, out, err = said_by(wide.command(["sh", "-c", script]))
    assert code == 0 and "cannot access '/tmp/only-here'" in err
    lines = out.splitlines()
    assert lines[0] == "n3" and "tbf" in lines[1] and "rate 1Gbit" in lines[1]
    assert re.search(r"burst 60\d\db", lines[1])  # two packets of two frames each
    assert lines[2:] == [
        "seen",
        "10.77.0.1       n1",
        "SwitchName=s1 Nodes=n1,n2",
        "SwitchName=s2 Nodes=n3",
        "SwitchName=s0 Switches=s[1-2]",
    ]


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--bandwidth", "quick", "true"], 1, "'quick' is no rate: write it as tc does, such as 1gbit"),
        (["no-such-program"], 127, "cannot start no-such-program: No such file"),
        (["-H", "2", "--", "ssh", "n3", "hostname"], 255, "no host 'n3'; there are n1 n2"),
    ],
)
def test_mistakes_are_one_line(cluster, words, code, complaint):
    answer = said_by([sys.executable, "-m", "omnes.cluster", *words])
    assert answer[0] == code and complaint in answer[2] and answer[2].count("\n") == 1


def test_what_the_machine_does_not_have_is_told(tmp_path):
    code, _, err = said_by(["env", f"PATH={tmp_path}", sys.executable, "-m", "omnes.cluster", "true"])
    assert (code, err) == (NotHere.exit_code, "omnes: no emulated cluster: there is no unshare; install util-linux\n")


def test_packets_suit_the_link():
    assert [network.packet(rate) for rate in ("10mbit", "1gbit", "10gbit", "1gbps", "100gbit")] == [
        3028, 3028, 30000, 24000, 65536,
    ]  # fmt: skip


def test_measure_knows_of_no_shared_memory_where_ranks_share_none(cluster, tmp_path):
    """A rank on each host, each bound as the cluster has it, not to the first core of all."""
    output = tmp_path / "machine.toml"
    words = [sys.executable, "-m", "omnes", "measure", "-n", "2", "--rounds", "5", "-o", str(output)]
    words += ["--mpi", str(the_mpi("openmpi").launcher)]
    code, out, err = said_by(Cluster(2, 1, bandwidth="1gbit", shared=(tmp_path,)).command(words))
    assert code == 0, err
    text = output.read_text()
    assert _core.described_machine(text)["levels"] == ["network"] and "publish" not in text
    assert "2 nodes" in out and "on a core each" not in out


def test_each_host_has_its_switch():
    cluster = Cluster(5, switches=2)
    assert [cluster.switch_of(host) for host in range(5)] == [0, 0, 0, 1, 1]
    assert network.address(249) == "10.77.0.250" and network.address(250) == "10.77.1.1"


def test_statistics_come_from_all_hosts(cluster, build, tmp_path, mpi):
    """omnes run on the head, where the launcher finds the hosts by itself; its own /tmp is not that of the hosts."""
    package = Path(launch.__file__).resolve().parents[1]
    where = Cluster(2, shared=(ROOT, package, build("exits", mpi).parent, tmp_path))
    file = tmp_path / "stats.json"
    words = ["-m", "omnes", "run", "-n", "4", "--stats-json", str(file), str(build("exits", mpi)), "3"]
    code, out, err = said_by(["env", "-C", str(tmp_path), *where.command([sys.executable, *words])])
    assert (code, out.strip()) == (3, "sum 6"), out + err
    report = json.loads(file.read_text())
    assert (report["ranks"], report["reports"], report["nodes"]) == (4, 4, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["stats.json"]


def test_a_benchmark_across_hosts(cluster):
    words = ["--nodes", "2x1", "--bandwidth", "1gbit", "barrier", "--time", "0.05", "--json"]
    result = omnes("bench", *words, "--mpi", str(the_mpi("openmpi").launcher))
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert (data["hosts"], data["bandwidth"]) == (2, "1gbit") and set(data["cells"][0]["jobs"]) == {"stock", "omnes"}
