"""Unmodified MPI programs under omnes: results, errors, communicators' lives, threads, progress and sudden ends."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from launching import MESSAGES, NODES, expect_ok, mpirun, the_mpi
from omnes import _core
from omnes.algorithms import catalogue
from omnes.launching import libraries

SHARED: dict[str, str] = {}

# Ranks, largest count, variables.
SITUATIONS = {
    "alone": (1, 1000, SHARED),
    "two": (2, 50000, SHARED),
    "three": (3, 1000, SHARED),
    "three-by-messages": (3, 1000, MESSAGES),
    "four-on-two-nodes": (4, 1000, NODES),
    "five-on-two-nodes": (5, 10, NODES),
    "eight": (8, 10, SHARED),
    "small-slots": (3, 1000, {"OMNES_SLOTS": "2", "OMNES_SLOT_BYTES": "64", "OMNES_SINGLE_COPY": "off"}),
}


def algorithms(operation: str) -> list[str]:
    return [entry["name"] for entry in _core.catalogue() if entry["operation"] == operation]


# One launch forces one algorithm of each operation.
ROUNDS = range(max(len(algorithms(operation)) for operation in _core.operations()))


def forced(number: int) -> dict[str, str]:
    choices = {}
    for operation in _core.operations():
        names = algorithms(operation)
        choices[f"OMNES_{operation.upper()}"] = names[number % len(names)]
    return choices


def reports(folder, ranks):
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(ranks)]


@pytest.mark.parametrize("program", ["movement", "reductions"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_results(mpi, build, program, situation):
    ranks, largest, variables = SITUATIONS[situation]
    expect_ok(mpirun(mpi, ranks, build(program, mpi), str(largest), variables=variables))


@pytest.mark.parametrize("program", ["movement", "reductions"])
def test_results_on_the_standard_abi(build, program):
    mpich = the_mpi("mpich")
    expect_ok(mpirun(mpich, 3, build(program, mpich, standard_abi=True), "1000"))


@pytest.mark.parametrize("standard_abi", [False, True], ids=["mpich", "abi"])
@pytest.mark.parametrize("program", ["movement_large_counts", "reductions_large_counts"])
def test_functions_with_large_counts(build, tmp_path, program, standard_abi):
    mpich = the_mpi("mpich")
    built = build(program, mpich, standard_abi=standard_abi)
    expect_ok(mpirun(mpich, 3, built, "10", variables={"OMNES_STATS": str(tmp_path)}))
    assert [report["passed"] for report in reports(tmp_path, 3)] == [[], [], []]


def served(report) -> set[tuple[str, str]]:
    """Of each operation, without parameters and how ranks were renumbered."""
    return {(entry["operation"], re.split("[: ]", entry["algorithm"])[0]) for entry in report["entries"]}


@pytest.mark.parametrize("number", ROUNDS)
def test_each_algorithm(build, tmp_path, number):
    """Four ranks, so that those for powers of two run too; the MPIs and the transports take turns."""
    mpi = the_mpi(["openmpi", "mpich"][number % 2])
    transport = [SHARED, NODES, MESSAGES][number % 3]
    variables = {**forced(number), **transport, "OMNES_STATS": str(tmp_path)}
    expect_ok(mpirun(mpi, 4, build("movement", mpi), "10", variables=variables))
    ran = served(reports(tmp_path, 4)[0])
    moved = ["barrier", "bcast", "gather", "scatter", "allgather", "alltoall"]
    assert {(name, variables[f"OMNES_{name.upper()}"]) for name in moved} <= ran

    expect_ok(mpirun(mpi, 4, build("reductions", mpi), "10", variables=variables))
    report = reports(tmp_path, 4)[0]
    assert {(name, variables[f"OMNES_{name.upper()}"]) for name in ["reduce", "allreduce"]} <= served(report)
    assert "operation not defined for this datatype" not in {entry["reason"] for entry in report["passed"]}


@pytest.mark.parametrize("variables", [SHARED, NODES, MESSAGES], ids=["shared", "nodes", "messages"])
def test_every_operation(mpi, build, tmp_path, variables):
    variables = {**variables, "OMNES_STATS": str(tmp_path)}
    expect_ok(mpirun(mpi, 3, build("catalogue", mpi), "blocking", variables=variables))
    for report in reports(tmp_path, 3):
        assert {entry["operation"] for entry in report["entries"]} >= set(_core.operations())
        assert report["passed"] == []


def test_segments(mpi, build):
    segmented = {
        f"OMNES_{entry['operation'].upper()}": f"{entry['name']}:segment=256"
        for entry in _core.catalogue()
        if entry["segmented"]
    }
    expect_ok(mpirun(mpi, 3, build("movement", mpi), "1000", variables=segmented))
    expect_ok(mpirun(mpi, 3, build("reductions", mpi), "1000", variables=segmented))


def one_of_each(number: int) -> str:
    return " ".join(
        f"{operation}={names[number % len(names)]}"
        for operation in catalogue.REDUCTIONS
        for names in [algorithms(operation)]
    )


REDUCTIONS = range(max(len(algorithms(operation)) for operation in catalogue.REDUCTIONS))


@pytest.mark.parametrize(
    ("ranks", "variables"),
    [(3, SHARED), (4, SHARED), (5, NODES), (4, MESSAGES)],
    ids=["three", "four", "five-on-two-nodes", "four-by-messages"],
)
def test_all_ranks_get_the_same_bits(mpi, build, ranks, variables):
    choices = [one_of_each(number) for number in REDUCTIONS]
    expect_ok(mpirun(mpi, ranks, build("same_bits", mpi), *choices, variables=variables))


def test_datatypes_at_their_edges(mpi, build):
    expect_ok(mpirun(mpi, 3, build("types", mpi)))


@pytest.mark.parametrize("variables", [SHARED, MESSAGES], ids=["shared", "messages"])
def test_datatypes_made_around_a_call(mpi, build, variables):
    expect_ok(mpirun(mpi, 3, build("defined", mpi), variables=variables))


def test_errors_are_the_stock_ones(mpi, build):
    program = build("errors", mpi)
    stock = mpirun(mpi, 2, program, with_omnes=False)
    ours = mpirun(mpi, 2, program)
    assert stock.returncode == ours.returncode == 0
    assert ours.stdout == stock.stdout
    assert "class 2, " in ours.stdout


@pytest.mark.parametrize("what", ["process", "source", "target", "secret"])
def test_memory_that_others_cannot_read_any_more(mpi, build, what):
    expect_ok(mpirun(mpi, 3, build("refused", mpi), what, variables={"OMNES_SINGLE_COPY": "96K"}))


def test_negative_counts_in_arrays_are_refused(mpi, build):
    expect_ok(mpirun(mpi, 3, build("negative_counts", mpi)))


def test_aliased_buffers_are_errors_where_the_stock_mpi_says_so(mpi, build):
    program = build("aliased", mpi)
    stock = mpirun(mpi, 3, program, with_omnes=False)
    ours = mpirun(mpi, 3, program)
    assert (ours.returncode, ours.stdout) == (stock.returncode, stock.stdout) and stock.returncode == 0
    assert "Reduce, form 0: class 0" not in ours.stdout.splitlines()[0]  # that both look at


@pytest.mark.parametrize("transport", [SHARED, MESSAGES], ids=["shared", "messages"])
def test_contributions_among_what_is_received_are_sent_as_they_were(mpi, build, transport):
    expect_ok(mpirun(mpi, 3, build("overlapping", mpi), variables=transport))


@pytest.mark.parametrize("transport", [SHARED, MESSAGES], ids=["shared", "messages"])
def test_objects_that_another_thread_frees_during_a_call(mpi, build, transport):
    expect_ok(mpirun(mpi, 3, build("freed", mpi), variables=transport))


@pytest.mark.parametrize("program", ["threadcomm", "own_operations"])
def test_what_only_mpich_has(build, program):
    mpich = the_mpi("mpich")
    expect_ok(mpirun(mpich, 2, build(program, mpich)))


@pytest.mark.parametrize(("who", "options"), [("all", ()), ("one", ("--with-ft", "ulfm"))], ids=["all", "one"])
def test_revoked_communicators(build, who, options):
    openmpi = the_mpi("openmpi")
    expect_ok(mpirun(openmpi, 3, build("revoked", openmpi), who, options=options))


@pytest.mark.parametrize(
    ("how", "variables"),
    [
        ("blocking", SHARED),
        ("nonblocking", NODES),
        ("tested", SHARED),
        *((how, SHARED) for how in ("any", "some", "all", "testany", "testsome", "testall")),
        ("persistent", MESSAGES),
        ("first", SHARED),
        ("midst", SHARED),
        ("midst", MESSAGES),
    ],
)
def test_a_rank_dies_and_the_others_go_on(build, how, variables):
    openmpi = the_mpi("openmpi")
    run = mpirun(openmpi, 4, build("survivors", openmpi), how, variables=variables, options=("--with-ft", "ulfm"))
    assert run.stdout.strip().endswith("OK"), run.stdout + run.stderr


@pytest.mark.parametrize(
    "program", ["one_refused", "cancelled", "room_for_more", "at_finalize", "wide_gaps", "small_stacks"]
)
def test_what_stock_mpis_forgive(mpi, build, program):
    expect_ok(mpirun(mpi, 3, build(program, mpi), timeout=60))


@pytest.mark.parametrize("program", ["attached", "freed_twice", "out_of_contexts"])
def test_communicators_that_are_kept_are_gone(build, program):
    mpich = the_mpi("mpich")
    expect_ok(mpirun(mpich, 2, build(program, mpich), timeout=60))


@pytest.mark.parametrize("call", ["recv", "sendrecv"])
def test_a_rank_dies_while_another_receives_from_any(build, call):
    openmpi = the_mpi("openmpi")
    run = mpirun(openmpi, 3, build("any_source", openmpi), call, options=("--with-ft", "ulfm"))
    assert run.stdout.strip().endswith("OK"), run.stdout + run.stderr


def test_calls_that_repeat_earlier_ones_but_for_one_argument(mpi, build, tmp_path):
    expect_ok(mpirun(mpi, 3, build("repeats", mpi), variables={"OMNES_STATS": str(tmp_path)}))
    entries = [entry for entry in reports(tmp_path, 3)[0]["entries"] if entry["operation"] == "allreduce"]
    # The communicator's info asks for this one half-way; of the last 40 it serves the 22 with predefined operations.
    assert sum(entry["calls"] for entry in entries if entry["algorithm"].split(":")[0] == "ring") == 22


@pytest.mark.parametrize(
    ("ranks", "variables"),
    [(2, SHARED), (3, SHARED), (4, SHARED), (4, NODES), (3, MESSAGES)],
    ids=["two", "three", "four", "four-on-two-nodes", "three-by-messages"],
)
def test_calls_whose_arguments_change_every_time(mpi, build, tmp_path, ranks, variables):
    expect_ok(mpirun(mpi, ranks, build("varied", mpi), variables=variables))
    expect_ok(mpirun(mpi, ranks, build("varied", mpi), variables={**variables, "OMNES_STATS": str(tmp_path)}))
    for report in reports(tmp_path, ranks):
        # Each size is counted as what it is.
        assert {entry["bytes"] for entry in report["entries"] if entry["operation"] == "allreduce"} >= {4, 8, 16}
        assert report["passed"] == [] or variables == NODES


@pytest.mark.parametrize("segment", ["256", "4K"])
def test_changing_calls_in_segments(mpi, build, segment):
    variables = {
        f"OMNES_{entry['operation'].upper()}": f"{entry['name']}:segment={segment}"
        for entry in _core.catalogue()
        if entry["segmented"]
    }
    expect_ok(mpirun(mpi, 3, build("varied", mpi), variables=variables))


def test_calls_of_other_sizes_allocate_nothing(mpi, build):
    expect_ok(mpirun(mpi, 2, build("varied", mpi), "fresh"))


def test_the_host_serves_some_sizes(build, tmp_path):
    """Of a call with other counts each time, which is left to the MPI for some of them."""
    rule = '[{ min_bytes = 40, max_bytes = 1000, use = "host" }]'
    operations = ("bcast", "allreduce", "reduce", "gather", "scatter", "allgather", "alltoall", "allgatherv")
    table = tmp_path / "table.toml"
    table.write_text("".join(f"{operation} = {rule}\n" for operation in operations))
    mpi = the_mpi("openmpi")
    expect_ok(mpirun(mpi, 2, build("varied", mpi), variables={"OMNES_TABLE": str(table)}))


@pytest.mark.parametrize("variables", [SHARED, NODES], ids=["shared", "nodes"])
def test_communicators_come_and_go(mpi, build, variables):
    cycles = "1000" if variables == SHARED else "100"
    expect_ok(mpirun(mpi, 3, build("lifecycle", mpi), cycles, variables=variables))


@pytest.mark.parametrize("variables", [SHARED, NODES, {"OMNES_ASYNC": "1"}], ids=["shared", "nodes", "async"])
def test_communicators_are_made_and_first_used_in_every_order(mpi, build, variables):
    expect_ok(mpirun(mpi, 3, build("dups", mpi), "50", variables=variables))


def test_a_thousand_communicators_at_once(mpi, build):
    most_kibibytes_each = "64"
    expect_ok(mpirun(mpi, 2, build("dups", mpi), "1000", most_kibibytes_each))


@pytest.mark.parametrize("how", ["", "alone", "beside", "longer"])
def test_communicators_of_sessions(mpi, build, how):
    expect_ok(mpirun(mpi, 2, build("sessions", mpi), *how.split()))


def test_what_goes_to_the_host_is_counted(mpi, build, tmp_path):
    expect_ok(mpirun(mpi, 3, build("lifecycle", mpi), "2", variables={"OMNES_STATS": str(tmp_path)}))
    for report in reports(tmp_path, 3):
        passed = {(entry["operation"], entry["reason"]) for entry in report["passed"]}
        assert passed == {("barrier", "during MPI_Comm_free")}


@pytest.mark.parametrize("variables", [SHARED, MESSAGES, NODES], ids=["shared", "messages", "nodes"])
def test_collectives_between_groups(mpi, build, variables):
    length = ["quick"] if variables == MESSAGES else []
    expect_ok(mpirun(mpi, 3, build("between", mpi), *length, variables=variables))


def test_only_errors_between_groups_go_to_the_host(mpi, build, tmp_path):
    expect_ok(mpirun(mpi, 3, build("between", mpi), "quick", variables={"OMNES_STATS": str(tmp_path)}))
    for report in reports(tmp_path, 3):
        passed = {(entry["operation"], entry["reason"]) for entry in report["passed"]}
        negative = {(operation, "negative count") for operation in ("bcast", "allgather")}
        assert passed <= {("bcast", "invalid root"), *negative}


@pytest.mark.parametrize("variables", [SHARED, MESSAGES], ids=["shared", "messages"])
def test_threads(mpi, build, variables):
    expect_ok(mpirun(mpi, 3, build("threads", mpi), variables=variables))


@pytest.mark.parametrize("variables", [SHARED, NODES], ids=["shared", "nodes"])
def test_pending_messages_move_during_a_barrier(mpi, build, variables):
    expect_ok(mpirun(mpi, 3, build("progress", mpi), variables=variables))


needs_two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="for ranks with a CPU of their own")


@needs_two_cpus
def test_a_rank_with_its_own_cpu_does_not_sleep(mpi, build):
    expect_ok(mpirun(mpi, 2, build("awake", mpi)))


@pytest.fixture
def two_cpus():
    """For jobs that this test starts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:2])
    yield
    os.sched_setaffinity(0, before)


