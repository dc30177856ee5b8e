"""Collective calls are recorded in order, and replayed on the stock MPI and on omnes."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli import fails, omnes
from launching import LIMIT, PREFIXES, YIELDING, compile_fortran
from omnes import _core
from omnes.errors import OmnesError
from omnes.traces import assembly, events

# What rank 1 of tests/programs/recorded.c calls.
_BLOCKING = """
barrier blocking on=0
bcast blocking on=0 root=0 count=40
bcast blocking on=0 root=1 count=80
bcast blocking on=0 root=2 count=120
reduce blocking on=0 root=1 count=5 element=4 reduction=max:i32
allreduce blocking on=0 count=7 element=8 reduction=sum:f64
allreduce blocking on=0 in_place=1 count=7 element=8 reduction=sum:f64
gather blocking on=0 root=2 count=12
scatter blocking on=0 root=1 count=12
allgather blocking on=0 count=16
alltoall blocking on=0 count=8
scan blocking on=0 count=3 element=4 reduction=sum:i32
exscan blocking on=0 count=3 element=4 reduction=sum:i32
reduce_scatter_block blocking on=0 count=3 element=4 reduction=min:i32
allreduce blocking on=0 count=6 element=4 reduction=program
"""
_UNEQUAL = """
allgatherv blocking on=0 count=8 recv=4,8,12 recv_at=0,80,160
gatherv blocking on=0 root=0 count=8
scatterv blocking on=0 root=0 count=8
alltoallv blocking on=0 count=0 send=8,8,8 send_at=0,40,80 recv=4,8,12 recv_at=0,80,160
reduce_scatter blocking on=0 count=2 element=4 reduction=sum:i32 send=1,2,3
allgatherv blocking on=0 count=16 recv=8,16,24 recv_at=0,80,160
gatherv blocking on=0 root=0 count=16
scatterv blocking on=0 root=0 count=16
alltoallv blocking on=0 count=0 send=16,16,16 send_at=0,40,80 recv=8,16,24 recv_at=0,80,160
reduce_scatter blocking on=0 count=4 element=4 reduction=sum:i32 send=2,4,6
reduce_scatter blocking on=0 in_place=1 count=4 element=4 reduction=sum:i32 send=2,4,6
"""
_UNBLOCKED = """
allreduce nonblocking on=0 count=9 element=4 reduction=sum:i32
bcast nonblocking on=0 root=2 count=36
wait
wait
barrier nonblocking on=0
wait
"""
_SINCE_MPI_4 = """
allreduce persistent on=0 count=2 element=4 reduction=sum:i32
start
wait
start
wait
release
bcast blocking on=0 root=0 count=44
"""
_COMMUNICATORS = """
dup on=0 as=2
bcast blocking on=2 root=0 count=4
split on=2 as=none
free on=2
allreduce blocking on=4 count=2 element=4 reduction=sum:i32
free on=4
split on=0 as=5
neighbor_allgather blocking on=5 count=8 recv=8,8
free on=5
bcast blocking on=6 root=0 count=8
"""


# What rank 1 of each group of tests/programs/recorded_between.c calls: of ranks 4, 2, 0 and of ranks 3, 1.
_BETWEEN_FIRST = """
barrier blocking on=3
bcast blocking on=3 root=1 count=40
bcast blocking on=3 root=3 count=80
bcast blocking on=3 root=none
reduce blocking on=3 root=4 count=5 element=4 reduction=max:i32
allreduce blocking on=3 count=7 element=8 reduction=sum:f64
gather blocking on=3 root=1 count=12
scatter blocking on=3 root=4 count=12
allgather blocking on=3 count=16 recv=12,12
alltoall blocking on=3 count=0 send=8,8 recv=4,4
reduce_scatter_block blocking on=3 count=2 element=4 reduction=min:i32
allgatherv blocking on=3 count=8 recv=4,8 recv_at=0,80
gatherv blocking on=3 root=1 count=0 recv=4,8 recv_at=0,80
scatterv blocking on=3 root=4 count=8
alltoallv blocking on=3 count=0 send=8,8 send_at=0,40 recv=4,8 recv_at=0,80
alltoallw blocking on=3 count=0 send=8,8 send_at=0,40 recv=4,8 recv_at=0,80
reduce_scatter blocking on=3 count=2 element=4 reduction=sum:i32 send=1,2,3
allreduce nonblocking on=3 count=9 element=4 reduction=sum:i32
bcast nonblocking on=3 root=3 count=36
allgather nonblocking on=3 count=8 recv=8,8
wait
wait
wait
barrier nonblocking on=3
wait
"""
_BETWEEN_SECOND = """
barrier blocking on=3
bcast blocking on=3 root=1 count=40
bcast blocking on=3 root=none
bcast blocking on=3 root=2 count=0
reduce blocking on=3 root=4 count=5 element=4 reduction=max:i32
allreduce blocking on=3 count=7 element=8 reduction=sum:f64
gather blocking on=3 root=1 count=12
scatter blocking on=3 root=4 count=12
allgather blocking on=3 count=12 recv=16,16,16
alltoall blocking on=3 count=0 send=4,4,4 recv=8,8,8
reduce_scatter_block blocking on=3 count=3 element=4 reduction=min:i32
allgatherv blocking on=3 count=8 recv=4,8,12 recv_at=0,80,160
gatherv blocking on=3 root=1 count=8
scatterv blocking on=3 root=4 count=0 send=4,8,12 send_at=0,80,160
alltoallv blocking on=3 count=0 send=8,8,8 send_at=0,40,80 recv=4,8,12 recv_at=0,80,160
alltoallw blocking on=3 count=0 send=8,8,8 send_at=0,40,80 recv=4,8,12 recv_at=0,80,160
reduce_scatter blocking on=3 count=4 element=4 reduction=sum:i32 send=2,4
allreduce nonblocking on=3 count=9 element=4 reduction=sum:i32
bcast nonblocking on=3 root=none
allgather nonblocking on=3 count=8 recv=8,8,8
wait
wait
wait
barrier nonblocking on=3
wait
"""
_BETWEEN_SINCE_MPI_4 = """
bcast persistent on=3 root=ROOT
start
wait
start
wait
release
"""
_BETWEEN_END = """
bcast blocking on=4 root=4 count=12
free on=4
allgather blocking on=5 count=COUNTS
free on=5
allreduce blocking on=6 count=3 element=8 reduction=sum:f64
free on=6
free on=3
"""


def run(*words, **environment):
    """omnes, in a process of its own."""
    command = [sys.executable, "-m", "omnes", *map(str, words)]
    settings = {**os.environ, **YIELDING, **environment}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def calls_of(trace, rank):
    return [trace.calls[call] for call in trace.events[rank].calls]


@pytest.fixture(scope="session")
def recorded(mpi, build, tmp_path_factory):
    """A trace of tests/programs/recorded.c, and what was said of it."""
    file = tmp_path_factory.mktemp("traces") / f"{mpi.family}.trace"
    done = run("run", "-n", 3, "--record", file, build("recorded", mpi))
    return file, done.stderr


@pytest.fixture(scope="session")
def recorded_between(mpi, build, tmp_path_factory):
    """The same of tests/programs/recorded_between.c."""
    file = tmp_path_factory.mktemp("traces") / f"{mpi.family}-between.trace"
    done = run("run", "-n", 5, "--record", file, build("recorded_between", mpi))
    return file, done.stderr


def test_every_call_is_recorded_in_order(mpi, recorded):
    file, said = recorded
    trace = events.load(file)
    new = _SINCE_MPI_4 if mpi.family == "mpich" else ""
    expected = (_BLOCKING + _UNEQUAL + _UNBLOCKED + new + _COMMUNICATORS).split("\n")
    assert calls_of(trace, 1) == [line for line in expected if line]
    assert (trace.ranks, trace.head["left_out"], trace.head["stopped"], trace.head["cut"]) == (3, [], False, 0)
    members = [comm.members for comm in trace.communicators[:6]]
    assert members == [(0, 1, 2), (0,), (0, 1, 2), (2, 0), (0, 1), (0, 1, 2)]
    assert [comm.from_start for comm in trace.communicators[:6]] == [False] * 4 + [True, False]
    assert trace.communicators[5].edges == {0: ((2, 1), (2, 1)), 1: ((0, 2), (0, 2)), 2: ((1, 0), (1, 0))}
    assert "omnes: recorded" in said and "left out" not in said


def test_roots_have_the_counts(recorded):
    trace = events.load(recorded[0])
    calls = calls_of(trace, 0)
    assert "gatherv blocking on=0 root=0 count=4 recv=4,8,12 recv_at=0,80,160" in calls
    assert "scatterv blocking on=0 root=0 count=8 send=8,16,24 send_at=0,80,160" in calls
    assert "split on=2 as=3" in calls


def test_calls_between_groups_are_recorded_in_order(mpi, recorded_between):
    file, said = recorded_between
    trace = events.load(file)
    for rank, calls, root, counts in (
        (2, _BETWEEN_FIRST, "none", "4 recv=8,8"),
        (1, _BETWEEN_SECOND, "0 count=8", "8 recv=4,4,4"),
    ):
        new = _BETWEEN_SINCE_MPI_4.replace("ROOT", root) if mpi.family == "mpich" else ""
        last = _BETWEEN_END.replace("COUNTS", counts)
        expected = [line for line in (calls + new + last).split("\n") if line]
        found = calls_of(trace, rank)
        assert [call.split()[0] for call in found[:2]] == ["split", "free"] and found[2:] == expected
    assert [trace.communicators[number].members for number in (3, 4, 5, 6)] == [(4, 2, 0, 3, 1)] * 4
    assert all(comm.from_start and comm.first_group == 3 for comm in trace.communicators[3:7])
    assert "between 3 4,2,0 3,1\n" in file.read_text()
    assert (trace.head["version"], trace.head["left_out"], trace.head["cut"]) == (2, [], 0)
    assert "omnes: recorded" in said and "left out" not in said


def test_waits_name_what_they_wait_for(recorded):
    trace = events.load(recorded[0])
    mine = trace.events[1]
    active = set()
    for call, request in zip(mine.calls, mine.requests):
        word = trace.calls[call].split()[0]
        if word == "wait":
            active.remove(request)
        elif word == "start" or "nonblocking" in trace.calls[call]:
            assert request not in active
            active.add(request)
    assert not active


def replayed(file, on, folder):
    """What the trace's calls took on that MPI, and how many there were: as many as recorded."""
    result = folder / "replay.json"
    words = ["--times", 1, "--longest-gap", 20, "--mpi", PREFIXES[on], f"--json={result}"]
    done = run("bench", "--replay", file, *words)
    assert "times as fast as stock" in done.stdout and "95 %" not in done.stdout
    data = json.loads(result.read_text())
    calls = {(one["operation"], one["form"]): one["calls"] for one in data["operations"]}
    trace = events.load(file)
    recorded_calls = [call for rank in range(trace.ranks) for call in calls_of(trace, rank)]
    for operation in _core.operations():
        for form in ("blocking", "nonblocking"):
            expected = sum(call.startswith(f"{operation} {form} ") for call in recorded_calls)
            assert calls.get((operation, form), 0) == expected, (operation, form)
    persistent = sum(calls.get((operation, "persistent"), 0) for operation in _core.operations())
    assert persistent == recorded_calls.count("start")
    return data, calls


