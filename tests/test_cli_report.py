"""omnes report: one page that needs nothing else, says what it was given, and works in a real browser by keyboard."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cli import fails, omnes
from launching import ROOT
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.reporting import charts
from omnes.reporting.charts import Series

pytest.importorskip("matplotlib", reason="reports need matplotlib, which scripts/setup installs")

SMALL = ("--only", "barrier,scan", "--scale", "2..8")
BENCH = ROOT / "bench/results/epyc-zen3-segments.jsonl.gz"


@pytest.fixture(scope="module")
def given(tmp_path_factory) -> Path:
    """A folder with measurements that are twice the predictions, simulated times, and verdicts."""
    folder = tmp_path_factory.mktemp("given")
    predicted = prediction.predict("scan", "linear", Ranks(8, 8), [8, 1024], MachineCosts.load(None))
    rows = [
        {"operation": "scan", "choice": "linear", "ranks": 8, "bytes": one["bytes"], "seconds": 2 * one["seconds"]}
        for one in predicted
    ]
    (folder / "measured.jsonl").write_text("\n".join(map(json.dumps, rows)))
    place = {"platform": "fat-tree:4x16", "operation": "scan", "ppn": 16, "placement": "block"}
    rows = [
        {**place, "bytes": size, "ranks": 64, "contender": name, "seconds": seconds * (1 + size)}
        for size in (8, 64)
        for name, seconds in (("omnes", 1e-6), ("mpich", 3e-6), ("ompi", 2e-6))
    ]
    (folder / "simulated.jsonl").write_text("\n".join(map(json.dumps, rows)))
    verdict = {"guideline": "bcast: n <= 2n", "bytes": 8, "left": 2e-6, "right": 1e-6, "factor": 2.0}
    verdicts = [{**verdict, "job": job, "broken": job == "stock", "interval": [1, 2]} for job in ("stock", "omnes")]
    (folder / "verdicts.json").write_text(
        json.dumps({"mpi": "Some MPI", "ranks": 2, "bound": True, "tolerance": 0.05, "verdicts": verdicts})
    )
    return folder


@pytest.fixture(scope="module")
def full(given) -> Path:
    """A page with every section."""
    page = given / "report.html"
    words = ["--measured", "measured.jsonl", "--simulate", "simulated.jsonl", "--guidelines", "verdicts.json"]
    files = [str(given / word) if word[0] != "-" else word for word in words]
    result = omnes("report", "-o", str(page), *SMALL, *files, "--bench", str(BENCH))
    assert result.exit_code == 0, result.output
    return page


class Parts(HTMLParser):
    """What a page refers to, its section's titles, and the names of elements with roles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.sections: list[str] = []
        self.nameless: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.fetched += [
            found[name] for name in ("src", "href", "xlink:href") if not found.get(name, "#").startswith("#")
        ]
        self.ids += [found["id"]] if "id" in found else []
        self.sections += [found["id"]] if tag == "section" else []
        if found.get("role") in ("img", "region", "group") and tag != "fieldset" and not found.get("aria-label"):
            self.nameless.append(tag)


def test_a_sheet_of_charts_has_colours_of_its_own_and_one_key_for_all():
    slow, fast = (
        Series(name, line=[(1, y), (8, 2 * y)], colour=i) for i, (name, y) in enumerate((("slow", 2), ("fast", 1)))
    )
    svg = charts.sheet([("first", [slow]), ("second", [slow, fast])], 2, "ranks")
    assert "#fe" not in svg and "#0b62a8" in svg and "#c2410c" in svg
    assert [svg.count(f">{word}<") for word in ("first", "second", "slow", "fast")] == [1, 1, 1, 1]


def test_the_page_is_whole_and_needs_nothing_else(full):
    text = full.read_text()
    parts = Parts(text)
    assert parts.sections == [
        "machine", "ratios", "guidelines", "predictions", "errors", "simulated", "choices", "schedules",
    ]  # fmt: skip
    assert parts.fetched == [] and "@import" not in text and "url(http" not in text
    assert len(parts.ids) == len(set(parts.ids)) and parts.nameless == []


@pytest.mark.timeout(600)  # seventeen seconds of one core
def test_the_first_line_of_the_docs(tmp_path):
    page = tmp_path / "report.html"
    result = omnes("report", "-o", str(page))
    assert result.exit_code == 0, result.output
    assert Parts(page.read_text()).sections == ["machine", "predictions", "choices", "schedules"]


def test_what_no_data_are_given_for_is_left_out(tmp_path):
    page = tmp_path / "report.html"
    omnes("report", "-o", str(page), "--only", "barrier", "--scale", "2..4")
    assert Parts(page.read_text()).sections == ["machine", "predictions", "choices", "schedules"]


