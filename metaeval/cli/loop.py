"""``metaeval loop``: evaluate, synthesize, evaluate again."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.base.progress import progress
from metaeval.cli.group import begin, talk, tell
from metaeval.cli.options import PATH, allow_failures
from metaeval.cli.sheets import format_option, tell_sheets


@click.command()
@click.argument("study", type=PATH)
@click.option(
    "--rounds",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Number of rounds: make interactions, ask evaluators again.",
)
@click.option("--out", type=PATH, help="Folder to write.  [default: results/NAME-loop]")
@click.option("--offline", is_flag=True, help="Take all replies from the store; send nothing.")
@allow_failures
@format_option()
@talk
def loop(
    study: Path, *, rounds: int, out: Path | None, offline: bool, allow_failures: bool, suffix: str
) -> None:
    """Evaluate the study of exposure in the file STUDY, add synthetic interactions, and evaluate again.

    Makes synthetic interactions of users by the study's option synthesis, runs the study again on pairs that
    follow their exposure, and reports what changed. An interrupted loop continues when it is run again.
    """
    begin()
    with progress(f"metaeval loop {study.name}"):
        from metaeval.study.commands.loop import LOOP
        from metaeval.study.commands.loop import loop as go

        done = go(study, out, rounds=rounds, offline=offline, allow_failures=allow_failures)
    tell_sheets(done.sheets, suffix)
    tell(str(done.folder / LOOP))
