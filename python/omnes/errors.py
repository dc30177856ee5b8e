"""The one kind of error that the command reports: one line on stderr and a non-zero exit."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import IO, Any

import click

_MAX_ECHOED = 4000  # characters
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # of a group alone; click has it since 8.2


class OmnesError(click.ClickException):
    """What was wrong and, where it helps, what is valid."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"omnes: {one_line(self.format_message())}", file=file, err=file is None)


class UsageError(OmnesError):
    """The command was asked for what there is not, or for things that do not go together."""

    exit_code = 2


def one_of(name: str, valid: Iterable[str], what: str) -> str:
    """The name, if there is such a thing; else an error that says which one was probably meant."""
    there = list(valid)
    if name in there:
        return name
    raise UsageError(f"no {what} '{name}'; {guess(name, there)}there are {', '.join(there)}")


def guess(name: str, there: Iterable[str]) -> str:
    """The beginning of a sentence; nothing where no name is close."""
    close = get_close_matches(name, there, 1)
    return f"did you mean '{close[0]}'? " if close else ""


def _of_options(fault: click.UsageError) -> UsageError:
    """What click refuses, in the words of all other errors."""
    command = f"{fault.ctx.command_path} --help" if fault.ctx else ""
    if isinstance(fault, click.NoSuchOption):
        meant = guess(fault.option_name, fault.possibilities or [])
        return UsageError(f"no option '{fault.option_name}'; {meant}{command or '--help'} shows all")
    text = fault.format_message().rstrip(".")
    if isinstance(fault, click.BadParameter) and fault.param and isinstance(fault.param.type, click.Choice):
        word = fault.message.split("'")[1]
        text += f"; {guess(word, map(str, fault.param.type.choices))}".rstrip("; ")
    return UsageError(f"{text[:1].lower()}{text[1:]}{command and f' ({command})'}")


@contextmanager
def from_core() -> Iterator[None]:
    """What the core refuses becomes an error that the command reports."""
    try:
        yield
    except ValueError as error:
        # One that quotes what is no text comes without its words, or as an error of that.
        raise OmnesError(said(error) or said(UnicodeError())) from None


@contextmanager
def from_system() -> Iterator[None]:
    """What the system refuses, and words and numbers that it cannot take, likewise. What was printed is written."""
    try:
        try:
            yield
        finally:
            _flush_output()
    except OSError as fault:
        if fault.errno == errno.EPIPE:  # whoever reads the output has seen enough
            raise
        raise OmnesError(f"{fault.filename}: {said(fault)}" if fault.filename is not None else said(fault)) from None
    except (UnicodeError, OverflowError, MemoryError, RecursionError) as fault:
        raise OmnesError(said(fault)) from None
    except click.UsageError as fault:
        if isinstance(fault, _HELP):
            raise
        raise _of_options(fault) from None
    except click.ClickException as fault:
        fault.message = one_line(fault.message)  # type: ignore[misc]
        raise


def _flush_output() -> None:
    """What was printed is written now, while an error can still be reported."""
    try:
        sys.stdout.flush()
    except OSError as fault:
        if fault.errno == errno.EPIPE:
            raise
        # Python would try once more when it ends, and complain in words of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OmnesError(f"cannot write the output: {said(fault)}") from None


def said(fault: BaseException) -> str:
    """What an exception says, in a few words."""
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror
    if isinstance(fault, MemoryError):
        return "it takes more memory than there is"
    if isinstance(fault, UnicodeEncodeError):
        return f"'{fault.object}' is no text in UTF-8"
    if isinstance(fault, UnicodeError):
        return "no text in UTF-8"
    if isinstance(fault, RecursionError):
        return "too deeply nested"
    return str(fault)


def one_line(text: str) -> str:
    """With what would end the line or move the cursor written as \\n, \\x1b and the like; very long text without its
    middle."""
    if len(text) > _MAX_ECHOED:
        text = f"{text[: _MAX_ECHOED // 2]} ... {text[-_MAX_ECHOED // 2 :]}"
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":  # a byte that is no text
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape", "surrogatepass").decode()