@pytest.mark.parametrize("on", PREFIXES)
def test_a_trace_is_replayed(recorded, on, tmp_path):
    """Each on both MPIs, stock and under omnes; some results are checked in the program."""
    data, calls = replayed(recorded[0], on, tmp_path)
    assert (calls["comm_dup", "blocking"], calls["comm_split", "blocking"], calls["comm_free", "blocking"]) == (
        3,
        6,
        10,
    )
    assert set(data["all"]) == {job["name"] for job in data["jobs"]} >= {"stock", "omnes"}
    assert "ratio" in data["all"]["omnes"] and not data["all"]["omnes"]["sure"]


@pytest.mark.parametrize("on", PREFIXES)
def test_calls_between_groups_are_replayed(recorded_between, on, tmp_path):
    _, calls = replayed(recorded_between[0], on, tmp_path)
    assert calls["comm_free", "blocking"] == 25


def test_what_is_packed_is_the_same(recorded, recorded_between, tmp_path):
    for file, _ in (recorded, recorded_between):
        packed = tmp_path / f"{file.name}.gz"
        trace = events.load(file)
        events.write(packed, trace)
        assert gzip.decompress(packed.read_bytes()) == file.read_bytes()
        assert events.load(packed) == trace


def test_with_statistics(mpi, build, tmp_path):
    done = run("run", "-n", 3, "--record", tmp_path / "a.trace.gz", "--stats", build("recorded", mpi))
    assert "omnes: recorded" in done.stderr and "omnes ran all" in done.stderr
    assert events.load(tmp_path / "a.trace.gz").ranks == 3


