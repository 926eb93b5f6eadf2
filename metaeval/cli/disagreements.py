"""``metaeval disagreements``: units on which a panel of judges splits, and its gain over its best member."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.cli.group import tell, tell_label_page
from metaeval.cli.options import PATH, aspects, judges, resampled, run_argument, served, several
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@run_argument
@judges("Member of the panel; give it once per member.")
@click.option("--n", type=click.IntRange(1), default=50, show_default=True, help="Number of units to list.")
@aspects
@several("--level", "levels", help="Gain at this level only; may be given again.")
@click.option(
    "--labels", type=PATH, metavar="FILE.csv", help="Also write these units to a table for people to label."
)
@click.option("--show-scores", is_flag=True, help="Include the judges' scores in the table.")
@click.option("--data", type=PATH, help="Data-set folder, for people's labels.  [default: the study's]")
@click.option("--label", is_flag=True, help="Label these units in a browser instead.")
@click.option("--rater", metavar="NAME", default="", help="Name of the person who labels, with --label.")
@served
@resampled(1_000)
@prints_sheets(uncalibrated=True)
def disagreements(
    run_folder: Path,
    *,
    aspects: tuple[str, ...],
    labels: Path | None,
    show_scores: bool,
    data: Path | None,
    label: bool,
    rater: str,
    port: int,
    no_browser: bool,
    **options: Any,
) -> Sheets:
    """List the units of the finished run in the folder RUN on which a panel of judges splits most.

    How far the panel agrees; and what its mean, median and majority gain over its best member, which is
    chosen on some users and judged on others. `metaeval golden import` takes back what people labelled: the
    file of --labels, or labels.csv in the run folder, into which --label writes. Of pairwise judges, --label
    asks for pairs on which verdicts differ, and writes labelled_pairs.csv.
    """
    if label:
        from metaeval.runs.labeller import label_units
        from metaeval.study.commands.disagreements import session_of_disagreements

        session = session_of_disagreements(
            run_folder, options["judges"], rater=rater, aspects=aspects, n=options["n"], data=data
        )
        label_units(session, port=port, browser=not no_browser, ready=partial(tell_label_page, run_folder))
        tell(session.line())
        click.get_current_context().exit()
    from metaeval.study.commands.disagreements import disagreements_of, labels_of_disagreements

    found = disagreements_of(run_folder, aspects=aspects, **options)
    if labels is not None:
        labels_of_disagreements(
            run_folder, found[0], labels, aspects=aspects, data=data, with_scores=show_scores
        )
        tell(str(labels))
    return found