@needs_two_cpus
def test_ranks_of_other_communicators_take_cpus_as_well(mpi, build, two_cpus, tmp_path):
    """Four ranks on two CPUs: communicators of two have no CPUs of their own, either."""
    table = tmp_path / "table.toml"
    table.write_text("bcast = [{ own_cpus = true, use = 'binary' }, { use = 'chain' }]")
    variables = {"OMNES_TABLE": str(table), "OMNES_STATS": str(tmp_path)}
    unbound = ["--bind-to", "none"] if mpi.open_mpi else []
    run = mpirun(mpi, 4, build("profiled", mpi), variables=variables, options=unbound)
    assert run.returncode == 0, run.stderr
    of_bcast = [entry for entry in reports(tmp_path, 4)[0]["entries"] if entry["operation"] == "bcast"]
    assert [(entry["size"], entry["algorithm"]) for entry in of_bcast] == [(2, "chain")]


def passed_on_of_spawned(mpi, program, folder, variables):
    """Why calls of those that have started others went to the host."""
    slots = ["--oversubscribe"] if mpi.family == "ompi" else []
    run = mpirun(mpi, 2, *program, variables={**variables, "OMNES_STATS": str(folder)}, options=slots)
    expect_ok(run)
    assert not run.stderr
    return [{entry["reason"] for entry in report["passed"]} for report in reports(folder, 2)]


