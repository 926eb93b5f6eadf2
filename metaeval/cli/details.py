"""``metaeval details``: further measures of a run beside its leaderboard."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.options import run_argument
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@run_argument
@prints_sheets()
def details(run_folder: Path) -> Sheets:
    """Print more of the run in RUN: measures, agreement of people, reliability, variance components.

    Measures are pairwise accuracy with calibrated ties, soft pairwise accuracy of generators, weighted
    kappa, Krippendorff's alpha, concordance and mean absolute error. Reliability is that of annotators, and
    of judges over replicates; where it is known, correlations are corrected for it.
    """
    from metaeval.study.commands.details import details as details_of_run

    return list(details_of_run(run_folder))