def test_threads_are_left_out(mpi, build, tmp_path):
    """What is not recorded is said, with the reason; what is left can be replayed."""
    done = run("run", "-n", 3, "--record", tmp_path / "t.trace", build("threads", mpi))
    trace = events.load(tmp_path / "t.trace")
    assert "made by another thread than the first" in done.stderr
    run("bench", "--replay", tmp_path / "t.trace", "--times", 1, "--longest-gap", 0, "--mpi", mpi.prefix)
    assert trace.head["left_out"]


def test_without_finalize_there_is_no_trace(mpi, build, tmp_path):
    command = [sys.executable, "-m", "omnes", "run", "-n", "2", "--record", str(tmp_path / "x"), "true"]
    done = subprocess.run(
        [*command[:-1], "--mpirun", str(mpi.launcher), "sh", "-c", "true"],
        capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    assert "no trace: no rank has called MPI_Finalize with omnes loaded" in done.stderr
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("vendor", ["openmpi", "mpich"])
def test_fortran(vendor, programs, tmp_path):
    if not shutil.which(f"mpif90.{vendor}"):
        pytest.skip(f"no mpif90.{vendor}: scripts/setup installs it where there is apt-get")
    program = compile_fortran("use_mpi", vendor, programs)
    run("run", "-n", 3, "--record", tmp_path / "f.trace", program)
    calls = calls_of(events.load(tmp_path / "f.trace"), 1)
    names = {call.split()[0] for call in calls}
    assert {"barrier", "bcast", "reduce", "allreduce", "gatherv", "alltoall"} <= names


def test_mpi4py(mpi, monkeypatch, tmp_path):
    name = "openmpi" if mpi.family == "ompi" else "mpich"
    monkeypatch.setenv("MPI4PY_MPIABI", name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(PREFIXES[name] / "lib"))
    script = tmp_path / "calls.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD.Dup()\n"
        "data = bytearray(24)\n"
        "comm.Bcast([data, MPI.BYTE], root=1)\n"
        "comm.Allreduce(MPI.IN_PLACE, [data, 3, MPI.DOUBLE], op=MPI.MAX)\n"
        "comm.Free()\n"
    )
    run("run", "-n", 2, "--record", tmp_path / "p.trace", "--mpirun", mpi.launcher, "--", sys.executable, script)
    calls = calls_of(events.load(tmp_path / "p.trace"), 0)
    wanted = ["dup on=0", "bcast blocking", "allreduce blocking", "free on="]
    assert [next(word for word in wanted if call.startswith(word)) for call in calls if call.startswith(tuple(wanted))]
    number = next(call for call in calls if call.startswith("dup")).rpartition("=")[2]
    assert f"allreduce blocking on={number} in_place=1 count=3 element=8 reduction=max:f64" in calls
    assert f"bcast blocking on={number} root=1 count=24" in calls


