"""omnes draw --format goal: what another simulator would read, read back and run."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from cli import fails, omnes
from omnes import _core

RANKS = 6
VERTEX = re.compile(r"(l\d+): (?:calc \d+|(send|recv) (\d+)b (to|from) (\d+) tag (\d+))")
ALGORITHMS = [
    f"{algorithm['operation']}/{algorithm['name']}"
    for algorithm in _core.catalogue()
    if not _core.why_not(algorithm["operation"], algorithm["name"], RANKS)
]


def run(text: str) -> dict[tuple[int, int], int]:
    """Bytes from each rank to each, when all vertices could run, with messages that wait for both ends."""
    head, *programs = text.split("\nrank ")
    assert head.strip() == f"num_ranks {len(programs)}"
    needs: dict[tuple[int, str], set[str]] = {}
    ends: dict[tuple[int, int, int, int], dict[str, tuple[int, str]]] = defaultdict(dict)
    end_of = {}
    for rank, program in enumerate(programs):
        first, *lines, last = program.strip().splitlines()
        assert (first, last) == (f"{rank} {{", "}")
        for line in lines:
            if match := VERTEX.fullmatch(line):
                label, kind, size, _, peer, tag = match.groups()
                needs[rank, label] = set()
                if kind:
                    pair = (rank, int(peer)) if kind == "send" else (int(peer), rank)
                    end_of[rank, label] = message = (*pair, int(tag), int(size))
                    assert kind not in ends[message], line
                    ends[message][kind] = (rank, label)
            else:
                label, word, before = line.split()
                assert word == "requires" and (rank, before) in needs
                needs[rank, label].add(before)
    assert all(len(both) == 2 for both in ends.values())
    done: set[tuple[int, str]] = set()
    while len(done) < len(needs):
        ready = {vertex for vertex in needs if all((vertex[0], other) in done for other in needs[vertex])}
        ended = {v for v in ready - done if v not in end_of or set(ends[end_of[v]].values()) <= ready}
        assert ended, "the vertices wait for each other"
        done |= ended
    volume: dict[tuple[int, int], int] = defaultdict(int)
    for source, target, _, size in ends:
        volume[source, target] += size
    return volume


@pytest.mark.parametrize("what", ALGORITHMS)
def test_goal_runs_to_its_end(what):
    run(omnes("draw", what, "-n", str(RANKS), "-b", "720", "--format", "goal").output)


def test_goal_has_the_bytes_of_the_schedule(tmp_path):
    text = omnes("draw", "allgather/ring", "-n", "4", "-b", "1K", "--format", "goal").output
    assert run(text) == {(rank, (rank + 1) % 4): 3 * 1024 for rank in range(4)}
    output = tmp_path / "ring.goal"
    omnes("draw", "allgather/ring", "-n", "4", "-b", "1K", "-o", str(output))
    assert output.read_text() == text


def test_goal_refuses_what_is_no_size():
    assert "is no size" in fails("draw", "bcast/knomial", "-n", "4", "-b", "much", "--format", "goal")
