"""``metaeval power``: how many users a study needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.base.records import COEFFICIENTS, LEVELS
from metaeval.cli.options import run_argument, seed
from metaeval.cli.sheets import Sheets, prints_sheets


def _numbers(context: click.Context, parameter: click.Parameter, text: str | None) -> list[int] | None:
    """Read whole numbers with commas between them."""
    if text is None:
        return None
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        message = f"{text!r} is not a list of whole numbers, such as 10,20,40."
        raise click.BadParameter(message, context, parameter) from None


@click.command()
@run_argument
@click.option(
    "--evaluators",
    nargs=2,
    metavar="A B",
    help="The two evaluators to compare.  [default: the best and the second]",
)
@click.option("--aspect", default="average", show_default=True, help="Aspect of the run, or average.")
@click.option("--level", type=click.Choice(LEVELS), help="[default: the run's first]")
@click.option("--coefficient", type=click.Choice(COEFFICIENTS), help="[default: the run's first]")
@click.option(
    "--users", callback=_numbers, metavar="N,...", help="[default: 10, 20 and 1, 2, 4, 8 times the run's]"
)
@click.option(
    "--units", callback=_numbers, metavar="N,...", help="Units per user.  [default: all of the run's]"
)
@click.option(
    "--studies", type=click.IntRange(100), default=2000, show_default=True, help="Simulated studies per size."
)
@seed
@prints_sheets()
def power(run_folder: Path, **options: Any) -> Sheets:
    """Estimate how many users are needed to tell two evaluators of the run in RUN apart.

    Studies of several sizes are simulated by drawing users, and units of each, from the run.
    """
    from metaeval.study.commands.analyses import power_of

    return power_of(run_folder, **options)
