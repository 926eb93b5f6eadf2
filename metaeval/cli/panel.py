"""``metaeval disagreements``, which has a page to label on, too."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.cli.frame import options_of
from metaeval.cli.group import tell, tell_pages
from metaeval.cli.options import PATH, flag, option, run_argument, served
from metaeval.cli.sheets import Sheets, prints_sheets
from metaeval.trust import disagreements as panel


@click.command(help=panel.disagreements_of.__doc__)
@run_argument
@options_of(panel.Panel, "judges", "n", "aspects", "levels")
@option("--labels", "Also write these units to a table for people to label.", PATH, metavar="FILE.csv")
@option("--data", "Data-set folder, for people's labels.  [default: the study's]", PATH)
@flag("--label", "Label these units in a browser instead.")
@option("--rater", "Name of the person who labels, with --label.", metavar="NAME", default="")
@served
@options_of(panel.Panel, "resamples", "seed")
@prints_sheets(uncalibrated=True)
def disagreements(
    folder: Path,
    *,
    aspects: tuple[str, ...],
    labels: Path | None,
    data: Path | None,
    label: bool,
    rater: str,
    port: int,
    no_browser: bool,
    **options: Any,
) -> Sheets:
    """Print the tables, or have people label."""
    if label:
        from metaeval.trust.labelling.pages import label_units

        session = panel.session_of_disagreements(
            folder, options["judges"], rater=rater, aspects=aspects, n=options["n"], data=data
        )
        label_units(session, port=port, browser=not no_browser, ready=partial(tell_pages, folder, [rater]))
        tell(session.line())
        click.get_current_context().exit()
    sheets = panel.disagreements_of(folder, aspects=aspects, **options)
    if labels is not None:
        panel.labels_of_disagreements(folder, sheets[0], labels, aspects=aspects, data=data)
        tell(str(labels))
    return sheets
