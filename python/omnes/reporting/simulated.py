"""What omnes simulate found: times on machines that are not there, omnes beside the selections of four MPIs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path

from omnes.errors import OmnesError
from omnes.reporting import charts, page
from omnes.reporting.charts import Series
from omnes.reporting.ratios import coloured
from omnes.simulation.smpi import SELECTORS
from omnes.terminal import files
from omnes.terminal.units import format_bytes, geometric_mean

Place = tuple[str, int, str]  # platform, ranks on a host, placement
Times = dict[tuple[str, int, int, str], float]  # by operation, ranks, bytes, contender


def section(paths: Sequence[Path], only: Sequence[str]) -> page.Section:
    """only: these operations; none: all."""
    body = ["<p>Simulated with SimGrid: one call that all ranks begin together, until the last is through.</p>"]
    for place, times in read(paths, only).items():
        platform, ppn, placement = place
        body.append(f"<h3>{escape(platform)}, {ppn} ranks on a host, {escape(placement)}</h3>")
        body.append(_ratios(times))
        for operation in dict.fromkeys(key[0] for key in times):
            body.append(page.of_operation(operation, f'<div class="pair">{"".join(_charts(operation, times))}</div>'))
    return page.Section("simulated", "Simulated machines", "\n".join(body))


def read(paths: Sequence[Path], only: Sequence[str] = ()) -> dict[Place, Times]:
    """Of lines that say the same the last counts: an earlier one is of an earlier build."""
    found: dict[Place, Times] = defaultdict(dict)
    for path in paths:
        try:
            text = files.read(path)
            records = json.loads(text) if text.lstrip().startswith("[") else map(json.loads, text.splitlines())
            for one in records:
                if "seconds" in one and (not only or one["operation"] in only):
                    place = one["platform"], one["ppn"], one["placement"]
                    found[place][one["operation"], one["ranks"], one["bytes"], one["contender"]] = one["seconds"]
        except (ValueError, KeyError, TypeError):
            raise OmnesError(f"{path} is not what omnes simulate -o or --json writes") from None
    if not found:
        of = f" of {', '.join(only)}" if only else ""
        raise OmnesError(f"no results{of} in {', '.join(map(str, paths))}")
    return found


def _ratios(times: Times) -> str:
    cells = sorted({(operation, ranks) for operation, ranks, _, _ in times})
    sizes = sorted({size for _, _, size, _ in times})
    rows, ratios = [], []
    for operation, ranks in cells:
        row = [f"{operation}, {ranks} ranks"]
        for size in sizes:
            own = times.get((operation, ranks, size, "omnes"))
            rivals = [t for name in SELECTORS if (t := times.get((operation, ranks, size, name)))]
            ratio = min(rivals) / own if own and rivals else None
            ratios += [ratio] if ratio else []
            row.append(coloured(ratio))
        rows.append(row)
    mean = geometric_mean(ratios)
    if mean is None:
        return ""
    numbers = [(f"geometric mean of {len(ratios)} ratios to the best selection", f"{mean:.2f}×")]
    heads = ["", *(format_bytes(size) for size in sizes)]
    return page.facts(numbers) + page.table("the best selection / omnes, by bytes of one part", heads, rows, "map")


def _charts(operation: str, times: Times) -> list[str]:
    """By size for the most ranks, by ranks for the longest size; what has but one point is no curve."""
    mine = {key[1:]: seconds for key, seconds in times.items() if key[0] == operation}
    most, longest = max(key[0] for key in mine), max(key[1] for key in mine)
    found = []
    for what, x, fixed in ((f"{most} ranks", 1, most), (format_bytes(longest), 0, longest)):
        curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for key, seconds in sorted(mine.items()):
            size = key[:2]
            if size[1 - x] == fixed and size[x] > 0:
                curves[key[2]].append((size[x], seconds))
        if max((len(points) for points in curves.values()), default=0) > 1:
            series = [Series(name, line=points, dots=points) for name, points in curves.items()]
            for colour, one in enumerate(sorted(series, key=lambda one: (one.name != "omnes", one.name))):
                one.colour = colour if colour < charts.COLOURS else None
            found.append(
                charts.chart(f"{operation}, {what}", series, ("ranks", "bytes of one part")[x], bytes_on_x=x == 1)
            )
    return found
