"""Splits the words after `omnes run`: omnes' own options, the launcher's options, the program with its arguments.

How: up to `--`, or up to the first word that is the program. Launcher options take values, so the number of values of
the usual ones is known here. After any other option a word counts as the program if it is the path of one, as that
option's value if it cannot be started, and needs `--` where it could be either.

A launcher may stand in the program's place, as in `omnes run mpirun -n 4 ./app`: what follows is its options, of which
the number of ranks is omnes' to know, too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from omnes.errors import OmnesError

# Launcher options by the number of values that they take, each as --NAME and as -NAME.
_LONG = {
    0: """oversubscribe nooversubscribe allow-run-as-root use-hwthread-cpus tag-output report-bindings display-map
        display-allocation nolocal bynode bycore byslot noprefix merge-stderr-to-stdout timestamp-output verbose quiet
        prepend-rank genvall genvnone localhost enable-recovery continuous xterm enable-x disable-x""",
    1: """host hosts hostfile machinefile npernode ppn perhost map-by rank-by bind-to output display wdir path prefix
        genvlist rankfile timeout cpu-set cpu-list tune am app configfile launcher launcher-exec bootstrap
        bootstrap-exec iface rmk topolib outfile-pattern errfile-pattern output-filename personality stdin envlist dvm
        pset runtime-options cpus-per-rank""",
    2: "mca prtemca pmixmca gmca omca genv env",
}
_SHORT = {0: "-l -v -q", 1: "-H -f -N -x -wd -rf"}
_TAKES = {
    **{dashes + name: count for count, names in _LONG.items() for name in names.split() for dashes in ("-", "--")},
    **{name: count for count, names in _SHORT.items() for name in names.split()},
}
_OF_SRUN = {"-q": 1, "-H": 0}  # a quality of service, and to wait; with the others to be quiet, and hosts
_VARIABLES = ("-genv", "--genv", "-env", "--env")  # NAME VALUE, or NAME=VALUE


_OF_MANAGERS = ("srun", "aprun", "ibrun", "jsrun")
# File names of launchers; Debian and others add which MPI they are of.
LAUNCHER = re.compile(rf"(mpirun|mpiexec|orterun|prterun|{'|'.join(_OF_MANAGERS)})(\.\w+)?")
LAUNCHER_OPTION = "--mpirun"
_RANKS = ("-n", "-np", "--np")


@dataclass
class Arguments:
    own: list[str] = field(default_factory=list)
    launcher: list[str] = field(default_factory=list)
    program: list[str] = field(default_factory=list)


def split(words: Sequence[str], own_options: Mapping[str, int]) -> Arguments:
    """own_options: the names of omnes' options and how many values each takes."""
    result = _split(words, own_options)
    if result.program and _names_a_launcher(result, own_options):
        launcher, *rest = result.program
        takes = {**_TAKES, **_OF_SRUN} if os.path.basename(launcher) == "srun" else _TAKES
        behind = _split(rest, {name: own_options[name] for name in _RANKS if name in own_options}, takes)
        if not behind.program:  # mpirun --version
            return result
        result.own += [LAUNCHER_OPTION, launcher, *behind.own]
        result.launcher += behind.launcher
        result.program = behind.program
    return result


def _names_a_launcher(given: Arguments, own_options: Mapping[str, int]) -> bool:
    may_be_named = LAUNCHER_OPTION in own_options and not has_option(given.own, LAUNCHER_OPTION)
    return may_be_named and is_launcher(given.program[0])


def is_launcher(command: str) -> bool:
    return LAUNCHER.fullmatch(os.path.basename(command)) is not None


def asks_for_hosts(launcher: str) -> bool:
    """Whether it gets them from a resource manager."""
    return os.path.basename(launcher) in _OF_MANAGERS


def _split(words: Sequence[str], own_options: Mapping[str, int], takes: Mapping[str, int] = _TAKES) -> Arguments:
    result = Arguments()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            result.program = rest
            break
        name, equals, _ = word.partition("=")
        if name in own_options:
            take, into = (0 if equals else own_options[name]), result.own
        elif word.startswith("-"):
            take, into = (0 if equals else _take(word, rest, takes)), result.launcher
        else:
            result.program = [word, *rest]
            break
        into.append(word)
        if take > len(rest):
            raise OmnesError(f"option {word} needs {'a value' if take == 1 else f'{take} values'}")
        into.extend(rest[:take])
        del rest[:take]
    return result


def _take(option: str, rest: Sequence[str], takes: Mapping[str, int]) -> int:
    if option in _VARIABLES and rest and "=" in rest[0]:
        return 1
    if option in takes:
        return takes[option]
    if not rest or rest[0].startswith("-"):
        return 0
    word = rest[0]
    if shutil.which(word) is None:
        return 1
    if os.sep in word:
        return 0
    if "--" in rest:
        return 1
    raise OmnesError(f"is '{word}' the value of {option}, or the program? put -- before the program")


def has_option(words: Iterable[str], *names: str) -> bool:
    """Whether one of the options is there, alone, with =VALUE, or with a :modifier."""
    return any(word.partition("=")[0] in names for word in words)
