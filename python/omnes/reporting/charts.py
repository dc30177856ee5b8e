"""Curves over two logarithmic axes, as SVG inside the page: its colours are the page's, its letters stay letters.

How: matplotlib draws with colours that stand for others; afterwards each becomes a variable of the page's style, so one
picture serves a light and a dark page.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from omnes.errors import OmnesError
from omnes.units import format_bytes, format_seconds

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
        raise OmnesError("reports need matplotlib: pip install 'omnes[bench]'") from None


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


def _draw(caption: str, series: Sequence[Series], x_name: str, y_name: str, bytes_on_x: bool, flat: bool) -> str:
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    settings = {"svg.hashsalt": caption, "svg.fonttype": "none", "font.size": 9, "axes.edgecolor": _SOFT}
    settings |= {"xtick.color": _SOFT, "ytick.color": _SOFT, "axes.labelcolor": _SOFT, "grid.color": _GRID}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=_INCHES, layout="constrained")
        axes = figure.subplots()
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
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    return _inline(out.getvalue(), caption, ordered)


def _plot(axes, one: Series, number: int, flat: bool) -> None:
    """A line, and dots that are joined by dots: but ratios of different algorithms are no curve."""
    colour = _WIDE if one.wide else _REST if one.colour is None else f"#fe{one.colour:02x}01"
    if one.line:
        width = 8 if one.wide else 0.9 if one.colour is None else 1.7
        axes.plot(*zip(*one.line), color=colour, linewidth=width, gid=f"series-{number}-line")
    if not one.dots:
        return
    xs, ys = zip(*one.dots)
    marks = {"marker": _MARKERS[(one.colour or 0) % len(_MARKERS)], "markersize": 4.5}
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
