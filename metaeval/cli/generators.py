"""``metaeval generators``: which generator writes the best explanations, by people and by evaluators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.options import run_argument, several
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@run_argument
@several(
    "--evaluator",
    "evaluators",
    metavar="NAME",
    help="Evaluator to rank by; may be given again.  [default: all but baselines]",
)
@click.option("--aspect", help="Aspect to rank by.  [default: all, and their average]")
@click.option(
    "--labelled", type=int, metavar="N", help="Estimate from the ratings of N users and all scores."
)
@click.option("--resamples", type=int, default=10_000, show_default=True, help="Resamples of the users.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the resamples.")
@prints_sheets()
def generators(run_folder: Path, **options: Any) -> Sheets:
    """Rank the generators of the finished run in the folder RUN by ratings and by evaluators."""
    from metaeval.study.commands.analyses import generators_of

    return generators_of(run_folder, **options)
