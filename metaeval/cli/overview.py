"""``metaeval evaluators`` and ``metaeval runs``."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.options import PATH
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@click.option("--kind", metavar="KIND", help="Kind of study.  [default: of every kind]")
@click.option("--data", type=PATH, metavar="DIR", help="Say which evaluators can score this data set.")
@prints_sheets()
def evaluators(kind: str | None, data: Path | None) -> Sheets:
    """List the evaluators: their specs, what they do, and what they need."""
    from metaeval.study.commands.overview import evaluators_sheet

    return [evaluators_sheet(kind, data)]


@click.command()
@click.argument("folder", type=PATH, default=Path("results"))
@prints_sheets()
def runs(folder: Path) -> Sheets:
    """List the runs in FOLDER: data set, date, whether it is finished, evaluators, cost."""
    from metaeval.runs.listing import runs_sheet

    return [runs_sheet(folder)]
