"""``metaeval calibrate``: whether judges agree with people, and whether they are what was calibrated."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk, tell_lost
from metaeval.cli.sheets import sheet_options, tell_sheets

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folder", metavar="RUN|DATA", type=_PATH)
@click.option(
    "--evaluator", "evaluators", multiple=True, metavar="NAME", help="This one only; may be given again."
)
@click.option("--aspect", "aspects", multiple=True, help="This aspect only; may be given again.")
@click.option("--by", metavar="COLUMN", help="Also in each value of a column of the units or users.")
@click.option(
    "--cut",
    "cuts",
    multiple=True,
    type=float,
    help="A label of this or more is a pass; the verdict is by kappa of pass and fail. May be given again.",
)
@click.option("--bands", default="0.4,0.6", show_default=True, help="Where the verdicts change.")
@click.option("--measure", help="What the verdict is by: kappa, linear, quadratic, alpha, spearman, kendall.")
@click.option("--truth", help="Of a data set: who is right.  [default: User(), or the only annotator]")
@click.option("--data", metavar="DIR", help="Where the run's data set lies, if not where its study says.")
@click.option(
    "--check", metavar="CALIBRATION", type=_PATH, help="See whether RUN's judges are those of a file or run."
)
@click.option("--save", type=_PATH, help="The calibration file to write.  [default: calibration.json in RUN]")
@click.option("--resamples", type=click.IntRange(1), help="[default: as the run has it, else 10000]")
@click.option("--seed", type=click.IntRange(0), help="[default: as the run has it, else 0]")
@sheet_options
@talk
def calibrate(
    folder: Path,
    *,
    evaluators: tuple[str, ...],
    aspects: tuple[str, ...],
    by: str | None,
    cuts: tuple[float, ...],
    bands: str,
    measure: str | None,
    truth: str | None,
    data: str | None,
    check: Path | None,
    save: Path | None,
    resamples: int | None,
    seed: int | None,
    suffix: str,
    out: Path | None,
) -> None:
    """Measure how far the evaluators of a finished run, or of a data set of labels, agree with people.

    Kappa of labels and coefficients of scores with intervals, a verdict in words, confusion tables, and maps
    to people's scale. A run keeps its calibration: it holds until the model, the prompt, the rubric or the
    parser of a judge changes. With --check that is seen to, and the exit code is 1 if one is uncalibrated.
    """
    from metaeval.study.commands.calibration import calibration_of, state_sheets
    from metaeval.study.commands.labels import Calibrating

    begin()
    if check is not None:
        if any((aspects, by, cuts, measure, truth, data, save, resamples is not None, seed is not None)):
            raise click.UsageError("--check calibrates nothing; beside it, give --evaluator at most")
        sheets, whole = state_sheets(folder, check, only=evaluators)
        tell_sheets(sheets, suffix, out)
        tell_lost(folder)
        raise SystemExit(0 if whole else 1)
    how = Calibrating(
        evaluators=evaluators,
        aspects=aspects,
        by=by,
        cuts=cuts,
        bands=bands,
        measure=measure,
        truth=truth,
        data=data,
        resamples=resamples,
        seed=seed,
    )
    tell_sheets(calibration_of(folder, how, save=save), suffix, out)
    tell_lost(folder)
