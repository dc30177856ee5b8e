"""Runs the omnes command in this process, for tests of what it says and how it exits."""

from __future__ import annotations

from click.testing import CliRunner, Result

from omnes.cli import main


def omnes(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="omnes", catch_exceptions=False)


def fails(*words: str) -> str:
    """The one line that a failing command says."""
    result = omnes(*words)
    assert result.exit_code != 0 and result.output.count("\n") == 1, result.output
    return result.output.strip()
