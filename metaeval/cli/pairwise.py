"""``metaeval pairwise``: what became of pairs, and how pairwise judges rank the generators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.cli.group import begin, resampled, talk, tell_lost
from metaeval.cli.sheets import sheet_options, tell_sheets

if TYPE_CHECKING:
    from metaeval.evaluators.verdicts import Flips


@click.command()
@click.argument("path", metavar="RUN|FILE", type=click.Path(path_type=Path))
@click.option(
    "--evaluator",
    "evaluators",
    multiple=True,
    help="A pairwise evaluator; may be given again.  [default: all]",
)
@click.option(
    "--flips",
    type=click.Choice(["tie", "drop"]),
    help="Whether a flip is half a point for each side, or nothing.  [default: the evaluator's rule]",
)
@resampled(1_000)
@sheet_options
@talk
def pairwise(
    path: Path,
    *,
    evaluators: tuple[str, ...],
    flips: Flips | None,
    resamples: int,
    seed: int,
    suffix: str,
    out: Path | None,
) -> None:
    """Say what became of the pairs of the finished run in the folder RUN, and rank its generators.

    Or of recorded verdicts, in a FILE that `metaeval verdicts import` made.

    By Bradley and Terry's model, Elo and win rate, with intervals.
    """
    from metaeval.study.commands.pairwise import pairwise_of

    begin()
    found = pairwise_of(path, evaluators, flips=flips, resamples=resamples, seed=seed)
    tell_sheets(found, suffix, out)
    tell_lost(path)
