"""``metaeval ensembles``: what the means of several judges reach, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.options import aspects, judges, resampled, run_argument, several
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@run_argument
@judges("A judge to combine; give it again for each.")
@several("--level", "levels", help="This level only; may be given again.")
@aspects
@resampled()
@prints_sheets()
def ensembles(run_folder: Path, **options: Any) -> Sheets:
    """Compare the means of all subsets of the judges of the finished run in the folder RUN.

    By size; what each judge adds; how far they err alike; and the cheapest ensemble that is about as good as
    the best, chosen on some users and judged on others.
    """
    from metaeval.study.commands.analyses import ensembles_of

    return ensembles_of(run_folder, **options)
