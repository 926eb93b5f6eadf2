"""``metaeval score`` and ``correlate``: the steps of a study alone."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from metaeval.base.counts import counted
from metaeval.base.progress import progress
from metaeval.cli.group import (
    begin,
    end_lost,
    is_on,
    talk,
    tell,
    tell_json,
    tell_simulated,
)
from metaeval.cli.options import PATH, PLACE, allow_failures, seed
from metaeval.cli.sheets import format_option


def _fill(context: click.Context, parameter: click.Parameter, value: str) -> float | str:
    """Read a number to fill in, or ``drop``."""
    if value.strip() == "drop":
        return "drop"
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor drop.", context, parameter) from None


@click.command()
@click.argument("data", type=PLACE)
@click.argument("evaluators", metavar="EVALUATOR...", nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, help="File to write: .csv, .parquet or .jsonl.")
@allow_failures
@talk
def score(data: str, evaluators: tuple[str, ...], out: Path, *, allow_failures: bool) -> None:
    """Score the data set DATA with evaluators, such as "BLEU(n=4)"."""
    begin()
    with progress("metaeval score"):
        from metaeval.judging.lost import lost_sentences
        from metaeval.study.pipeline import counts_of
        from metaeval.study.steps import score_file

        table, lost = score_file(data, evaluators, out)
    tell_simulated(table.simulation)
    tell(f"{counted(len(table), 'score')} of {counted(len(table.evaluators), 'evaluator')}: {out}")
    tell_json(
        {"out": str(out), "rows": len(table), "evaluators": counts_of(table)}
        | ({"lost": [asdict(of) for of in lost]} if lost else {})
    )
    again = shlex.join(["metaeval", "score", data, *evaluators, "--out", str(out)])
    end_lost(lost_sentences(lost, again), allowed=allow_failures)


@click.command()
@click.argument("data", type=PLACE)
@click.argument("scores", type=PATH)
@click.option("--truth", default="User()", show_default=True, help="Evaluator that is the truth.")
@click.option("--levels", help="Some of dataset, user, pair, item, generator, with commas.")
@click.option("--coefficients", help="Some of pearson, spearman, kendall, with commas.")
@click.option("--missing-truth", callback=_fill, default="drop", metavar="VALUE|drop", show_default=True)
@click.option("--missing-score", callback=_fill, default="drop", metavar="VALUE|drop", show_default=True)
@click.option("--undefined-groups", type=click.Choice(["skip", "zero"]), default="skip", show_default=True)
@click.option("--units", type=click.Choice(["common", "own"]), default="common", show_default=True)
@click.option(
    "--resamples",
    type=click.IntRange(0),
    default=10_000,
    show_default=True,
    help="Number of resamples for intervals; 0 for none.",
)
@click.option(
    "--cluster",
    type=click.Choice(["user", "item", "generator", "unit"]),
    help="What is resampled.  [default: user, or item where there are no users]",
)
@click.option(
    "--method",
    type=click.Choice(["percentile", "bca", "jackknife", "bags"]),
    default="percentile",
    show_default=True,
)
@click.option("--confidence", type=float, default=0.95, show_default=True)
@seed
@click.option(
    "--engine",
    type=click.Choice(["auto", "memory", "duckdb"]),
    default="auto",
    show_default=True,
    help="How to read Parquet files: memory, whole; duckdb, piece by piece; auto, duckdb if they are large.",
)
@click.option("--out", type=PATH, help="File to write, instead of printing.")
@format_option("csv")
@talk
def correlate(
    data: str,
    scores: Path,
    *,
    levels: str | None,
    coefficients: str | None,
    missing_truth: float | str,
    missing_score: float | str,
    out: Path | None,
    suffix: str,
    **options: Any,
) -> None:
    """Correlate the scores in SCORES with the truth of the data set DATA.

    SCORES is a file, or a glob or folder of Parquet files, such as
    scores/evaluator=bleu/part-0.parquet. DATA may also be such files, of ratings.
    """
    from metaeval.study.steps import correlate_file, correlations_sheet, records

    begin()
    bootstrap = {key: options.pop(key) for key in ("resamples", "cluster", "method", "confidence", "seed")}
    result = correlate_file(
        data,
        scores,
        levels=_words(levels),
        coefficients=_words(coefficients),
        missing={"truth": missing_truth, "score": missing_score},
        bootstrap=bootstrap if bootstrap["resamples"] else None,
        out=out,
        **options,
    )
    tell_simulated(result.simulation)
    if "engine" in result.policy and not is_on("quiet"):
        click.echo(f"metaeval: engine {result.policy['engine']}", err=True)
    if is_on("json"):
        facts = {**result.simulation.record(), "policy": dict(result.policy)}
        tell_json({**facts, "correlations": records(result.frame)})
    elif out is None and suffix == "csv":
        from metaeval.base.formulas import to_csv

        click.echo(to_csv(result.frame), nl=False)
    elif out is None:
        from metaeval.reports.sheets import render

        click.echo(render([correlations_sheet(result)], suffix), nl=False)
    else:
        tell(f"{counted(len(result), 'correlation')}: {out}")


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]
