"""``metaeval ensembles``: accuracy and cost of means of several judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.options import aspects, judges, resampled, run_argument, several
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@run_argument
@judges("Judge to combine; give it once per judge.")
@several("--level", "levels", help="Level to report; may be given again.")
@aspects
@resampled()
@prints_sheets()
def ensembles(run_folder: Path, **options: Any) -> Sheets:
    """Compare the means of all subsets of the judges of the finished run in the folder RUN.

    Prints accuracy by size, the contribution of each judge, how far their errors are correlated, and the
    cheapest ensemble not significantly worse than the best, chosen on some users and evaluated on others.
    """
    from metaeval.study.commands.analyses import ensembles_of

    return ensembles_of(run_folder, **options)
