"""``metaeval calibrate``: whether judges agree with people, and are still those that were calibrated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.group import begin, talk, tell_lost
from metaeval.cli.options import PATH, aspects, several
from metaeval.cli.sheets import sheet_options, tell_sheets


@click.command()
@click.argument("folder", metavar="RUN|DATA", type=PATH)
@several(
    "--evaluator",
    "evaluators",
    metavar="NAME",
    help="Evaluator to calibrate; may be given again.  [default: all]",
)
@aspects
@click.option(
    "--by", metavar="COLUMN", help="Also calibrate within each value of this column of the units or users."
)
@several(
    "--cut",
    "cuts",
    type=float,
    help="Labels of this value or more pass; the verdict uses kappa of pass and fail. May be given again.",
)
@click.option("--bands", default="0.4,0.6", show_default=True, help="Thresholds of the verdicts.")
@click.option(
    "--measure", help="Coefficient of the verdict: kappa, linear, quadratic, alpha, spearman, kendall."
)
@click.option("--truth", help="Truth, for a data set.  [default: User(), or the only annotator]")
@click.option("--data", metavar="DIR", help="Data-set folder of the run.  [default: the study's]")
@click.option(
    "--check",
    metavar="CALIBRATION",
    type=PATH,
    help="Check that RUN's judges are those of this calibration file or run.",
)
@click.option("--save", type=PATH, help="Calibration file to write.  [default: calibration.json in RUN]")
@click.option(
    "--resamples", type=click.IntRange(1), help="Number of resamples.  [default: the run's, else 10000]"
)
@click.option("--seed", type=click.IntRange(0), help="Seed of the resamples.  [default: the run's, else 0]")
@sheet_options
@talk
def calibrate(
    folder: Path, *, check: Path | None, save: Path | None, suffix: str, out: Path | None, **options: Any
) -> None:
    """Measure how far the evaluators of a finished run, or of a data set of labels, agree with people.

    Prints kappa of labels and coefficients of scores with intervals, a verdict in words, confusion tables,
    and maps to people's scale; the run's report.html shows them. The calibration of a run is valid until the
    model, the prompt, the rubric or the parser of a judge changes. --check tests this, and exits with 1 if a
    judge is uncalibrated.
    """
    from metaeval.study.commands.calibration import calibration_of, states_of
    from metaeval.study.commands.labels import Calibrating
    from metaeval.study.commands.report_views import show_in_report
    from metaeval.trust.calibration.record import is_calibrated
    from metaeval.trust.calibration.sheets import state_sheet

    begin()
    if check is None:
        sheets = calibration_of(folder, Calibrating(**options), save=save)
        show_in_report(folder, "calibration", sheets)
        tell_sheets(sheets, suffix, out)
        tell_lost(folder)
        return
    only = options.pop("evaluators")
    options.pop("bands")  # has a default
    if save or any(value not in (None, (), "") for value in options.values()):
        raise click.UsageError("--check calibrates nothing; combine it with --evaluator only")
    states = states_of(folder, check, only=only)
    tell_sheets([state_sheet(states.items())], suffix, out)
    tell_lost(folder)
    raise SystemExit(0 if all(map(is_calibrated, states.values())) else 1)