@pytest.mark.parametrize("variables", [SHARED, MESSAGES, NODES], ids=["shared", "messages", "nodes"])
def test_ranks_that_were_spawned(mpi, build, tmp_path, variables):
    """Together with those that have started them they are served like others."""
    assert passed_on_of_spawned(mpi, [build("spawned", mpi)], tmp_path, variables) == [set(), set()]
    assert {path.name for path in tmp_path.iterdir()} == {"rank-0.json", "rank-1.json"}


def test_ranks_that_were_spawned_without_omnes(mpi, build, tmp_path):
    passed = passed_on_of_spawned(mpi, [build("spawned", mpi), "without"], tmp_path, SHARED)
    assert passed == [{"ranks of several MPI_COMM_WORLDs"}] * 2


def test_ranks_without_omnes_spawn_others(mpi, build):
    slots = ["--oversubscribe"] if mpi.family == "ompi" else []
    library = libraries.path(mpi.family)
    expect_ok(mpirun(mpi, 2, build("spawned", mpi), "with", library, with_omnes=False, options=slots))


@pytest.mark.parametrize("variables", [SHARED, MESSAGES, NODES], ids=["shared", "messages", "nodes"])
@pytest.mark.parametrize("how", ["halves", "spawns"])
def test_ranks_that_meet_by_a_port(build, tmp_path, variables, how):
    """Of one job or of two, several times. (MPICH 5.0.2 opens no ports here.)"""
    mpi = the_mpi("openmpi")
    program = [build("ports", mpi), how]
    assert passed_on_of_spawned(mpi, program, tmp_path, variables) == [set(), set()]


