"""Curves over two logarithmic axes, as SVG inside the page: its colours are the page's, its letters stay letters.

How: matplotlib draws with colours that stand for others; afterwards each becomes a variable of the page's style, so one
picture serves a light and a dark page; or, in a file of its own, what the page has for it when it is light.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from omnes.errors import OmnesError
from omnes.terminal.units import format_bytes, format_seconds

Points = Sequence[tuple[float, float]]

COLOURS = 8  # --s0 .. --s7 of page.css
_STAND_INS = {f"#fe{i:02x}01": f"var(--s{i})" for i in range(COLOURS)} | {
    "#fe2001": "var(--rest)",
    "#fe2101": "var(--line)",
    "#fe2201": "var(--soft)",
    "#fe2301": "var(--card)",
    "#fe2401": "var(--wide)",
}
_REST, _GRID, _SOFT, _CARD, _WIDE = list(_STAND_INS)[COLOURS:]
_INCHES = (6.2, 3.5)
_PANEL_INCHES = (4.6, 2.6)  # of a sheet
_MARKERS = "osD^vPX*"
_FEW_DECADES = 30.0  # up to this factor an axis has marks between its powers of 10


@dataclass
class Series:
    name: str
    line: Points = ()
    dots: Points = ()
    low_high: Sequence[tuple[float, float]] = field(default_factory=tuple)  # of each dot, where it is known
    colour: int | None = None  # None: one of the rest
    wide: bool = False  # a band below the others


def require() -> None:
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise OmnesError("reports need matplotlib: pip install matplotlib") from None


def colour_best(charts: Sequence[Sequence[Series]]) -> None:
    """Gives colours, the same in all charts, to those that are the fastest somewhere: the most often first."""
    wins: Counter[str] = Counter()
    for series in charts:
        for x in {x for one in series if not one.wide for x, _ in one.line}:
            wins[min((y, one.name) for one in series for at, y in one.line if at == x and not one.wide)[1]] += 1
    colours = {name: colour for colour, (name, _) in enumerate(wins.most_common(COLOURS))}
    for series in charts:
        for one in series:
            one.colour = colours.get(one.name)


def chart(
    caption: str,
    series: Sequence[Series],
    x_name: str,
    y_name: str = "time",
    bytes_on_x: bool = True,
    flat: bool = False,
) -> str:
    """flat: y is a ratio, with lines at 1/2, 1 and 2."""
    picture = _draw(caption, series, x_name, y_name, bytes_on_x, flat)
    buttons = "".join(
        _key(one) for one in sorted(series, key=lambda one: (one.colour is None, one.colour or 0, not one.wide))
    )
    keys = f'<div class="keys" role="group" aria-label="Curves">{buttons}</div>' if len(series) > 1 else ""
    return f'<figure class="chart"><figcaption>{escape(caption)}</figcaption>{picture}{keys}</figure>'


def _key(one: Series) -> str:
    kind, mark = ' class="rest"', ""
    if one.wide:
        kind, mark = "", ' style="border-color:var(--wide);border-width:8px"'
    elif one.colour is not None:
        kind, mark = "", f' style="border-color:var(--s{one.colour})"'
    name = escape(one.name)
    return f'<button type="button" aria-pressed="false" data-name="{name}"{kind}><i{mark}></i>{name}</button>'


def sheet(panels: Sequence[tuple[str, Sequence[Series]]], columns: int, x_name: str, y_name: str = "time") -> str:
    """Several charts, each with a caption, as one SVG for a file of its own, in the colours of a light page, with one
    key for all below them."""
    from matplotlib.figure import Figure

    with _settings("omnes"):
        rows = math.ceil(len(panels) / columns)
        figure = Figure(figsize=(columns * _PANEL_INCHES[0], rows * _PANEL_INCHES[1]), layout="constrained")
        places = list(figure.subplots(rows, columns, squeeze=False).flat)
        keys: dict[str, Any] = {}
        for axes, (caption, series) in zip(places, panels):
            _fill(axes, series, x_name, y_name, bytes_on_x=False, flat=False)
            axes.set_title(caption, fontsize=9, loc="left")
            keys |= {one.name: _sample(one) for one in series}
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        figure.legend(list(keys.values()), list(keys), loc="outside lower center", ncols=columns, frameon=False)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, facecolor=_CARD)
    return _in_light_colours(out.getvalue())


def _in_light_colours(svg: str) -> str:
    css = (Path(__file__).parent / "page.css").read_text()
    light = dict(reversed(re.findall(r"(--\w+): (#[0-9a-f]{6})", css)))  # the first of each name
    for stand_in, variable in _STAND_INS.items():
        svg = svg.replace(stand_in, light[variable[len("var(") : -1]])
    return svg


def _draw(caption: str, series: Sequence[Series], x_name: str, y_name: str, bytes_on_x: bool, flat: bool) -> str:
    from matplotlib.figure import Figure

    with _settings(caption):
        figure = Figure(figsize=_INCHES, layout="constrained")
        ordered = _fill(figure.subplots(), series, x_name, y_name, bytes_on_x, flat)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    return _inline(out.getvalue(), caption, ordered)


def _settings(salt: str) -> AbstractContextManager[None]:
    """The same picture from the same numbers, byte for byte; letters stay letters."""
    import matplotlib

    settings = {"svg.hashsalt": salt, "svg.fonttype": "none", "font.size": 9, "axes.edgecolor": _SOFT}
    settings |= {"xtick.color": _SOFT, "ytick.color": _SOFT, "axes.labelcolor": _SOFT, "grid.color": _GRID}
    return matplotlib.rc_context(settings)


def _fill(axes, series: Sequence[Series], x_name: str, y_name: str, bytes_on_x: bool, flat: bool) -> list[Series]:
    """Returns them in the order in which they lie on each other."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2 if flat else 10)
    ordered = sorted(series, key=lambda one: (not one.wide, one.colour is not None))  # the coloured ones on top
    for number, one in enumerate(ordered):
        _plot(axes, one, number, flat)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    low, high = axes.get_xlim()
    step = 2 if bytes_on_x else 1
    ticks = [2.0**i for i in range(0, 64, step) if low <= 2.0**i <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: format_bytes(int(x)) if bytes_on_x else f"{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    if flat:
        axes.axhline(1, color=_SOFT, linewidth=1)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}×"))
    else:
        lowest, highest = axes.get_ylim()
        few = highest < _FEW_DECADES * lowest
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: format_seconds(y)))
    return ordered