# What is wrong with a trace, or around it.

_HEAD = {"format": "omnes trace", "version": 1, "ranks": 1, "seconds": 0.1, "left_out": [], "stopped": False, "cut": 0}


def written(folder: Path, *lines: str, **head: object) -> Path:
    file = folder / "a.trace"
    file.write_text("\n".join([json.dumps({**_HEAD, **head}), *lines, ""]))
    return file


def test_a_small_trace_is_right(tmp_path):
    whole = ["communicator 0 0", "call 0 barrier blocking on=0", "rank 0 1", "0 5", "end"]
    assert calls_of(events.load(written(tmp_path, *whole)), 0) == ["barrier blocking on=0"]


@pytest.mark.parametrize(
    ("lines", "head", "said"),
    [
        (["communicator 0 0", "rank 0 2", "0 5"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 barrier blocking on=0", "rank 0 1", "0 5"], {}, "is no whole trace"),
        (["communicator 0 0", "rank 0 1", "7 5", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "end"], {}, "is no whole trace"),
        (["nonsense 0 0"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 wait", "rank 0 1", "0 5 1", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 barrier nonblocking on=0", "rank 0 1", "0 5", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 alltoallv blocking on=0", "rank 0 1", "0 5", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 barrier blocking on=0 count=-1", "rank 0 0", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 allgatherv blocking on=0 recv=-1", "rank 0 0", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 free blocking on=0", "rank 0 1", "0 5", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 wait as=9", "rank 0 0", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 split on=0", "rank 0 1", "0 5", "end"], {}, "is no whole trace"),
        ([], {"version": 3}, "is a trace of version 3; valid: 1, 2"),
        (["communicator 0 0-999999999999", "rank 0 0", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 bcast blocking on=0 root=-1", "rank 0 0", "end"], {}, "is no whole trace"),
        (["communicator 0 0", "call 0 bcast blocking on=0 root=none", "rank 0 0", "end"], {}, "is no whole trace"),
        ([], {"format": "omnes profile"}, "is no trace: omnes run --record FILE writes one"),
        (
            ["communicator 0 0", "call 0 sing blocking on=0", "rank 0 0", "end"],
            {},
            "no call 'sing'; valid: barrier, bcast",
        ),
        (
            ["communicator 0 0", "call 0 bcast loud on=0", "rank 0 0", "end"],
            {},
            "valid: blocking, nonblocking, persistent",
        ),
        (["communicator 0 0", "call 0 bcast blocking on=3", "rank 0 0", "end"], {}, "is no whole trace"),
        (
            ["communicator 0 0", "call 0 allreduce blocking on=0 reduction=mean:f64", "rank 0 0", "end"],
            {},
            "no reduction 'mean:f64'; valid: program, or one of sum",
        ),
    ],
)
def test_a_wrong_trace_is_one_line(tmp_path, lines, head, said):
    assert said in fails("bench", "--replay", str(written(tmp_path, *lines, **head)))


@pytest.mark.parametrize(
    ("groups", "call", "said"),
    [
        ("1 0,2 1,2", "barrier blocking on=0", "rank 2 is twice in intercommunicator 1; valid: each rank once, in one"),
        ("1 0-2", "barrier blocking on=0", "is no whole trace"),
        ("1 0-1 2 2", "barrier blocking on=0", "is no whole trace"),
        ("1 0,2 3", "barrier blocking on=0", "is no whole trace"),
        ("1 0,2 -", "barrier blocking on=0", "is no whole trace"),
        ("0 0,2 1", "barrier blocking on=0", "is no whole trace"),
        ("1 0,2 1", "scan blocking on=1 count=1", "no 'scan' on an intercommunicator; valid: barrier, bcast"),
        ("1 0,2 1", "neighbor_alltoall blocking on=1", "no 'neighbor_alltoall' on an intercommunicator; valid: barr"),
        ("1 0,2 1", "dup on=1 as=0", "no 'dup' on an intercommunicator; valid: barr"),
        ("1 0,2 1", "allreduce blocking on=1 in_place=1 count=1", "is on an intercommunicator; valid there: calls wi"),
        ("1 0,2 1", "split on=0 as=1", "is no whole trace"),
        ("1 0,2 1\ncommunicator 2 1-2", "split on=0 as=2", "is no whole trace"),  # without rank 0
        ("1 0,2 1", "bcast blocking on=1 root=3", "is no whole trace"),
        ("1 0,2 1", "bcast blocking on=1 root=1 count=1", "is no whole trace"),  # a rank of rank 0's own group
        ("1 0,2 1", "gatherv blocking on=1 root=0 recv=1,1", "is no whole trace"),
        ("1 0,2 1", "allgather blocking on=1 count=1", "is no whole trace"),
        ("1 0,2 1", "alltoall blocking on=1 send=1,1 recv=1,1", "is no whole trace"),
        ("1 0,2 1", "reduce_scatter blocking on=1 count=1 send=1", "is no whole trace"),
    ],
)
def test_a_wrong_trace_between_groups_is_one_line(tmp_path, groups, call, said):
    """The call is that of rank 0."""
    lines = [
        "communicator 0 0-2",
        f"between {groups}",
        f"call 0 {call}",
        "rank 0 1",
        "0 5",
        "rank 1 0",
        "rank 2 0",
        "end",
    ]
    assert said in fails("bench", "--replay", str(written(tmp_path, *lines, version=2, ranks=3)))


def test_a_call_that_is_too_large_is_one_line(tmp_path):
    call = f"allgatherv blocking on=0 count={2**40} recv={2**40}"
    file = written(tmp_path, "communicator 0 0", f"call 0 {call}", "rank 0 1", "0 5", "end")
    assert "too large for a replay" in fails("bench", "--replay", str(file))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "4"], "is of 1 ranks, which a replay has, too: leave out -n 4"),
        (["bcast"], "the trace says what is called; --replay goes with -n, --mpi"),
        (["--nodes", "2x1"], "the trace says what is called"),
    ],
)
def test_what_a_replay_does_not_go_with(tmp_path, words, said):
    whole = ["communicator 0 0", "call 0 barrier blocking on=0", "rank 0 1", "0 5", "end"]
    assert said in fails("bench", "--replay", str(written(tmp_path, *whole)), *words)


