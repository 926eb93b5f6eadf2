"""``metaeval ensembles``: what the means of several judges reach, and what they cost."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, resampled, talk, tell_lost
from metaeval.cli.sheets import sheet_options, tell_sheets


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="A judge to combine; give it again for each.  [default: the run's judges]",
)
@click.option("--level", "levels", multiple=True, help="This level only; may be given again.")
@click.option("--aspect", "aspects", multiple=True, help="This aspect only; may be given again.")
@resampled()
@sheet_options
@talk
def ensembles(
    run_folder: Path,
    *,
    judges: tuple[str, ...],
    levels: tuple[str, ...],
    aspects: tuple[str, ...],
    resamples: int,
    seed: int,
    suffix: str,
    out: Path | None,
) -> None:
    """Compare the means of all subsets of the judges of the finished run in the folder RUN.

    By size; what each judge adds; how far they err alike; and the cheapest ensemble that is about as good as
    the best, chosen on some users and judged on others.
    """
    from metaeval.study.commands.analyses import ensembles_of

    begin()
    found = ensembles_of(run_folder, judges, levels=levels, aspects=aspects, resamples=resamples, seed=seed)
    tell_sheets(found, suffix, out)
    tell_lost(run_folder)
