"""One way to say it in all commands: where ranks lie, --json and --csv, former names of options, mistyped names."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

import click
import pytest

from cli import fails, omnes
from omnes.cli import main
from omnes.commands import compare
from omnes.placement import patterns
from omnes.placement.patterns import Ranks
from omnes.terminal import output, spellings

FORMER = [
    ("predict bcast -n 8 --machine m.toml", "predict bcast -n 8 --costs m.toml", "--machine is now --costs"),
    ("topology groups --ranks 2x4", "topology groups --nodes 2x4", "--ranks is now --nodes"),
    ("topology --machine this", "topology --shape this", "--machine is now --shape"),
    ("map --machine p.json", "map --nodes p.json", "--machine is now --nodes"),
    ("map --cyclic --nodes 2x4", "map --nodes|2x4 cyclic", "--cyclic is now --nodes 'NODESxRANKS cyclic'"),
    ("regret --order block", "regret --nodes|2..1024x1..64 block", "--order is now"),
    ("export --to ucc --ranks-per-node 8", "export --nodes|x8|--to ucc", "--ranks-per-node is now --nodes x8"),
    ("simulate --ppn 4 --placement=cyclic", "simulate --nodes|x4 cyclic", "--ppn is now --nodes x4"),
    ("bench --hosts 4 -n 8", "bench --nodes|4x|-n 8", "--hosts is now --nodes 4x"),
    ("bench --placement cyclic --hosts=4", "bench --nodes|4x cyclic", "--placement is now"),
    ("draw x --nodes 4x8:cyclic", "draw --nodes|4x8 cyclic|x", "--nodes 4x8:cyclic is now --nodes '4x8 cyclic'"),
    ("report --ranks 2..8", "report --scale 2..8", "--ranks is now --scale"),
    ("bench --json f.json bcast", "bench --json=f.json bcast", "--json f.json is now --json=f.json"),
    ("bench --json - bcast", "bench --json=- bcast", "--json - is now --json=-"),
]
AS_THEY_ARE = ["map --hosts a,b --nodes 2x4", "tune -- --machine x", "bench --nodes 4x2"]


@pytest.mark.parametrize(("former", "now", "warning"), FORMER, ids=[former for former, _, _ in FORMER])
def test_former_names_are_taken_with_a_warning(former, now, warning, capsys):
    command, *words = former.split()
    split = now.split("|") if "|" in now else [now]
    expected = [word for part in split for word in ([part] if "cyclic" in part or "block" in part else part.split())]
    assert [command, *spellings.current(command, words)] == expected
    assert f"omnes: {warning}" in capsys.readouterr().err


@pytest.mark.parametrize("line", AS_THEY_ARE)
def test_other_words_stay(line, capsys):
    command, *words = line.split()
    assert spellings.current(command, words) == words and capsys.readouterr().err == ""


def test_what_stands_behind_a_program_is_its_own():
    for name in ("run", "compare"):
        words = ["./app", "--json", "--machine", "m"]
        assert main.resolve_command(main.make_context("omnes", [name, *words]), [name, *words])[2] == words
    context = compare.command.make_context("compare", ["--json", "./app", "--json"])
    assert str(context.params["to_json"]) == "-" and context.obj.program == ["./app", "--json"]


def test_a_former_name_does_the_same():
    now = omnes("explain", "bcast", "--nodes", "2x4 cyclic")
    former = omnes("explain", "bcast", "--nodes", "2x4", "--cyclic")
    assert now.exit_code == 0 and former.stdout == now.stdout and now.stderr == ""
    assert former.stderr == "omnes: --cyclic is now --nodes 'NODESxRANKS cyclic'\n"


@pytest.mark.parametrize(
    ("text", "counts", "groups"),
    [
        ("2x4", [], [Ranks(8, 4)]),
        ("x4", [6, 8], [Ranks(6, 4), Ranks(8, 4)]),
        ("2x", [7], [Ranks(7, 4)]),
        ("2..8x1,3", [], [Ranks(n * r, r) for n in (2, 4, 8) for r in (1, 3)]),
        ("2x2 block,cyclic", [], [Ranks(4, 2), Ranks(4, 2, True)]),
        ("cyclic", [8], [Ranks(8, 5, True)]),
        ("", [8], [Ranks(8, 5)]),
    ],
)
def test_cases(text, counts, groups):
    assert patterns.groups(counts, patterns.parse(text), 5) == groups


def test_names_files_and_switches(tmp_path):
    assert patterns.placing("n[1-2]x2 cyclic").nodes() == [0, 1, 0, 1]
    assert patterns.placing("n[1-2]x2").names == ("n1", "n1", "n2", "n2")
    (tmp_path / "ranks").write_text("b 0\na 0\nb 1\n")
    assert patterns.placing(str(tmp_path / "ranks")).nodes() == [0, 1, 0]
    job = json.loads(omnes("topology", "groups", "--nodes", "2x2x2x1", "--json").output)
    assert [level["name"] for level in job["levels"] if level["name"] in ("node", "switch")] == ["node", "switch"]


CASES = {
    "predict": ("bcast/knomial", "-n", "8", "-b", "8"),
    "explain": ("bcast", "-n", "8"),
    "regret": ("scan", "--nodes", "2x2", "-b", "8"),
    "map": ("allgather/bruck", "--nodes", "2x4"),
}


@pytest.mark.parametrize("command", CASES)
def test_figures_go_anywhere(command, tmp_path):
    data, table = tmp_path / "figures.json", tmp_path / "figures.csv"
    words = (command, *CASES[command])
    shown = omnes(*words, f"--json={data}", f"--csv={table}")
    assert shown.exit_code == 0 and shown.stdout != ""
    assert json.loads(data.read_text()) and len(list(csv.DictReader(table.open()))) > 0
    if command != "map":  # which says how long it took
        assert omnes(*words, "--csv").stdout == table.read_text()
        assert json.loads(omnes(*words, "--json").stdout) == json.loads(data.read_text())
    assert "the same target" in fails(*words, "--json", "--csv")


def test_csv_has_a_column_for_each_figure():
    rows = [{"a": 1, "jobs": {"stock": {"median": 2, "samples": [1, 2]}}}, {"a": 3, "interval": (1, 2)}]
    assert output.as_csv(rows) == "a,jobs.stock.median,interval\n1,2,\n3,,1 2\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("predct",), "no command 'predct'; did you mean 'predict'?"),
        (("predict", "alreduce", "-n", "4"), "no operation 'alreduce'; did you mean 'allreduce'?"),
        (("draw", "bcast/knomal", "-n", "4"), "no bcast algorithm 'knomal'; did you mean 'knomial'?"),
        (("predict", "bcast", "--nodes", "2x2 cylic"), "no word 'cylic'; did you mean 'cyclic'?"),
        (("check-guidelines", "bcas"), "no guideline for 'bcas'; did you mean 'bcast'?"),
        (("report", "-o", "p.html", "--only", "scam"), "no operation 'scam'; did you mean 'scan'?"),
        (("bench", "redcue"), "no operation 'redcue'; did you mean 'reduce'?"),
        (("predict", "allreduce/rng", "-n", "4"), "no allreduce algorithm 'rng'; did you mean 'ring'?"),
        (("explain", "bcast", "--node", "2x4"), "no option '--node'; did you mean '--nodes'? omnes explain --help"),
        (
            ("bench", "--type", "flot"),
            "'flot' is not one of 'int', 'float', 'double', 'double_int'; did you mean 'float'?",
        ),
        (
            ("topology", "groups", "--rnk", "1"),
            "no option '--rnk'; did you mean '--rank'? omnes topology groups --help",
        ),
        (("simulate", "--platform", "fat-tre:2x4"), "'fat-tre:2x4' is no platform; did you mean 'fat-tree'? valid: "),
    ],
)
def test_mistyped_names(words, meant):
    assert meant in fails(*words) and omnes(*words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("bench", "--type"), "option '--type' requires an argument"),
        (("run", "-n", "0", "./app"), "invalid value for '-n' / '-np' / '--np': 0 is not in the range"),
        (("tune", "bcast"), "missing option '-o' / '--output' (omnes tune --help)"),
        (("topology", "grops"), "no such command 'grops'"),
        (("draw",), "missing argument 'OPERATION/ALGORITHM' (omnes draw --help)"),
        (("info", "all"), "got unexpected extra argument (all) (omnes info --help)"),
    ],
)
def test_wrong_usage_is_one_line(words, complaint):
    result = omnes(*words)
    assert result.exit_code == 2 and result.output.startswith(f"omnes: {complaint}") and result.output.count("\n") == 1


def options_of(command: click.Command) -> Iterator[list[str]]:
    for option in command.params:
        if isinstance(option, click.Option):
            yield option.opts
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from options_of(command.get_command(click.Context(command), name))


def test_short_options_have_one_long_name_in_all_commands():
    found = list(options_of(main))
    assert len(found) > 100
    for short, long in (("-b", "--bytes"), ("-o", "--output")):
        assert not [names for names in found if (short in names) != (long in names)]
