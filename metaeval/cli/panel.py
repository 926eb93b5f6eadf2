"""``metaeval disagreements``, which has a page to label on, too."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.cli.frame import options_of
from metaeval.cli.group import tell, tell_pages
from metaeval.cli.options import PATH, flag, option, served
from metaeval.cli.sheets import Sheets, prints_sheets
from metaeval.trust import disagreements as panel


@click.command(help=panel.disagreements_of.__doc__)
@options_of(panel.disagreements_of, "run", "judges", "n", "aspects", "levels")
@option("--labels", "Also write these units to a table for people to label.", PATH, metavar="FILE.csv")
@option("--data", "Data-set folder, for people's labels.  [default: the study's]", PATH)
@flag("--label", "Label these units in a browser instead.")
@option("--rater", "Name of the person who labels, with --label.", metavar="NAME", default="")
@served
@options_of(panel.disagreements_of, "resamples", "seed")
@prints_sheets(uncalibrated=True)
def disagreements(
    run: Path,
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
            run, options["judges"], rater=rater, aspects=aspects, n=options["n"], data=data
        )
        label_units(session, port=port, browser=not no_browser, ready=partial(tell_pages, run, [rater]))
        tell(session.line())
        click.get_current_context().exit()
    sheets = panel.disagreements_of(run, aspects=aspects, **options)
    if labels is not None:
        panel.labels_of_disagreements(run, sheets[0], labels, aspects=aspects, data=data)
        tell(str(labels))
    return sheets
