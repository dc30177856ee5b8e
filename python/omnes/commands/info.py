"""omnes info: the MPIs and the machine as omnes sees them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from omnes import _core
from omnes.errors import one_line
from omnes.launching import cpus, features, libraries, mpi
from omnes.terminal import options, output, units

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
_INDENT = 12  # columns of names
_SEGMENT_RANKS = (2, 4, 8, 16, 64)
_OFFERS = {
    "persistent": "persistent collectives",
    "large_counts": "large counts",
    "progress_hook": "progress hook",
}


@click.command()
@options.json_only
def command(to_json: Path | None) -> None:
    """Show which MPIs were found, what the machine is like, and what is set.

    \b
    omnes info
    omnes info --json
    """
    facts = _collect()
    if not output.deliver(to_json, facts):
        return
    for name, texts in _sections(facts):
        lines = [line for text in texts for line in output.lines(text, _INDENT)]
        if not lines[0].startswith(" " * _INDENT):  # it stands further left
            lines.insert(0, "")
        click.echo("\n".join([f"{name:<{_INDENT}}{lines[0][_INDENT:]}", *lines[1:]]))


def _collect() -> dict[str, Any]:
    settings, machine = _answer(_core.check_settings), _answer(_core.machine)
    return {
        "omnes": _core.__version__,
        "libraries": {family: str(libraries.path(family)) for family in libraries.built()},
        "mpis": [
            {
                "name": found.name,
                "family": found.family,
                "launcher": str(found.launcher),
                "offers": features.offers(found),
            }
            for found in mpi.find_all(os.environ)
        ],
        "cpus": cpus.usable_cpus(),
        "cores": cpus.usable_cores(),
        "machine": machine.value,
        "machine_unknown": machine.fault,
        "single_copy": _core.cma_works(),
        "huge_pages": huge_pages(),
        "segment_bytes": {p: _core.segment_bytes(p) for p in _SEGMENT_RANKS if not settings.fault},
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith("OMNES_")},
        "ignored_settings": settings.value or [],
        "wrong_setting": settings.fault,
    }


@dataclass(frozen=True)
class _Answer:
    value: Any = None
    fault: str | None = None  # one line; then there is no value


def _answer(question: Callable[[], Any]) -> _Answer:
    try:
        return _Answer(question())
    except ValueError as fault:
        return _Answer(fault=str(fault))


def huge_pages() -> str:
    """The kernel's setting of transparent huge pages for shared memory, such as 'advise'."""
    try:
        return next((word.strip("[]") for word in HUGE_PAGES.read_text().split() if word.startswith("[")), "never")
    except OSError:
        return "not supported"


def _sections(facts: dict[str, Any]) -> list[tuple[str, list[str]]]:
    found = [line for entry in facts["mpis"] for line in _mpi(entry)] or ["none found"]
    built = [f"for {libraries.FAMILIES[family]}:\n{path}" for family, path in facts["libraries"].items()] or ["none"]
    segment = ", ".join(f"{units.format_bytes(size)} for {p} ranks" for p, size in facts["segment_bytes"].items())
    settings = [one_line(f"{name}={value}") for name, value in facts["environment"].items()] or ["none"]
    settings += [f"note: {line}" for line in facts["ignored_settings"]]
    if wrong := facts["wrong_setting"]:
        settings.append(f"WRONG, so that MPI_Init fails: {wrong}")
    return [
        ("omnes", [facts["omnes"]]),
        ("libraries", built),
        ("MPIs", found),
        ("CPUs", [f"{facts['cpus']} usable, on {facts['cores']} cores"]),
        ("machine", facts["machine"]["text"].splitlines() if facts["machine"] else [facts["machine_unknown"]]),
        (
            "single copy",
            ["works" if facts["single_copy"] else "not permitted (process_vm_readv): large messages are copied twice"],
        ),
        ("huge pages", [f"{facts['huge_pages']} (transparent, in shared memory)"]),
        ("segment", [segment or "not known: a setting is wrong"]),
        ("settings", settings),
    ]


def _mpi(entry: dict[str, Any]) -> list[str]:
    """Where it is, and below that what it has besides blocking and nonblocking collectives."""
    offers = entry["offers"]
    if offers is None:
        words = ["its library was not found beside this launcher"]
    else:
        words = [f"{_OFFERS[name]}: {'yes' if holds else 'no'}" for name, holds in offers.items()]
    return [f"{entry['name']}: {entry['launcher']}", ", ".join(words)]