def test_other_wrong_words(tmp_path):
    assert "no such file" in fails("bench", "--replay", str(tmp_path / "none"))
    assert "not a regular file" in fails("bench", "--replay", str(tmp_path))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "is no" in fails("bench", "--replay", str(binary))
    half = tmp_path / "half.gz"
    half.write_bytes(gzip.compress(b"x" * 10000)[:20])
    assert "cannot read" in fails("bench", "--replay", str(half))
    assert "add --replay FILE" in fails("bench", "--times", "3")
    assert "drop --record" in fails("run", "--no-omnes", "--record", str(tmp_path / "t"), "./app")
    assert "no folder" in omnes("run", "--record", str(tmp_path / "no/t"), "./app").output


def test_intercommunicators_of_the_same_groups_are_told_apart(tmp_path):
    for rank in range(3):
        lines = ["omnes calls of a rank 1", f"rank {rank} of 3", "library ompi", "seconds 0.5", "stopped 0"]
        lines += ["communicator 0 1 0,1,2", "between 1 0 0,2 1", "communicator 2 0 0,2,1", "between 3 0 0,2 1"]
        lines += ["call barrier blocking on=1", "call barrier blocking on=3", "events 2", "0 1", "1 1", "end"]
        (tmp_path / f"calls-{rank}.txt").write_text("\n".join(lines) + "\n")
    trace = assembly.merge(tmp_path, ["./app"])
    assert [(comm.members, comm.first_group) for comm in trace.communicators] == [
        ((0, 1, 2), 0),
        ((0, 2, 1), 2),
        ((0, 2, 1), 0),
        ((0, 2, 1), 2),
    ]
    assert [calls_of(trace, rank) for rank in range(3)] == [["barrier blocking on=1", "barrier blocking on=3"]] * 3


