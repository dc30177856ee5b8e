"""Measures omnes and its peers on this machine, all in one run; README.md beside this file says how to use it."""

from __future__ import annotations

from pathlib import Path

import click

from lab import campaign, campaign_page, pack, peers, plan
from omnes.bench.records import Records
from omnes.errors import OmnesError
from omnes.terminal import files, progress, toml_files

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / ".cache"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("plan_names", nargs=-1, metavar="[PLAN]...")
@click.option("--peer", "peer_names", multiple=True, metavar="PEER", help="Only these; may be repeated.")
@click.option("--results", metavar="FILE", help="Without its ending.  [default: the unfinished ones, or today's]")
@click.option("--install", is_flag=True, help="Fetch the peers, measure nothing.")
@click.option("--pack", "folder", metavar="FOLDER", help="Make a folder that runs on a machine without a network.")
@click.option("--page", "only_page", is_flag=True, help="Write the page anew from what was measured.")
def main(
    plan_names: tuple[str, ...],
    peer_names: tuple[str, ...],
    results: str | None,
    install: bool,
    folder: str | None,
    only_page: bool,
) -> None:
    """Measure omnes and its peers, as bench/plans and bench/peers say, and write bench/results.

    A plan or a peer is the name of a file there, or the path of another one; without names it is all of them. A run
    that was interrupted goes on where it was when the same command is given again.

    \b
    bench/run
    bench/run bound --peer openmpi-5 --peer omnes-openmpi-5
    bench/run --pack /tmp/bench --peer openmpi-5 --peer omnes-openmpi-5
    bench/run --page --results bench/results/xeon-bound
    """
    plans = [plan.read(path) for path in toml_files.pick(HERE / "plans", list(plan_names), "plan")]
    chosen = [peers.read(path) for path in toml_files.pick(HERE / "peers", list(peer_names), "peer")]
    if install:
        for peer in chosen:
            click.echo(f"{peer.name:<20} {peer.job(CACHE).mpi.name}")
        return
    if folder:
        click.echo(pack.pack(HERE, chosen, CACHE, Path(folder)))
        return
    path = Path(f"{results}.jsonl") if results else campaign.where(HERE / "results")
    records = Records(files.packed(path) if only_page else path)
    if only_page and not records.campaign:
        raise OmnesError(f"no results in {records.path}; name some: --results FILE, without its ending")
    if not only_page:
        if set_here := campaign.settings():
            raise OmnesError(f"unset what would change the measurement: {' '.join(set_here)}")
        click.echo(f"== results: {records.path}", err=True)
        with progress.Steps("cells") as steps:
            campaign.run(plans, chosen, CACHE, records, steps.begin)
    for written in campaign_page.write(records):
        click.echo(written)


if __name__ == "__main__":
    main()