def _sample(one: Series):
    """What stands for it in a key."""
    from matplotlib.lines import Line2D

    marks: dict[str, Any] = {"marker": _marker(one), "markersize": 4.5} if one.dots else {}
    style = "-" if one.line else ":"
    return Line2D([], [], color=_colour(one), linestyle=style, linewidth=1.7 if one.line else 0.9, **marks)


def _colour(one: Series) -> str:
    return _WIDE if one.wide else _REST if one.colour is None else f"#fe{one.colour:02x}01"


def _marker(one: Series) -> str:
    return _MARKERS[(one.colour or 0) % len(_MARKERS)]


def _plot(axes, one: Series, number: int, flat: bool) -> None:
    """A line, and dots that are joined by dots: but ratios of different algorithms are no curve."""
    colour = _colour(one)
    if one.line:
        width = 8 if one.wide else 0.9 if one.colour is None else 1.7
        axes.plot(*zip(*one.line), color=colour, linewidth=width, gid=f"series-{number}-line")
    if not one.dots:
        return
    xs, ys = zip(*one.dots)
    marks: dict[str, Any] = {"marker": _marker(one), "markersize": 4.5}
    marks |= {"markeredgecolor": _CARD, "markeredgewidth": 0.4}
    joined = {"linestyle": "none" if flat else ":", "linewidth": 0.9}
    axes.plot(xs, ys, color=colour, gid=f"series-{number}-dots", **marks, **joined)
    if one.low_high:
        lows, highs = zip(*one.low_high)
        axes.vlines(xs, lows, highs, color=colour, linewidth=1, gid=f"series-{number}-bars")


def _inline(svg: str, caption: str, series: Sequence[Series]) -> str:
    """Without what a file of its own needs, with the page's colours and letters, and a name for each series."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    for stand_in, colour in _STAND_INS.items():
        svg = svg.replace(stand_in, colour)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)

    def named(match: re.Match[str]) -> str:
        one = series[int(match[1])]
        kind = "series rest" if one.colour is None and not one.wide else "series"
        return f'<g class="{kind}" data-name="{escape(one.name)}"><title>{escape(one.name)}</title>'

    svg = re.sub(r'<g id="series-(\d+)-\w+">', named, svg)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    return re.sub(r' id="([^"]+)"', lambda match: match[0] if match[1] in used else "", svg)
