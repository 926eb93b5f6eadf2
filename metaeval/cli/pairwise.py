"""``metaeval pairwise``: outcomes of pairs, and generators ranked by pairwise judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.options import PATH, resampled, several
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@click.argument("path", metavar="RUN|FILE", type=PATH)
@several("--evaluator", "evaluators", help="Pairwise evaluator; may be given again.  [default: all]")
@click.option(
    "--flips",
    type=click.Choice(["tie", "drop"]),
    help="How a flip counts: half a point for each side, or nothing.  [default: the evaluator's rule]",
)
@resampled(1_000)
@prints_sheets()
def pairwise(path: Path, **options: Any) -> Sheets:
    """Summarise the pairs of the finished run in the folder RUN, and rank its generators.

    In place of RUN, it takes a FILE of verdicts made by `metaeval verdicts import`. Generators are ranked by
    Bradley and Terry's model, Elo and win rate, with intervals.
    """
    from metaeval.study.commands.pairwise import pairwise_of

    return pairwise_of(path, **options)
