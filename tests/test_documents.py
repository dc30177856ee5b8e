"""What documents point to is there, and what is kept of measurements is small."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from launching import ROOT

MAX_BYTES = {".gz": 256 << 10}  # of a file in bench/results
MAX_BYTES_OF_OTHERS = 40 << 10
LINK = re.compile(r"\]\(([^)\s]+)\)")


def tracked(*patterns: str) -> list[Path]:
    done = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in done.stdout.splitlines() if (ROOT / name).exists()]


def anchors(page: Path) -> set[str]:
    """As a forge makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for link in LINK.findall(text):
        if ":" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("file", tracked("bench/results/*", "docs/*.svg"), ids=lambda file: file.name)
def test_results_and_pictures_are_small(file):
    assert file.stat().st_size <= MAX_BYTES.get(file.suffix, MAX_BYTES_OF_OTHERS)


def test_the_picture_is_drawn_from_the_results(tmp_path):
    drawn = tmp_path / "drawn.svg"
    subprocess.run([sys.executable, str(ROOT / "bench/run"), "picture", "-o", str(drawn)], check=True)
    assert drawn.read_text() == (ROOT / "docs/performance.svg").read_text()


def test_files_that_the_glossary_names_are_there():
    files = [f"/{path.relative_to(ROOT)}" for path in tracked("src")]
    named = set(re.findall(r"`([\w/]+\.[ch]pp)`", (ROOT / "docs/glossary.md").read_text()))
    assert len(named) > 20
    assert not [name for name in named if not any(file.endswith(f"/{name}") for file in files)]
