"""Every omnes command that a document or a help text shows is one that there is, with options that it takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from launching import ROOT
from omnes import cli
from omnes.launching import arguments

PAGES = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += [*ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("examples/*.md")]
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
# What may stand before a command in its line: a prompt, another command, settings, what starts it elsewhere.
BEFORE = re.compile(r"(\$ )?(.*; )?(\w+=\S+ )*(salloc .*?|scripts/emulated-cluster .* -- )?omnes (.*)")
OF_SRUN = {"--mpi", "--ntasks-per-node"}  # launchers' options that `omnes run` need not know
FILES = ("FILE", "cg.c", "table.toml")  # that have to be there


def commands(line: str) -> Iterator[list[str]]:
    found = BEFORE.fullmatch(line)
    if not found:
        return
    if found[2]:
        yield from commands(found[2].rstrip("; "))
    words = shlex.split(found[5].replace("; ", " > "), comments=True)
    yield words[: words.index(">")] if ">" in words else words


def documented() -> Iterator[tuple[str, bool, list[str]]]:
    """Where, whether it is a whole command, and its words behind omnes."""
    for page in PAGES:
        name, text = str(page.relative_to(ROOT)), page.read_text()
        for block in BLOCK.findall(text):
            for line in block.replace("\\\n", " ").splitlines():
                yield from ((name, True, words) for words in commands(line))
        for quoted in re.findall(r"`([^`]+)`", BLOCK.sub("", text)):
            yield from ((name, False, words) for words in commands(" ".join(quoted.split())))
    for name in cli.COMMANDS:
        for block in (command_of(name).help or "").split("\b\n")[1:]:
            for line in block.partition("\n\n")[0].splitlines():
                shown = re.split(r"\s{2,}", line.strip())[0]
                yield from ((f"omnes {name} --help", True, words) for words in commands(shown))


def command_of(name: str) -> click.Command:
    found = cli.main.get_command(click.Context(cli.main), name)
    assert found is not None
    return found


def check(is_whole: bool, words: list[str]) -> None:
    if words == ["--help"]:
        return
    name, command, rest = cli.main.resolve_command(click.Context(cli.main), words)
    assert name and command
    known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
    known |= {"--help"}
    if not is_whole and (not rest or rest[-1] in known):  # the name of a command, or of an option of it
        assert {word for word in rest if word.startswith("-")} <= known, "no such option"
        return
    context = command.make_context(name, ["2" if word == "N" else word for word in rest])
    if isinstance(context.obj, arguments.Arguments):
        given = {word.partition("=")[0] for word in context.obj.launcher if word.startswith("-")}
        assert given <= set(arguments._TAKES) | OF_SRUN, "no option of omnes, nor of a launcher"


DOCUMENTED = list(documented())


@pytest.mark.parametrize("page", sorted({page for page, _, _ in DOCUMENTED}))
def test_commands_that_are_shown_can_be_given(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        (tmp_path / name).touch()
    wrong = []
    for _, is_whole, words in (one for one in DOCUMENTED if one[0] == page):
        try:
            check(is_whole, words)
        except (click.ClickException, AssertionError) as fault:
            if is_whole or not isinstance(fault, click.MissingParameter):
                wrong.append(f"omnes {' '.join(words)}: {fault}")
    assert not wrong, "\n".join(wrong)


def test_what_is_no_command_shows():
    for words in ("runs -n 2 ./app", "run --statistics ./app", "tune --from allreduce", "list --no-such-option"):
        with pytest.raises((click.ClickException, AssertionError)):
            check(False, words.split())
    assert list(commands("$ A=b omnes run ./a; omnes advise f > g")) == [["run", "./a"], ["advise", "f"]]
    assert not list(commands("see omnes run"))
