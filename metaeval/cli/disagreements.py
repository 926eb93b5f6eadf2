"""``metaeval disagreements``: where a panel of judges splits, and what it gains over its best member."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, resampled, talk, tell, tell_lost, tell_uncalibrated
from metaeval.cli.sheets import sheet_options, tell_sheets

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("run_folder", metavar="RUN", type=_PATH)
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="A member of the panel; give it again for each.  [default: the run's judges]",
)
@click.option("--n", type=click.IntRange(1), default=50, show_default=True, help="Units to list.")
@click.option("--aspect", "aspects", multiple=True, help="This aspect only; may be given again.")
@click.option("--level", "levels", multiple=True, help="The gain at this level only; may be given again.")
@click.option("--labels", type=_PATH, metavar="FILE.csv", help="Write these units for people to label, too.")
@click.option("--show-scores", is_flag=True, help="With the judges' scores in the table to label.")
@click.option("--data", type=_PATH, help="The run's data set, if not where its study says; for --labels.")
@resampled(1_000)
@sheet_options
@talk
def disagreements(
    run_folder: Path,
    *,
    judges: tuple[str, ...],
    n: int,
    aspects: tuple[str, ...],
    levels: tuple[str, ...],
    labels: Path | None,
    show_scores: bool,
    data: Path | None,
    resamples: int,
    seed: int,
    suffix: str,
    out: Path | None,
) -> None:
    """List the units of the finished run in the folder RUN on which a panel of judges splits most.

    How far the panel agrees; and what its mean, median and majority gain over its best member, which is
    chosen on some users and judged on others. `metaeval golden import` takes back what people labelled.
    """
    from metaeval.study.commands.disagreements import disagreements_of, labels_of_disagreements

    begin()
    found = disagreements_of(
        run_folder, judges, aspects=aspects, levels=levels, n=n, resamples=resamples, seed=seed
    )
    if labels is not None:
        labels_of_disagreements(
            run_folder, found[0], labels, aspects=aspects, data=data, with_scores=show_scores
        )
        tell(str(labels))
    tell_sheets(found, suffix, out)
    tell_uncalibrated(run_folder)
    tell_lost(run_folder)