def test_the_numbers_are_those_of_the_data(full):
    text = full.read_text()
    assert "<dd>50%</dd></div><div><dt>90th percentile" in text  # every measurement was twice the prediction
    assert text.count('title="measured ') == 2 and ">0.50</td>" in text
    assert "<dt>geometric mean of 2 ratios to the best selection</dt><dd>2.00×</dd>" in text
    assert (
        "<dt>of 1 are broken on stock</dt><dd>1</dd>" in text and "<dt>of 1 are broken on omnes</dt><dd>0</dd>" in text
    )
    own = text[text.index('id="ratios"') : text.index('id="guidelines"')]
    assert own.count("<h3>") == 3  # three omnes jobs in that campaign
    assert re.search(r'<th scope="row">2–512|<th scope="row">2–8', text)


def browser_path() -> str | None:
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, which scripts/setup installs")
    path = browser_path()
    if path is None:
        pytest.skip("needs a Chromium, such as Debian's chromium-headless-shell, which scripts/setup tries to install")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


CONTRAST = """() => {
  const light = (text) => {
    const linear = (v) => (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    const [r, g, b] = text.match(/[\\d.]+/g).map((v) => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ratio = (a, b) => (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  const paper = getComputedStyle(document.body).backgroundColor;
  const worst = [...document.querySelectorAll("p, dd, dt, th, summary, figcaption, table.decisions td")].map((one) => {
    const style = getComputedStyle(one), card = one.closest("figure, .facts div");
    const own = one.tagName === "TD" ? style.backgroundColor : card ? getComputedStyle(card).backgroundColor : paper;
    return ratio(light(style.color), light(own));
  });
  return Math.min(...worst);
}"""


def watch(page) -> tuple[list[str], list[str]]:
    """What it complains of, and what it fetches."""
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    return said, asked


def test_a_real_browser_shows_it(full, browser):
    """Light and dark, wide and narrow: nothing fetched, nothing complained of, nothing wider than the screen."""
    papers = set()
    for scheme, width in (("light", 1280), ("dark", 390)):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        said, asked = watch(page)
        page.goto(full.as_uri())
        assert (said, asked) == ([], [full.as_uri()])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CONTRAST) >= 4.5  # what WCAG 2 asks of text
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert len(papers) == 2


def test_the_keyboard_is_enough(full, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(full.as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#show-all").focus()
    page.keyboard.press("ArrowRight")
    shown = {one.get_attribute("data-operation") for one in page.locator(".of-operation").all() if one.is_visible()}
    assert shown == {"barrier"}
    page.keyboard.press("ArrowRight")
    chart = page.locator("#predictions .of-operation[data-operation=scan] figure").first
    key = chart.locator(".keys button[data-name=linear]")
    key.focus()
    page.keyboard.press("Enter")
    assert key.get_attribute("aria-pressed") == "true"
    assert set(chart.locator(".series.picked").evaluate_all("all => all.map((one) => one.dataset.name)")) == {"linear"}
    assert chart.locator(".series:not(.picked)").first.evaluate("one => getComputedStyle(one).opacity") == "0.12"
    page.keyboard.press("Escape")
    assert chart.locator(".series.picked").count() == 0
    summary = page.locator("#schedules .of-operation[data-operation=scan] summary").first
    summary.focus()
    page.keyboard.press("Space")
    assert page.locator("#schedules .of-operation[data-operation=scan] svg").first.is_visible()
    page.close()


def test_wrong_input_is_one_line(tmp_path):
    page = str(tmp_path / "page.html")
    assert "no operation 'brodcast'; did you mean 'bcast'?" in fails("report", "-o", page, "--only", "brodcast")
    bad = tmp_path / "bad"
    bad.write_text("[1]")
    assert "line 1 is no measurement" in fails("report", "-o", page, "--measured", str(bad))
    (tmp_path / "odd").write_text('{"operation": "scan", "choice": "liner", "ranks": 2, "bytes": 8, "seconds": 1e-6}')
    assert 'line 1: no algorithm "liner" for scan' in fails("report", "-o", page, "--measured", str(tmp_path / "odd"))
    assert "neither a campaign" in fails("report", "-o", page, *SMALL, "--bench", str(bad))
    assert "cannot read" in fails("report", "-o", page, *SMALL, "--bench", str(tmp_path / "none"))
    assert "is not what omnes simulate" in fails("report", "-o", page, *SMALL, "--simulate", str(bad))
    assert "is not what omnes check-guidelines" in fails("report", "-o", page, *SMALL, "--guidelines", str(bad))
    assert "cannot write" in fails("report", "-o", str(tmp_path / "no/page.html"), *SMALL)
