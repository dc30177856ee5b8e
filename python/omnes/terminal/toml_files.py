"""Reads the small TOML files that describe peers and plans; what they must not say is an error of one line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnes.errors import OmnesError
from omnes.terminal import files

REQUIRED = object()  # in place of a default


def load(path: Path) -> dict[str, Any]:
    return parse(files.read(path), str(path))


def parse(text: str, where: str) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python before 3.11
        import tomli as tomllib  # type: ignore[no-redef]
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise OmnesError(f"{where}: {fault}") from None


def over_defaults(values: Mapping[str, Any], defaults: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The values, each of its default's type, and the defaults for the rest."""
    for name, value in values.items():
        if name not in defaults:
            raise OmnesError(f"{where}: there is no '{name}'; valid: {', '.join(defaults)}")
        default = defaults[name]
        kinds = (int, float) if isinstance(default, float) else (type(default),)
        if default is not REQUIRED and not isinstance(value, kinds):
            raise OmnesError(f"{where}: {name} is to be like {default!r}, not {value!r}")
    missing = [name for name, default in defaults.items() if default is REQUIRED and name not in values]
    if missing:
        raise OmnesError(f"{where}: '{missing[0]}' is missing")
    return {**defaults, **values}


def pick(folder: Path, names: list[str], what: str) -> list[Path]:
    """FOLDER/NAME.toml for each name; all when there are none. A name may also be the path of a file elsewhere."""
    have = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    for name in names:
        if name not in have and not name.endswith(".toml"):
            raise OmnesError(f"no {what} '{name}' in {folder}; there are {', '.join(have) or 'none'}")
    return [have.get(name) or Path(name) for name in names] if names else list(have.values())
