"""omnes topology, and the machines, jobs and networks of tests/topology: what is said of each, as expected text."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ClusterShell.NodeSet import NodeSet

from cli import fails, omnes
from omnes import _core
from omnes.placement import jobs

FOLDER = Path(__file__).parent / "topology"
CASES = sorted(FOLDER.glob("*.txt"))


def words(description: str) -> tuple[dict[str, str], list[str]]:
    """The options of a case, and as the command takes them; files are in its folder."""
    lines = [line for line in description.splitlines() if not line.startswith("#")]
    options = dict(line.split(": ", 1) for line in lines)
    found = {name: str(FOLDER / value) if (FOLDER / value).exists() else value for name, value in options.items()}
    return found, [word for name, value in found.items() for word in (f"--{name}", value)]


@pytest.mark.parametrize("case", CASES, ids=[case.stem for case in CASES])
def test_described_machines_and_jobs(case, monkeypatch):
    """Before "--" what the case is, after it what omnes says of it, which OMNES_RECORD=1 writes anew."""
    monkeypatch.setenv("COLUMNS", "120")
    description, _, expected = case.read_text().partition("--\n")
    options, arguments = words(description)
    shown = omnes("topology", "--shape", options["shape"]).output + "\n" if "shape" in options else ""
    shown += omnes("topology", "groups", *arguments).output
    if os.environ.get("OMNES_RECORD") == "1":  # then read what has changed
        case.write_text(f"{description}--\n{shown}")
    assert shown == expected


def test_paper_example():
    job = jobs.job("node[01-02,48]x36", "package:2 numa:1 core:18 pu:1", str(FOLDER / "four-switches.net"))
    said = {r: " ".join(jobs.members(group) for group in jobs.groups_with(job, r)) for r in (0, 1, 36)}
    assert said == {0: "(0..17) (0,18) (0,36) (0,72)", 1: "(0..17)", 36: "(36..53) (36,54) (0,36)"}


def test_linux_says_of_this_machine_what_hwloc_says():
    levels = {level["name"]: level["cpus"] for level in _core.machine()["levels"]}
    for cpu in sorted(os.sched_getaffinity(0)):
        for name, unit in _core.inner_units([cpu]).items():
            holding = [part for part in levels.get(name, []) if cpu in part]
            assert unit == (min(holding, key=len)[0] if holding else -1), (cpu, name)


def test_lists_of_nodes_are_those_of_clustershell():
    chance = random.Random(4711)
    for _ in range(300):
        names = []
        for _ in range(chance.randint(1, 3)):
            name = chance.choice(["n", "node-", "rack"])
            for ending in chance.choice([[], [""], ["-ib"], ["x", ""], ["c", "-ib"]]):
                width = chance.choice([1, 2, 3])
                first = chance.randint(0, 12)
                numbers = [f"{first:0{width}}-{first + chance.randint(0, 9):0{width}}", f"{first + 20:0{width}}"]
                name += f"[{','.join(numbers[: chance.randint(1, 2)])}]" + ending
            names.append(name)
        text = ",".join(names)
        assert sorted(set(_core.expand_hostlist(text))) == sorted(NodeSet(text)), text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--shape", "nonsense"), "machine 'nonsense' is no file, and not a description such as"),
        (("--shape", str(FOLDER / "paper.txt")), "is no XML file of hwloc"),
        (("--draw", "x.png"), "the file name must end in .svg, .html"),
        (("groups", "--nodes", "8by8"), "'8by8' says not where ranks lie: write NODESxRANKS"),
        (("groups", "--nodes", "0x8"), "'0x8' says not where ranks lie"),
        (("groups", "--nodes", "4xx8"), "'4xx8' says not where ranks lie"),
        (("groups", "--nodes", "2x4x8", "--network", "/nowhere"), "'2x4x8' says itself which switches"),
        (("groups", "--nodes", "n[1-x8"), "ranks 'n[1-x8': a bracket without its other half"),
        (("groups", "--nodes", "8x8 random"), "no word 'random'; there are block, cyclic, unbound"),
        (
            ("groups", "--nodes", "2x5", "--shape", "core:4 pu:1"),
            "more ranks on node0 than the 4 cores of the",
        ),
        (("groups", "--nodes", "999999x999999"), "more than 1048576 ranks"),
        (("groups", "--nodes", "2x2", "--rank", "4"), "no rank 4 among 4: ranks are 0..3"),
        (
            ("groups", "--nodes", "2x2", "--levels", "nodes"),
            "no level 'nodes'; did you mean node? valid: core, l2",
        ),
        (("groups", "--nodes", "2x2", "--network", "/nowhere"), "/nowhere: No such file or directory"),
        (("groups", "--nodes", "20000x1", "--draw", "x.svg"), "cannot draw 20000 ranks or CPUs; at most 16384"),
    ],
)
def test_errors_are_one_line(arguments, complaint):
    assert complaint in fails("topology", *arguments)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("n1 0\nn1 1 2\n", ":2: '2' is too much; expected '<node> [<CPUs>]'"),
        ("n1 0\nn1 one\n", ":2: 'one' is no number and no range such as 1-16; expected CPUs such as 0-3,8"),
        ("n1 0\n\nn1 7-8\n", ":3: CPUs 7-8 are not all of the machine, which has 0-7"),
        ("# nobody\n", ": no ranks; expected a line '<node> [<CPUs>]' for each"),
    ],
)
def test_bad_files_of_ranks(tmp_path, text, complaint):
    file = tmp_path / "ranks"
    file.write_text(text)
    assert fails("topology", "groups", "--nodes", str(file), "--shape", "core:8 pu:1").endswith(complaint)


def test_json():
    job = json.loads(omnes("topology", "groups", "--nodes", "2x2 cyclic", "--json").output)
    assert job["levels"] == [{"name": "node", "units": [0, 1, 0, 1]}]
    assert job["groups"] == [
        {"level": "node", "groups": [[0, 2], [1, 3]]},
        {"level": "all", "groups": [[0, 1]]},
    ]
    one = json.loads(omnes("topology", "groups", "--nodes", "2x2", "--rank", "2", "--json").output)
    assert one == {"rank": 2, "groups": [[2, 3], [0, 2]]}
    assert json.loads(omnes("topology", "--json").output) == _core.machine()


def test_environment_names_network_and_levels(monkeypatch):
    monkeypatch.setenv("OMNES_TOPOLOGY", str(FOLDER / "four-switches.net"))
    monkeypatch.setenv("OMNES_LEVELS", "switch")
    job = json.loads(omnes("topology", "groups", "--nodes", "node[16-17]x2", "--json").output)
    assert [level["name"] for level in job["levels"]] == ["switch"]
    assert str(FOLDER / "four-switches.net") in omnes("topology").output


@pytest.mark.parametrize("suffix", [".svg", ".html"])
@pytest.mark.parametrize(
    ("arguments", "leaves"),
    [
        (("groups", "--nodes", "node[01-02,48]x36", "--network", str(FOLDER / "four-switches.net")), 108),
        (("--shape", "pack:2 numa:2 l3:2 core:2 pu:2"), 32),
        (("--shape", str(FOLDER / "two-memories.xml")), 8),
        (("--shape", str(FOLDER / "restricted.xml")), 3),
    ],
)
def test_pictures_hold_every_rank_or_cpu_once(tmp_path, arguments, leaves, suffix):
    file = tmp_path / f"picture{suffix}"
    assert omnes("topology", *arguments, "--draw", str(file)).exit_code == 0
    text = file.read_text()
    tree = ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    labels = [one.text for one in tree.iter("{http://www.w3.org/2000/svg}text") if one.get("text-anchor") == "middle"]
    assert len(labels) == leaves == len(set(labels))
