"""omnes tune: measures what the model leaves open, and writes a decision table for this machine or program."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from omnes import _core
from omnes.algorithms import catalogue
from omnes.bench import contenders, host
from omnes.bench.job import JobSpec
from omnes.bench.records import Records
from omnes.errors import UsageError, from_core
from omnes.launching import cpus, mpi
from omnes.models import prediction
from omnes.models.prediction import MachineCosts, Ranks
from omnes.terminal import files, options, units
from omnes.terminal.output import deliver
from omnes.traces import statistics
from omnes.tuning import cases, cutoffs, rules
from omnes.tuning.cases import Case
from omnes.tuning.search import Found
from omnes.tuning.tuner import TuningSession


@click.command()
@click.argument("operations", nargs=-1, metavar="[OPERATION]...")
@click.option("-n", "counts", metavar="N", help="Ranks: 8, or 2,4,8.  [default: the CPUs; with a profile its own]")
@options.output("The table (TOML); the samples go beside it (.jsonl).", required=True)
@click.option(
    "--from-profile",
    "profile",
    type=options.FILE,
    metavar="FILE",
    help="Tune what a program calls, as omnes run --profile recorded it.",
)
@options.sizes(None, "Bytes of one part.  [default: 8..2M:8; with a profile its own]")
@click.option(
    "--nodes",
    metavar="WHERE",
    help="4x2: 4 nodes of 2 ranks, emulated here unless the launcher's options say where.",
)
@options.costs_file(": picks better candidates")
@options.one_mpi
@click.option(
    "--candidates",
    "most",
    type=options.number(1),
    default=6,
    show_default=True,
    metavar="N",
    help="Candidates of each case, beside the present choice.",
)
@options.bind
@options.seconds(0.4, "Maximum for each of a case's last candidates.")
@click.option(
    "--launcher-options",
    metavar="OPTIONS",
    help="In one word: '--hostfile hosts'. omnes does not bind the ranks then.",
)
@click.option(
    "--settings",
    "with_settings",
    is_flag=True,
    help="First tune slot sizes and the cutoffs of copying, on the first -n; a minute more.",
)
@options.for_scripts
def command(
    operations: tuple[str, ...],
    counts: str | None,
    output: Path,
    profile: Path | None,
    sizes: str | None,
    nodes: str | None,
    path: Path | None,
    place: str | None,
    most: int,
    bind: bool | None,
    seconds: float,
    launcher_options: str | None,
    with_settings: bool,
    to_csv: Path | None,
    to_json: Path | None,
) -> None:
    """Find faster algorithms than omnes chooses by itself, for this machine or one program, in minutes.

    In each case the few that the model expects to be fastest take turns, and the slower ones leave early. The table
    has a rule only where the present choice was beaten beyond noise, twice. An interrupted run goes on where it was.
    Nothing else should run meanwhile.

    \b
    omnes tune -n 8 -o table.toml                            all operations
    omnes tune -n 8 --settings -o table.toml                 slot sizes and cutoffs, too
    omnes tune allreduce bcast -n 2,4 -b 8..1M -o table.toml --costs machine.toml
    omnes run -n 8 --profile app.json ./app; omnes tune --from-profile app.json -o table.toml
    omnes tune allreduce --nodes 4x8 -o table.toml --launcher-options "--hostfile hosts"
    OMNES_TABLE=table.toml omnes run -n 8 ./app              or put it at ~/.config/omnes/table.toml
    """
    chosen = mpi.named_or_first(place, os.environ)
    refuse_forced_choices()
    model = MachineCosts.load(path)
    names = _operations(operations)
    if profile:
        if counts or nodes or sizes:
            raise UsageError("a profile says ranks and sizes itself: leave out -n, --nodes and -b, or --from-profile")
        recorded = statistics.load_profile(profile)
        with files.expecting(profile, "no profile that omnes run --profile has written"):
            todo = cases.of_profile(recorded, names)
    else:
        groups = prediction.groups(counts or (None if nodes else str(cpus.usable_cpus())), nodes, model)
        if nodes is None:
            groups = [Ranks(one.count, one.count) for one in groups]
        if any(one.cyclic for one in groups):
            raise UsageError("tuned are ranks that lie on one node after the other: leave out cyclic")
        if any(one.count < 2 for one in groups):
            raise UsageError("one rank has nothing to choose: -n starts at 2")
        todo = cases.of_grid(names, groups, _sizes(sizes or "8..2M:8"))
    options = shlex.split(launcher_options or "")
    spec = JobSpec("omnes", chosen, True, contenders.COMPILED_IN, options=tuple(options))

    def bound(ranks: Ranks) -> bool:
        fits = ranks.count <= cpus.usable_cores() and ranks.nodes == 1 and not options
        return fits if bind is None else bind

    of_settings = _ranks_of_settings(todo) if with_settings else None
    records = Records(output.with_suffix(".jsonl"))
    session = TuningSession(records, spec, bound, seconds, model, most, bool(options), refine=profile is None)
    session.begin()
    tuned = _tune_settings(session, of_settings) if of_settings else []
    found = session.run(todo)
    heap = os.environ.get("OMNES_HEAP", "auto")
    shared_heap = None if heap == "auto" else heap == "shared"
    heads = rules.head(host.describe(), chosen.name, _groups(todo, bound), session.own_settings)
    files.write(output, rules.toml(found, heads, shared_heap, cutoffs.toml(tuned)))
    with from_core():  # what was written is what omnes reads
        _core.rules(str(output))
    rows = [_as_data(one) for one in found]
    if deliver(to_json, rows, to_csv, rows):
        _summary(found, output)
        for one in tuned:
            gain = f" ({one.gain:.0%} faster than {one.setting.default})" if one.changed else ", as compiled in"
            click.echo(f"  {one.setting.name} = {one.value}{gain}")


def _ranks_of_settings(todo: Sequence[cases.Case]) -> Ranks:
    """The first that share memory."""
    given = [one.variable for one in cutoffs.SETTINGS if one.variable in os.environ]
    if given:
        raise UsageError(f"unset what --settings is to find: {' '.join(given)}")
    ranks = next((case.ranks for case in todo if case.ranks.nodes == 1), None)
    if ranks is None:
        raise UsageError("settings are about ranks that share memory: give -n, or leave out --settings")
    return ranks


def _tune_settings(session: TuningSession, ranks: Ranks) -> list[cutoffs.Tuned]:
    """What is found holds for the session's jobs."""
    tuned = list(
        cutoffs.CutoffSearch(session.records, session.spec, ranks.count, session.bind(ranks), session.seconds).run()
    )
    found = {one.setting.variable: one.value for one in tuned if one.changed}
    session.spec = replace(session.spec, variables={**session.spec.variables, **found})
    return tuned


