"""omnes export: what other MPIs read says what the table says, and the real ones take it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli import fails, omnes
from launching import PREFIXES, mpirun, the_mpi
from omnes import _core
from omnes.exporting import openmpi

BCAST = '[{ max_bytes = "1K", use = "linear" }, { max_ranks = 8, use = "chain:segment=8K" }, { use = "scatter_ring" }]'
ALLREDUCE = '[{ max_bytes = "4K", use = "recursive_doubling" }, { use = "ring" }, { use = "linear" }]'


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Rules for bcast, allgather and allreduce that no MPI has by itself; the rest has no counterparts."""
    rules = {name: '[{ use = "linear" }]' for name in _core.operations()}
    rules.update(bcast=BCAST, allreduce=ALLREDUCE, allgather='[{ use = "ring" }]')
    path = tmp_path / "table.toml"
    path.write_text("\n".join(f"{name} = {of_name}" for name, of_name in rules.items()))
    return path


def export(table: Path | None, *words: str) -> str:
    result = omnes("export", *([str(table)] if table else []), *words, "-n", "16", "--nodes", "x1")
    assert result.exit_code == 0, result.output
    return result.stdout


def classic(text: str) -> dict[int, dict[int, list[tuple[int, ...]]]]:
    """As Open MPI reads it: by operation and number of ranks the rules (bytes, algorithm, fanout, segment)."""
    numbers = iter([int(word) for line in text.splitlines() for word in line.partition("#")[0].split()])
    found = {
        next(numbers): {
            next(numbers): [tuple(next(numbers) for _ in range(4)) for _ in range(next(numbers))]
            for _ in range(next(numbers))
        }
        for _ in range(next(numbers))
    }
    assert next(numbers, None) is None
    return found


def test_open_mpis_rules_are_the_tables(table):
    text = export(table, "--to", "openmpi")
    rules = classic(text)
    assert rules[7] == {2: [(0, 1, 0, 0), (1025, 3, 0, 8192)], 9: [(0, 1, 0, 0), (1025, 9, 0, 0)], 17: [(0, 0, 0, 0)]}
    assert rules[2] == {2: [(0, 3, 0, 0), (4097, 0, 0, 0)], 17: [(0, 0, 0, 0)]}
    assert "# allreduce ring: Open MPI's ring is only for operations that commute" in text
    assert classic(export(table, "--to", "openmpi", "--commuting"))[2][2] == [(0, 3, 0, 0), (4097, 4, 0, 0)]


def test_open_mpis_sizes_are_of_all_parts(tmp_path):
    rules = tmp_path / "table.toml"
    rules.write_text('allgather = [{ max_bytes = "256", use = "bruck" }, { use = "ring" }]\n')
    by_ranks = classic(export(rules, "--to", "openmpi"))[0]
    assert {p: rows[1][0] for p, rows in by_ranks.items() if len(rows) > 1} == {p: 257 * p for p in range(2, 17)}


def test_rules_of_what_was_measured():
    """Up to the next size that was; sizes of all parts together where there is a part for each rank."""
    binomial, linear = (openmpi.COUNTERPARTS["bcast"]["knomial:k=2"], openmpi.COUNTERPARTS["gather"]["linear"])
    won = {("bcast", 2048): (binomial, 32768), ("gather", 8): (linear, 0)}
    own = (0, 0, 0)  # Open MPI's choice
    assert classic(openmpi.measured(won, (8, 2048), 4, "a machine")) == {
        7: {4: [(0, *own), (8, *own), (2048, 6, 0, 32768)], 5: [(0, *own)]},
        9: {4: [(0, *own), (32, 1, 0, 0), (8192, *own)], 5: [(0, *own)]},
    }


def test_open_mpis_json_says_the_same(table):
    data = json.loads(export(table, "--to", "openmpi-json"))
    assert data["collectives"]["bcast"][0] == {
        "comm_size_min": 2,
        "comm_size_max": 8,
        "rules": [
            {"msg_size_min": 0, "msg_size_max": 1024, "alg": "basic_linear"},
            {"msg_size_min": 1025, "msg_size_max": "inf", "alg": "pipeline", "seg_size": 8192},
        ],
    }
    assert data["rule_file_version"] == 3 and "barrier" in data["collectives"]


def test_one_node_leaves_to_the_host_what_only_memory_can(table):
    alone = omnes("export", str(table), "--to", "openmpi", "-n", "4")
    assert "note: bcast linear: one send reaches all ranks, through memory" in alone.stderr
    assert classic(alone.stdout)[7] == {
        2: [(0, 1, 0, 0), (1025, 3, 0, 8192)],
        3: [(0, 0, 0, 0), (1025, 3, 0, 8192)],
    } | {5: [(0, 0, 0, 0)]}


def test_intels_and_uccs_settings(table):
    words = export(table, "--to", "intel")
    assert "export I_MPI_ADJUST_BCAST='3:1025-2147483647@9-16'" in words
    assert "export I_MPI_ADJUST_ALLREDUCE='1:0-4096@2-16'" in words
    tokens = re.search("UCC_TL_UCP_TUNE='(.*)'", export(table, "--to", "ucc"))[1].split("#")
    assert {"bcast:1025-inf:host:[9-16]:@sag_knomial", "allreduce:0-4097:host:[2-16]:@knomial"} <= set(tokens)


