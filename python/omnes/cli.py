"""The `omnes` command: a group whose commands are loaded only when they are used, so that a launch starts at once."""

from __future__ import annotations

import importlib
from typing import Any

import click

from omnes import _core, errors
from omnes.terminal import spellings

# In the order in which people meet them.
COMMANDS = {
    "run": "Run an MPI program with its collectives on omnes.",
    "compare": "Run a program on the stock MPI and on omnes, by turns.",
    "advise": "Say what omnes would gain a program, from one run of it.",
    "bench": "Compare collectives on the stock MPI and on omnes.",
    "predict": "Predict how long algorithms take, for any number of ranks.",
    "explain": "Explain which algorithm runs, and what others would cost.",
    "regret": "List where the choice is slower than the best, as predicted.",
    "measure": "Measure what messages cost here, for predictions.",
    "tune": "Find faster algorithms for this machine or one program.",
    "export": "Write a decision table in another MPI's own format.",
    "report": "Show all that is known on one page.",
    "check-guidelines": "Find operations slower than what could replace them.",
    "simulate": "Compare collectives on simulated machines of many nodes.",
    "list": "List the algorithms.",
    "draw": "Draw what an algorithm does.",
    "verify": "Prove algorithms correct.",
    "topology": "Show the levels of a machine, and the groups of a job.",
    "map": "Renumber ranks so that those that exchange much lie close.",
    "doctor": "Look whether omnes can work here, and what to do.",
    "info": "Show the MPIs and the machine as omnes sees them.",
    "demo": "Run an example program on the stock MPI and on omnes.",
}

_OF_PROGRAMS = ("run", "compare")  # which know where the program's own words begin


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"omnes.commands.{name.replace('-', '_')}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-"):
            errors.one_of(args[0], COMMANDS, "command")
        name, command, words = super().resolve_command(ctx, args)
        return name, command, words if name in _OF_PROGRAMS else spellings.current(name or "", words)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A program's words may be any bytes; all other words become text sooner or later."""
        for word in args if args[:1] and args[0] not in _OF_PROGRAMS else []:
            word.encode()
        return super().parse_args(ctx, args)

    def make_context(self, *words: Any, **options: Any) -> click.Context:
        with errors.from_system():
            return super().make_context(*words, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """The one place where what no command has foreseen becomes an error of one line."""
        with errors.from_system():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_core.__version__, prog_name="omnes")
def main() -> None:
    """Makes the collective operations of unmodified MPI programs fast, on any MPI, and explains what it did.

    \b
    omnes run -n 8 ./app            run ./app, its collectives on omnes
    omnes run -n 8 --stats ./app    and say at the end which ran, and how long
    omnes bench allreduce -n 2      compare with the stock MPI
    """