@pytest.mark.parametrize("variables", [SHARED, MESSAGES], ids=["shared", "messages"])
def test_ranks_that_join_by_a_socket(mpi, build, tmp_path, variables):
    assert passed_on_of_spawned(mpi, [build("ports", mpi), "join"], tmp_path, variables) == [set(), set()]


@pytest.mark.parametrize("second_has_omnes", [True, False])
def test_jobs_that_join_by_a_socket(build, tmp_path, second_has_omnes):
    """Open MPI has to be told of a server that both launchers know."""
    mpi = the_mpi("mpich")
    program = build("ports", mpi)
    stats = [tmp_path / "first", tmp_path / "second"]
    for folder in stats:
        folder.mkdir()
    with ThreadPoolExecutor() as pool:
        jobs = [
            pool.submit(
                mpirun,
                mpi,
                1,
                program,
                how,
                str(tmp_path / "where"),
                with_omnes=has_omnes,
                variables={"OMNES_STATS": str(folder)},
            )
            for how, folder, has_omnes in zip(["joins", "joined"], stats, [True, second_has_omnes], strict=True)
        ]
        for job in jobs:
            expect_ok(job.result())
    for folder in stats[: 1 + second_has_omnes]:
        reasons = {entry["reason"] for entry in reports(folder, 1)[0]["passed"]}
        assert reasons == (set() if second_has_omnes else {"ranks of several MPI_COMM_WORLDs"})


