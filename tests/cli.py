"""Runs the omnes command in this process, for tests of what it says and how it exits."""

from __future__ import annotations

from click.testing import CliRunner, Result

from omnes.cli import main


def omnes(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="omnes", catch_exceptions=False)


def unwrapped(text: str) -> str:
    """Prose as it was before it was cut into lines."""
    return " ".join(text.split())


def fit(text: str) -> bool:
    """Whether lines have 80 columns, but for those of a single word, which is never cut."""
    return all(len(line) <= 80 or " " not in line.strip() for line in text.splitlines())


def fails(*words: str) -> str:
    """The one line that a failing command says."""
    result = omnes(*words)
    assert result.exit_code != 0 and result.output.count("\n") == 1, result.output
    return result.output.strip()
