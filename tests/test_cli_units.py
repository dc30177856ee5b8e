"""Sizes, ranges and times as people write and read them."""

from __future__ import annotations

import pytest

from omnes.errors import OmnesError
from omnes.placement import patterns
from omnes.terminal import units


@pytest.mark.parametrize(
    ("text", "count"), [("8", 8), ("1K", 1024), ("4m", 4 << 20), ("1G", 1 << 30), ("16KiB", 16384)]
)
def test_bytes(text, count):
    assert units.parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "K", "1.5K", "-8", "8 apples"])
def test_no_bytes(text):
    with pytest.raises(OmnesError, match="is no size"):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8", [8]),
        ("8,1K,8", [8, 1024]),
        ("8..64", [8, 16, 32, 64]),
        ("8..100", [8, 16, 32, 64]),
        ("1K..1M:32", [1024, 32768, 1 << 20]),
        ("0,8..16", [0, 8, 16]),
    ],
)
def test_sizes(text, sizes):
    assert units.parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["8..4", "0..8", "8..64:1", "8..64:x"])
def test_no_sizes(text):
    with pytest.raises(OmnesError, match="is no range of sizes"):
        units.parse_sizes(text)


@pytest.mark.parametrize(("text", "counts"), [("8", [8]), ("1..4", [1, 2, 3, 4]), ("2,4,2..3", [2, 4, 3])])
def test_counts(text, counts):
    assert units.parse_counts(text) == counts


@pytest.mark.parametrize("text", ["0", "4..1", "x", "1..", ""])
def test_no_counts(text):
    with pytest.raises(OmnesError, match="is no range"):
        units.parse_counts(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (2.5, "2.5 s"), (0.0123, "12.3 ms"), (1.5e-6, "1.5 µs"), (8e-8, "0.08 µs"), (1234, "1234 s")],
)
def test_seconds(seconds, text):
    assert units.format_seconds(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0"), (1000, "1000"), (1536, "1536"), (2048, "2K"), (1 << 30, "1G")])
def test_format_bytes(count, text):
    assert units.format_bytes(count) == text


def test_percentile():
    assert units.percentile([4, 1, 3, 2], 0.5) == 2.5
    assert units.percentile([7], 0.25) == 7
    assert units.percentile([0, 10], 0.75) == 7.5


@pytest.mark.parametrize(
    ("text", "ranks", "nodes"),
    [
        ("2x3", 6, [0, 0, 0, 1, 1, 1]),
        ("2x3 block", 6, [0, 0, 0, 1, 1, 1]),
        ("2x3 cyclic", 6, [0, 1, 0, 1, 0, 1]),
        ("3,1", 4, [0, 0, 0, 1]),
    ],
)
def test_nodes(text, ranks, nodes):
    assert patterns.placing(text, ranks).nodes() == nodes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("4by4", "'4by4' says not where ranks lie: write NODESxRANKS"),
        ("3,x", "says not where ranks lie"),
        ("2x2 turns", "no word 'turns'; there are block, cyclic, unbound"),
        ("2x0", "says not where ranks lie"),
        ("2x3", "2x3 places 6 ranks, not 4"),
    ],
)
def test_no_nodes(text, complaint):
    with pytest.raises(OmnesError, match=complaint):
        patterns.placing(text, 4)