def ours_in_shared_memory():
    return {name for name in os.listdir("/dev/shm") if name.startswith("omnes")}


def test_a_killed_rank_ends_the_job_and_leaves_nothing(mpi, build):
    before = ours_in_shared_memory()
    assert mpirun(mpi, 3, build("endless", mpi), "300").returncode != 0
    assert ours_in_shared_memory() <= before


def test_a_wrong_setting_is_an_error_of_mpi_init(mpi, build):
    run = mpirun(mpi, 2, build("progress", mpi), variables={"OMNES_BCAST": "knomail"})
    assert run.returncode != 0
    assert 'OMNES_BCAST: no algorithm "knomail" for bcast; did you mean knomial? valid: ' in run.stdout + run.stderr


def test_switched_off(mpi, build, tmp_path):
    variables = {"OMNES_OFF": "1", "OMNES_STATS": str(tmp_path)}
    expect_ok(mpirun(mpi, 2, build("progress", mpi), variables=variables))
    for rank in range(2):
        report = json.loads((tmp_path / f"rank-{rank}.json").read_text())
        assert report["entries"] == []
        assert report["passed"] and {entry["reason"] for entry in report["passed"]} == {"OMNES_OFF"}


@pytest.mark.parametrize("family", ["ompi", "mpich", "abi"])
def test_a_library_of_another_family_hands_everything_on(mpi, build, family):
    """Even where handles are wider than those that the library knows."""
    library = libraries.require(family)
    expect_ok(mpirun(mpi, 2, build("movement", mpi), "10", with_omnes=False, variables={"LD_PRELOAD": str(library)}))