def test_the_real_open_mpi_takes_the_file(table, tmp_path, build):
    """How many messages rank 0 sends to each tells which algorithms ran."""
    of = the_mpi("openmpi")
    (tmp_path / "rules").write_text(export(table, "--to", "openmpi"))
    variables = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(tmp_path / "rules"),
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(tmp_path / "sent"),
    }
    done = mpirun(of, 4, build("exported", of), with_omnes=False, variables=variables)
    assert (done.returncode, done.stdout) == (0, "OK\n"), done.stderr
    sent = re.findall(r"^I\t0\t(\d)\t\d+ bytes\t(\d+) msgs", (tmp_path / "sent.0.prof").read_text(), re.MULTILINE)
    # Each bcast's 4 bytes go to all, its 64 KiB as 8 segments to the next, and so do 3 parts of allgather; allreduce
    # exchanges with 1 and 2.
    assert dict(sent) == {"1": str(1 + 8 + 3 + 1), "2": str(1 + 1), "3": "1"}


def test_the_real_mpich_takes_the_file_and_nothing_wrong(table, tmp_path, build):
    of = the_mpi("mpich")
    text = export(table, "--to", "mpich", "--mpi", str(PREFIXES["mpich"]))
    wrong = text.replace("MPIR_Allgather_intra_ring", "MPIR_Allgather_intra_knot")
    assert wrong != text
    for name, content, good in (("good", text, True), ("wrong", wrong, False)):
        (tmp_path / name).write_text(content)
        variables = {
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(tmp_path / name),
            "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
        }
        done = mpirun(of, 4, build("exported", of), with_omnes=False, variables=variables)
        assert (done.returncode == 0, "OK\n" in done.stdout) == (good, good), done.stderr


def leaf(tree: dict, facts: dict[str, str | int]) -> dict:
    """Where a call with these facts arrives."""
    for test, below in tree.items():
        if test.startswith("algorithm="):
            return {test: below}
        name, relation, value = re.fullmatch(r"(\w+)(<=|<|=)(\w+)", test).groups()
        fact, limit = facts[name], int(value) if value.isdigit() else 8  # a power of two below all counts here
        if value == "any" or (fact == value if relation == "=" else fact < limit + (relation == "<=")):
            return leaf(below, facts)
    raise AssertionError(f"no branch for {facts}")


def test_mpichs_tree_guards_what_an_algorithm_cannot_do(tmp_path):
    rules = {name: '[{ use = "linear" }]' for name in _core.operations()}
    rules["allreduce"] = (
        '[{ max_ranks = 8, use = "ring" }, { commutative = true, use = "rabenseifner" }, {use="linear"}]'
    )
    rules["bcast"] = '[{ max_bytes = "4K", use = "knomial:k=4" }, { use = "knomial:k=3,segment=64K" }]'
    path = tmp_path / "table.toml"
    path.write_text("\n".join(f"{name} = {of_name}" for name, of_name in rules.items()))
    text = export(path, "--to", "mpich", "--mpi", str(PREFIXES["mpich"]))
    tree = json.loads(text.partition("*/")[2])
    facts: dict[str, str | int] = {"comm_type": "intra", "comm_hierarchy": "parent", "count": 8192}
    facts |= {"avg_msg_size": 65536, "is_op_built_in": "yes", "is_commutative": "yes"}
    allreduce = tree["collective=allreduce"]
    assert list(leaf(allreduce, facts | {"comm_size": 8})) == ["algorithm=MPIR_Allreduce_intra_ring"]
    user = facts | {"comm_size": 8, "is_commutative": "no", "is_op_built_in": "no"}
    assert list(leaf(allreduce, user)) == ["algorithm=MPIR_Allreduce_intra_recursive_doubling"]
    assert list(leaf(allreduce, facts | {"comm_size": 9})) == [
        "algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather"
    ]
    tree_of_4 = {"tree_type=knomial_1": {}, "k=4": {}, "is_non_blocking=1": {}}
    small = facts | {"comm_size": 16, "avg_msg_size": 4096}
    assert leaf(tree["collective=bcast"], small) == {"algorithm=MPIR_Bcast_intra_tree": tree_of_4}
    large = leaf(tree["collective=bcast"], facts | {"comm_size": 16})["algorithm=MPIR_Bcast_intra_pipelined_tree"]
    assert {"k=3", "chunk_size=65536"} <= set(large)


def test_wrong_input_is_one_line(tmp_path):
    assert fails("export", str(tmp_path / "none.toml"), "--to", "ucc", "-n", "4").endswith("none.toml: no such file")
    (tmp_path / "bad.toml").write_text("bcast = 3")
    assert "no list of rules for" in fails("export", str(tmp_path / "bad.toml"), "--to", "ucc", "-n", "4")
    assert "--mpi is for --to mpich" in fails("export", "--to", "ucc", "-n", "4", "--mpi", "/opt/mpich")
    assert "no mpirun or mpiexec" in fails("export", "--to", "mpich", "-n", "4", "--mpi", str(tmp_path))


def test_the_wrong_mpi_is_refused(table):
    other = the_mpi("openmpi")
    complaint = fails("export", str(table), "--to", "mpich", "-n", "16", "--mpi", str(PREFIXES["openmpi"]))
    assert complaint == f"omnes: {other.launcher} is {other.name}, not MPICH, whose own table this starts from"
