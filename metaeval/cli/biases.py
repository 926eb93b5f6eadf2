"""``metaeval biases``: the biases of judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.options import PATH, judges, resampled, run_argument, several
from metaeval.cli.sheets import Sheets, prints_sheets


@click.command()
@run_argument
@judges("Evaluator to check; may be given again.")
@several(
    "--family",
    "families",
    metavar="NAME=FAMILY",
    help="Model family of a generator or judge ('none' for none); may be given again.  [default: by "
    "its name]",
)
@click.option(
    "--families",
    "families_file",
    type=PATH,
    help="YAML file with lines 'name: family'; --family overrides it.",
)
@click.option("--length", metavar="NAME", help="Evaluator that measures length.  [default: Length()]")
@click.option(
    "--data",
    type=PATH,
    help="Data-set folder, to measure lengths.  [default: the study's]",
)
@resampled()
@prints_sheets(uncalibrated=True)
def biases(
    run_folder: Path, *, families: tuple[str, ...], families_file: Path | None, **options: Any
) -> Sheets:
    """Measure and test the biases of the judges of the finished run in the folder RUN.

    Biases are position (of pairwise judges), verbosity, self-preference, leniency, range use, central
    tendency, sensitivity to the wording of the prompt, and repeatability. Each is a number with an interval
    and a test. The run's report.html shows them afterwards.
    """
    from metaeval.study.commands.biases import biases_of, said_families
    from metaeval.study.commands.report_views import show_in_report

    sheets = biases_of(run_folder, families=said_families(families, families_file), **options)
    show_in_report(run_folder, "biases", sheets)
    return sheets
