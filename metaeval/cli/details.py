"""``metaeval details``: what else a run tells beside its leaderboard."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk, tell_lost
from metaeval.cli.sheets import sheet_options, tell_sheets


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@sheet_options
@talk
def details(run_folder: Path, suffix: str, out: Path | None) -> None:
    """Print further measures, what people reach, reliability, and where the variance lies, of the run in RUN.

    Measures are pairwise accuracy with calibrated ties, soft pairwise accuracy of generators, weighted
    kappa, Krippendorff's alpha, concordance and mean absolute error. Reliability is that of annotators and of
    judges over replicates; correlations are corrected for it where it is known.
    """
    from metaeval.study.commands.details import details as details_of_run

    begin()
    tell_sheets(details_of_run(run_folder), suffix, out)
    tell_lost(run_folder)
