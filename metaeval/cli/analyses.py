"""Analyses of a finished run: ensembles, generators, power, biases, disagreements, calibration."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.cli.group import begin, talk, tell, tell_lost, tell_pages
from metaeval.cli.options import (
    PATH,
    aspects,
    flag,
    judges,
    option,
    resampled,
    run_argument,
    served,
    several,
)
from metaeval.cli.sheets import Sheets, prints_sheets, sheet_options, tell_sheets


@click.command()
@run_argument
@judges("Evaluator to check; may be given again.")
@several(
    "--family families",
    "Model family of a generator or judge ('none' for none); may be given again.  [default: by its name]",
    metavar="NAME=FAMILY",
)
@option("--length", "Evaluator that measures length.  [default: Length()]", metavar="NAME")
@option("--data", "Data-set folder, to measure lengths.  [default: the study's]", PATH)
@resampled()
@prints_sheets(uncalibrated=True)
def biases(folder: Path, *, families: tuple[str, ...], **options: Any) -> Sheets:
    """Measure and test the biases of the judges of the finished run in the folder RUN.

    Biases are position (of pairwise judges), verbosity, self-preference, leniency, range use, central
    tendency, sensitivity to the wording of the prompt, and repeatability. Each is a number with an interval
    and a test. The run's report.html shows them afterwards.
    """
    from metaeval.runs.command import show_in_report
    from metaeval.study.commands.biases import biases_of, read_families

    sheets = biases_of(folder, families=read_families(families), **options)
    show_in_report(folder, "biases", sheets)
    return sheets


@click.command()
@run_argument
@judges("Member of the panel; give it once per member.")
@option("--n", "Number of units to list.", click.IntRange(1), default=50)
@aspects
@several("--level levels", "Gain at this level only; may be given again.")
@option("--labels", "Also write these units to a table for people to label.", PATH, metavar="FILE.csv")
@option("--data", "Data-set folder, for people's labels.  [default: the study's]", PATH)
@flag("--label", "Label these units in a browser instead.")
@option("--rater", "Name of the person who labels, with --label.", metavar="NAME", default="")
@served
@resampled(1_000)
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
    """List the units of the finished run in the folder RUN on which a panel of judges splits most.

    How far the panel agrees; and what its mean, median and majority gain over its best member, which is
    chosen on some users and judged on others. `metaeval golden import` takes back what people labelled: the
    file of --labels, or labels.csv in the run folder, into which --label writes. Of pairwise judges, --label
    asks for pairs on which verdicts differ, and writes labelled_pairs.csv.
    """
    from metaeval.study.commands import disagreements as panel

    if label:
        from metaeval.study.commands.labelling import label_units

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


@click.command()
@click.argument("folder", metavar="RUN|DATA|EXPORT", type=PATH)
@several(
    "--evaluator evaluators", "Evaluator to calibrate; may be given again.  [default: all]", metavar="NAME"
)
@aspects
@option("--by", "Also calibrate within each value of this column of the units or users.", metavar="COLUMN")
@several(
    "--cut cuts",
    "Labels of this value or more pass; the verdict uses kappa of pass and fail. May be given again.",
    float,
)
@option("--bands", "Thresholds of the verdicts.", default="0.4,0.6")
@option("--measure", "Coefficient of the verdict: kappa, linear, quadratic, alpha, spearman, kendall.")
@option(
    "--within",
    "Points within which a score agrees, for its confidence.  [default: the same value of the scale]",
    click.FloatRange(0),
)
@option("--truth", "Truth, for a data set.  [default: User(), or the only annotator]")
@option("--data", "Data-set folder of the run.  [default: the study's]", metavar="DIR")
@several(
    "--people",
    "Scorer or field of an EXPORT whose values are people's; may be given again.",
    metavar="NAME",
)
@option(
    "--check",
    "Check that RUN's judges are those of this calibration file or run.",
    PATH,
    metavar="CALIBRATION",
)
@option("--save", "Calibration file to write.  [default: calibration.json in RUN]", PATH)
@option("--resamples", "Number of resamples.  [default: the run's, else 10000]", click.IntRange(1))
@option("--seed", "Seed of the resamples.  [default: the run's, else 0]", click.IntRange(0))
@sheet_options
@talk
def calibrate(
    folder: Path, *, check: Path | None, save: Path | None, suffix: str, out: Path | None, **options: Any
) -> None:
    """Measure how far the evaluators of a run, a data set or an export of another tool agree with people.

    Prints kappa of labels and coefficients of scores with intervals, a verdict in words, confusion tables,
    maps to people's scale, intervals of single ratings, and whether a judge is as often right as it is sure;
    the run's report.html shows them. The calibration of a run is valid until the
    model, the prompt, the rubric or the parser of a judge changes. --check tests this, and exits with 1 if a
    judge is uncalibrated.
    """
    from metaeval.runs.command import show_in_report
    from metaeval.study.commands.calibration import Calibrating, calibration_of, states_of
    from metaeval.trust.calibration.maps import half_widths
    from metaeval.trust.calibration.record import is_calibrated
    from metaeval.trust.calibration.sheets import reliability_figures, state_sheet

    begin()
    if check is None:
        sheets = calibration_of(folder, Calibrating(**options), save=save)
        show_in_report(folder, "calibration", sheets, reliability_figures(sheets), within=half_widths(sheets))
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
    raise click.exceptions.Exit(0 if all(map(is_calibrated, states.values())) else 1)