# Ranks whose calls end at different places.


def rank_file(folder: Path, rank: int, ranks: int, calls: list[str], made: list[str], stopped: int = 0) -> None:
    world = ",".join(map(str, range(ranks)))
    lines = ["omnes calls of a rank 1", f"rank {rank} of {ranks}", "library ompi", "seconds 0.5", f"stopped {stopped}"]
    lines += [f"communicator 0 1 {world}", f"communicator 1 2 {rank}", "communicator 2 0 0,1"]
    lines += [*(f"call {call}" for call in calls), f"events {len(made)}", *made, "end"]
    (folder / f"calls-{rank}.txt").write_text("\n".join(lines) + "\n")


def test_events_end_where_a_rank_has_stopped(tmp_path):
    calls = ["bcast blocking on=0 root=0 count=1", "barrier blocking on=2", "barrier nonblocking on=0", "wait"]
    rank_file(tmp_path, 0, 2, calls, ["0 1", "1 1", "2 1 1", "0 1", "3 1 1", "1 1"])
    rank_file(tmp_path, 1, 2, calls, ["0 1", "1 1", "2 1 1"], stopped=1)
    trace = assembly.merge(tmp_path, ["./app"])
    assert [len(one) for one in trace.events] == [3, 3]
    assert trace.head["stopped"] and trace.head["cut"] == 3
    assert "trace ends before the program did" in events.summary(trace)


