"""Analyses of a finished run: ensembles, generators, power, biases, disagreements, calibration."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.base.records import COEFFICIENTS, LEVELS
from metaeval.cli.group import begin, talk, tell, tell_lost, tell_pages
from metaeval.cli.options import (
    PATH,
    aspects,
    flag,
    judges,
    numbers,
    option,
    resampled,
    run_argument,
    seed,
    served,
    several,
)
from metaeval.cli.sheets import Sheets, prints_sheets, sheet_options, tell_sheets

_sizes = numbers(int, "10,20,40")


@click.command()
@run_argument
@judges("Judge to combine; give it once per judge.")
@several("--level levels", "Level to report; may be given again.")
@aspects
@resampled()
@prints_sheets("study.commands.analyses:ensembles_of")
def ensembles() -> None:
    """Compare the means of all subsets of the judges of the finished run in the folder RUN.

    Prints accuracy by size, the contribution of each judge, how far their errors are correlated, and the
    cheapest ensemble not significantly worse than the best, chosen on some users and evaluated on others.
    """


@click.command()
@run_argument
@several(
    "--evaluator evaluators",
    "Evaluator to rank by; may be given again.  [default: all but baselines]",
    metavar="NAME",
)
@option("--aspect", "Aspect to rank by.  [default: all, and their average]")
@option("--labelled", "Estimate from the ratings of N users and all scores.", int, metavar="N")
@option("--resamples", "Resamples of the users.", int, default=10_000)
@option("--seed", "Seed of the resamples.", int, default=0)
@prints_sheets("study.commands.analyses:generators_of")
def generators() -> None:
    """Rank the generators of the finished run in the folder RUN by ratings and by evaluators."""


@click.command()
@run_argument
@option(
    "--evaluators",
    "The two evaluators to compare.  [default: the best and the second]",
    nargs=2,
    metavar="A B",
)
@option("--aspect", "Aspect of the run, or average.", default="average")
@option("--level", "[default: the run's first]", LEVELS)
@option("--coefficient", "[default: the run's first]", COEFFICIENTS)
@option("--users", "[default: 10, 20 and 1, 2, 4, 8 times the run's]", read=_sizes, metavar="N,...")
@option("--units", "Units per user.  [default: all of the run's]", read=_sizes, metavar="N,...")
@option("--studies", "Simulated studies per size.", click.IntRange(100), default=2000)
@seed
@prints_sheets("study.commands.analyses:power_of")
def power() -> None:
    """Estimate how many users are needed to tell two evaluators of the run in RUN apart.

    Studies of several sizes are simulated by drawing users, and units of each, from the run.
    """


@click.command()
@click.argument("folder", metavar="RUN|DATA", type=PATH)
@several(
    "--evaluator evaluators",
    "Evaluator to hold against people; may be given again.  [default: the judges]",
    metavar="NAME",
)
@aspects
@several("--expert experts", "Person who is an expert; may be given again.", metavar="RATER")
@option(
    "--epsilon",
    "What a person's advantage may be.  [default: 0.1, and 0.2 for an expert]",
    click.FloatRange(0, 1),
)
@option(
    "--alignment",
    "How a rating agrees with others.  [default: rmse, and accuracy for words]",
    ["accuracy", "rmse"],
)
@option(
    "--margin", "How far below people's the judge's agreement may be.", click.FloatRange(0, 2), default=0.1
)
@option(
    "--cluster", "Key by which units depend on each other.  [default: the run's]", metavar="user|item|..."
)
@resampled()
@prints_sheets("study.commands.analyses:replacing_of")
def replace() -> None:
    """Say whether a judge of a finished run, or of the recorded scores of a data set, may replace a person.

    The alternative annotator test: each person is left out in turn; does the judge agree with the others at
    least as well, less epsilon? A verdict in words per judge, the test of each person, how many more labels
    would decide, and agreement beside that of people among themselves. The run's report.html shows them.
    """


@click.command()
@run_argument
@judges("Evaluator to ask; give it once per evaluator, in the order in which they are asked.")
@aspects
@option("--alpha", "How often units that no person sees may disagree.", click.FloatRange(0, 0.5), default=0.1)
@option("--delta", "Probability that more of them do.", click.FloatRange(0.0001, 0.5), default=0.05)
@option(
    "--within",
    "Points within which a score agrees.  [default: the same value of the scale]",
    click.FloatRange(0),
)
@option("--route", "Who decides each unit.  [default: route.csv in RUN]", PATH, metavar="FILE.csv")
@prints_sheets("study.commands.analyses:escalation_of")
def escalate() -> None:
    """Say which units of the finished run in the folder RUN each judge decides, and which a person.

    A unit is handed on where a judge is not sure: by its confidence, or by how far the members of a panel, or
    repeated samples, are apart. Thresholds are such that units that no person sees agree with people in at
    least 1 - alpha, with probability 1 - delta, with units in clusters. `metaeval golden label --only` takes
    the route. The run's report.html shows the tables.
    """


@click.command()
@run_argument
@judges("Evaluator to correct; may be given again: each gets a weight.")
@aspects
@option(
    "--labels",
    "Ratings of some units, such as a set's ratings.csv; maybe with a column 'probability'.  [default: the "
    "run's]",
    PATH,
    metavar="FILE.csv",
)
@option("--labelled", "Keep the labels of so many users only, to see what the rest would have said.", int)
@option("--at-least least", "Correct the share of ratings of X or more, not the mean.", float, metavar="X")
@option("--alpha", "1 - confidence of the intervals.", click.FloatRange(0.0001, 0.5), default=0.05)
@seed
@prints_sheets("study.commands.analyses:correction_of")
def correct() -> None:
    """Say what people would have said of all units of the finished run in the folder RUN.

    Judges scored all units, people labelled some. Means, differences between generators and their order are
    the judges', corrected by the labels (prediction-powered inference). It is refused, with the reason, where
    a judge tells nothing, or units with labels are not like the others. Of ranking systems, measures are
    corrected by topic. The run's report.html shows the tables.
    """


@click.command()
@run_argument
@option("--better", "Is A better than B? Two generators, or values of another key.", nargs=2)
@option("--epsilon", "A person's advantage at most, without --better.", click.FloatRange(0, 1), default=0.1)
@option("--width", "Until the difference, or the mean, is known to ± W.", click.FloatRange(0), default=0.0)
@option("--judge", "Evaluator whose scores are corrected.  [default: the first judge]", metavar="NAME")
@option("--aspect", "Aspect of the question.  [default: the first]")
@option(
    "--labels",
    "Ratings so far, such as the set's ratings.csv.  [default: the run's]",
    PATH,
    metavar="FILE.csv",
)
@option("--plan", "Plan to write, or to go on with.  [default: plan.csv in RUN]", PATH, metavar="FILE.csv")
@option("--alpha", "Probability that it stops falsely.", click.FloatRange(0.0001, 0.5), default=0.05)
@seed
@prints_sheets("study.commands.analyses:plan_of")
def plan() -> None:
    """Say which units of the finished run in the folder RUN people should label next, and when to stop.

    The question is whether A is better than B (--better A B), what the mean is (--width W), or else whether
    the judge may replace a person.
    Units are drawn with known probabilities, more often where the judge is in doubt, so that the corrected
    answer is unbiased. plan.csv in RUN has their order: `metaeval golden label --only` takes it, and its page
    stops when the question is decided. With labels, it is said here; one may ask after each label.
    """


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
    from metaeval.study.commands.analyses import show_in_report
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
    from metaeval.study.commands.analyses import show_in_report
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
