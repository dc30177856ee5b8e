"""What a command is given, as it takes it: options by their former names, with a warning; --json and --csv without a
file."""

from __future__ import annotations

from collections.abc import Sequence

import click

_COSTS = {"--machine": "--costs"}
_RENAMED = {
    "predict": _COSTS,
    "explain": _COSTS,
    "regret": _COSTS,
    "tune": _COSTS,
    "report": {**_COSTS, "--ranks": "--scale"},
    "topology": {"--machine": "--shape", "--ranks": "--nodes"},
    "map": {"--machine": "--nodes"},
}
# Options that were words and parts of what --nodes says now.
_WORDS = {"--cyclic": ("explain", "map"), "--order": ("regret",), "--placement": ("bench", "simulate")}
_PARTS = {"--ranks-per-node": ("export", "x{}"), "--ppn": ("simulate", "x{}"), "--hosts": ("bench", "{}x")}
_USUAL = {"regret": "2..1024x1..64"}
TO_FILES = ("--json", "--csv")
_NAMED_A_FILE = ("bench", "check-guidelines")


def current(command: str, words: Sequence[str]) -> list[str]:
    """Words behind -- are not the command's."""
    end = words.index("--") if "--" in words else len(words)
    given = _Given(command, list(words[:end]))
    for old, new in _RENAMED.get(command, {}).items():
        given.rename(old, new)
    given.place()
    given.name_files()
    return [*given.words, *words[end:]]


class _Given:
    def __init__(self, command: str, words: list[str]) -> None:
        self.command = command
        self.words = words

    def rename(self, old: str, new: str) -> None:
        for at, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name == old:
                self.words[at] = new + equals + value
                self._warn(old, new)

    def place(self) -> None:
        """Former options of where ranks lie become --nodes."""
        before = list(self.words)
        nodes = self._take("--nodes")
        shape, order = nodes, ""
        for old, (command, part) in _PARTS.items():
            if command == self.command and (value := self._take(old)) is not None:
                shape = part.format(value)
                self._warn(old, f"--nodes {shape}")
        for old, commands in _WORDS.items():
            if self.command not in commands:
                continue
            if (value := "cyclic" if old == "--cyclic" and self._drop(old) else self._take(old)) is not None:
                order = value
                self._warn(old, f"--nodes 'NODESxRANKS {order}'")
        if self.command == "draw" and shape and ":" in shape:
            shape, _, order = shape.partition(":")
            self._warn(f"--nodes {nodes}", f"--nodes '{shape} {order}'")
        if order and not shape:
            shape = _USUAL.get(self.command, "")
        changed = shape != nodes or order
        self.words = ["--nodes", f"{shape or ''} {order}".strip(), *self.words] if changed else before

    def name_files(self) -> None:
        for at, word in enumerate(self.words):
            if word not in TO_FILES:
                continue
            after = self.words[at + 1] if at + 1 < len(self.words) else ""
            if self.command in _NAMED_A_FILE and word == "--json" and (after == "-" or set(after) & set("./")):
                self.words[at : at + 2] = [f"{word}={after}"]
                self._warn(f"{word} {after}", f"{word}={after}")
            else:
                self.words[at] = f"{word}=-"

    def _drop(self, option: str) -> bool:
        there = option in self.words
        self.words = [word for word in self.words if word != option]
        return there

    def _take(self, option: str) -> str | None:
        """The last value; none of them stays."""
        value = None
        rest: list[str] = []
        words = iter(self.words)
        for word in words:
            name, equals, behind = word.partition("=")
            if name != option:
                rest.append(word)
            elif equals:
                value = behind
            elif (after := next(words, None)) is None:
                return None  # click says what is missing
            else:
                value = after
        self.words = rest
        return value

    def _warn(self, old: str, new: str) -> None:
        click.echo(f"omnes: {old} is now {new}", err=True)
