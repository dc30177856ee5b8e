"""The documentation's site builds without a warning, every command has its page, and the manual is as the help is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from launching import LIMIT, ROOT
from omnes import cli

pytest.importorskip("mkdocs", reason="needs mkdocs-material, which scripts/setup installs")

FILES = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CITATION.cff",
    "LICENSE",
    "mkdocs.yml",
    "docs",
    "bench/README.md",
    "bench/results",
    "examples",
]


def docs(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / "scripts/docs", *words],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """What the site is made of, in a folder of its own."""
    root = tmp_path_factory.mktemp("docs")
    (root / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/docs", root / "scripts/docs")
    for name in FILES:
        (root / name).parent.mkdir(exist_ok=True)
        os.symlink(ROOT / name, root / name)
    return root


@pytest.fixture(scope="module")
def site(copy) -> Path:
    done = docs(copy)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return copy / "build/docs/site"


class Page(HTMLParser):
    """Its title, its text, and where it leads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.text: list[str] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if tag in ("a", "img", "link", "script")
                       and name in ("href", "src") and value]  # fmt: skip

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("name", ["", *cli.COMMANDS])
def test_every_command_has_its_pages(site, name):
    name = f"omnes-{name}".removesuffix("-")
    text = " ".join(Page(site / "commands" / name / "index.html").text)
    assert name.replace("-", " ", 1) in text and "--help" in text and "Examples" in text
    manual = (site.parents[2] / f"share/man/man1/{name}.1").read_text()
    assert manual.startswith(f".TH {name.upper()} 1 ")
    sections = re.findall(r"^\.SH (.+)$", manual, re.MULTILINE)
    assert {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "SEE ALSO"} <= set(sections)


def test_every_link_within_the_site_leads_somewhere_and_nothing_is_fetched(site):
    pages = [path for path in site.rglob("index.html")]
    assert len(pages) > 50
    for path in pages:
        for link in Page(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
                continue
            assert (path.parent / unquote(parts.path)).exists(), f"{path}: {link}"


def test_search_finds_every_document(site):
    index = (site / "search/search_index.json").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert f'"location":"docs/{path.stem}/' in index


def test_a_link_that_leads_nowhere_ends_the_build(copy, site):
    readme = copy / "README.md"
    readme.unlink()
    readme.write_text((ROOT / "README.md").read_text() + "\n[nowhere](docs/nowhere.md)\n")
    done = docs(copy)
    assert done.returncode != 0 and "nowhere.md" in done.stdout + done.stderr


def test_the_manual_is_as_the_help_is():
    done = docs(ROOT, "--check")
    assert done.returncode == 0, done.stdout