def _summary(found: list[Found], output: Path) -> None:
    made = rules.rules(found)
    faster = sum(one.choice != one.default for one in found)
    click.echo(f"{output}: {len(made)} rules; {faster} of {len(found)} cases are faster than before")
    for rule in made:
        low, high = rule.found[0].case, rule.found[-1].case
        where = f", {units.format_bytes(low.bytes)} to {units.format_bytes(high.bytes)} B" if low.knows_size else ""
        gains = [one.gain[1] for one in rule.found if one.choice == rule.choice and one.confirmed]
        click.echo(
            f"  {rule.operation}, {rule.ranks}{where}: {rule.choice} ({min(gains):.0%} to {max(gains):.0%} faster)"
        )


def _as_data(found: Found) -> dict[str, object]:
    case = found.case
    return {
        "operation": case.operation,
        "ranks": case.ranks.count,
        "nodes": case.ranks.nodes,
        "bytes": case.bytes,
        "default": found.default,
        "choice": found.choice,
        "seconds": found.seconds,
        "gain": found.gain[1] if found.confirmed else 0.0,
    }


def _groups(todo: list[Case], bound: Callable[[Ranks], bool]) -> list[str]:
    return [
        f"{ranks}{', each bound to a core' if bound(ranks) else ''}"
        for ranks in dict.fromkeys(one.ranks for one in todo)
    ]


def _operations(names: Sequence[str]) -> list[str]:
    for name in names:
        catalogue.select(name)  # refuses what is no operation
    able = cases.tunable()
    single = [name for name in names if name not in able]
    if single:
        raise UsageError(f"{single[0]} has one algorithm: nothing to tune; valid: {', '.join(able)}")
    return list(dict.fromkeys(names)) or able


def _sizes(text: str) -> list[int]:
    sizes = units.parse_multiples(text, 8, "double")
    if 0 in sizes:
        raise UsageError("0 bytes have nothing to tune: sizes start at 8")
    return sizes


def refuse_forced_choices() -> None:
    """Those of the environment would be measured in place of the candidates."""
    drives = {f"OMNES_{name.upper()}" for name in _core.operations()} | {"OMNES_REPRODUCIBLE", "OMNES_OFF"}
    if found := sorted(drives & os.environ.keys()):
        raise UsageError(f"unset what decides before any table: {' '.join(found)}")
