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
    help="How often interactions are made up and evaluators asked again.",
)
@click.option("--out", type=PATH, help="The folder.  [default: results/, the study's name and -loop]")
@click.option("--offline", is_flag=True, help="Take all replies of judges from the store.")
@allow_failures
@format_option()
@talk
def loop(
    study: Path, *, rounds: int, out: Path | None, offline: bool, allow_failures: bool, suffix: str
) -> None:
    """Evaluate, synthesize and evaluate again the study of exposure in the file STUDY.

    Makes up interactions of users under the study's options of synthesis, runs the study once more on pairs
    that follow their exposure, and says what changed. A loop that broke off goes on when it is run again.
    """
    begin()
    with progress(f"metaeval loop {study.name}"):
        from metaeval.study.commands.loop import LOOP
        from metaeval.study.commands.loop import loop as go

        done = go(study, out, rounds=rounds, offline=offline, allow_failures=allow_failures)
    tell_sheets(done.sheets, suffix)
    tell(str(done.folder / LOOP))