def test_a_cut_takes_what_others_need(tmp_path):
    """Rank 1 lacks a call, so rank 0 ends there, and lacks what rank 1 has made after it."""
    calls = ["barrier blocking on=0", "barrier blocking on=2"]
    rank_file(tmp_path, 0, 2, calls, ["0 1", "1 1", "1 1", "0 1"])
    rank_file(tmp_path, 1, 2, calls, ["0 1", "1 1", "0 1"])
    trace = assembly.merge(tmp_path, ["./app"])
    assert [len(one) for one in trace.events] == [2, 2]


def test_starts_need_all_ranks(tmp_path):
    calls = ["barrier persistent on=0", "start", "wait"]
    rank_file(tmp_path, 0, 2, calls, ["0 1 1", "1 1 1", "2 1 1", "1 1 1", "2 1 1"])
    rank_file(tmp_path, 1, 2, calls, ["0 1 1", "1 1 1", "2 1 1"])
    trace = assembly.merge(tmp_path, ["./app"])
    assert [len(one) for one in trace.events] == [3, 3]


def test_a_rank_without_calls_leaves_no_trace(tmp_path):
    rank_file(tmp_path, 0, 2, [], [])
    assert assembly.merge(tmp_path, ["./app"]) is None
    assert assembly.why_none(tmp_path) == "only 1 of the ranks have called MPI_Finalize with omnes loaded"


def test_what_a_rank_wrote_by_halves(tmp_path):
    rank_file(tmp_path, 0, 1, ["barrier blocking on=0"], ["0 1"])
    file = tmp_path / "calls-0.txt"
    file.write_text(file.read_text().replace("events 1", "events 3"))
    with pytest.raises(OmnesError, match="cannot be read"):
        assembly.merge(tmp_path, ["./app"])
