"""``metaeval init``: from a table to a study; ``score`` and ``correlate``: the steps of a study alone."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.base.errors import DataError
from metaeval.base.progress import progress
from metaeval.cli.messages import begin, end_lost, is_on, talk, tell, tell_json, tell_simulated
from metaeval.cli.options import PATH, PLACE, allow_failures, flag, option, scale_option, seed, several, words
from metaeval.cli.sheets import format_option
from metaeval.data.proposals.roles import ROLES

if TYPE_CHECKING:
    from metaeval.data.proposals.asking import Answer


def _fill(value: str) -> float | str:
    """Read a number to fill in, or ``drop``."""
    try:
        return "drop" if value.strip() == "drop" else float(value)
    except ValueError:
        raise ValueError(f"{value!r} is neither a number nor drop.") from None


@click.command()
@click.argument("data", type=PLACE)
@click.argument("evaluators", metavar="EVALUATOR...", nargs=-1, required=True)
@option("--out", "File to write: .csv, .parquet or .jsonl.", PATH, required=True)
@allow_failures
@talk
def score(data: str, evaluators: tuple[str, ...], out: Path, *, allow_failures: bool) -> None:
    """Score the data set DATA with evaluators, such as "BLEU(n=4)"."""
    begin()
    with progress("metaeval score"):
        from metaeval.judging.cost import lost_sentences
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
@option("--truth", "Evaluator that is the truth.", default="User()")
@option("--levels", "Some of dataset, user, pair, item, generator, with commas.", read=words)
@option("--coefficients", "Some of pearson, spearman, kendall, with commas.", read=words)
@option("--missing-truth", read=_fill, default="drop", metavar="VALUE|drop")
@option("--missing-score", read=_fill, default="drop", metavar="VALUE|drop")
@option("--undefined-groups", "", ["skip", "zero"], default="skip")
@option("--units", "", ["common", "own"], default="common")
@option("--resamples", "Number of resamples for intervals; 0 for none.", click.IntRange(0), default=10_000)
@option(
    "--cluster",
    "What is resampled.  [default: user, or item where there are no users]",
    ["user", "item", "generator", "unit"],
)
@option("--by", "A column of the data: correlations within each of its values.", metavar="COLUMN")
@option("--method", "", ["percentile", "bca", "jackknife"], default="percentile")
@option("--confidence", "", float, default=0.95)
@seed
@option(
    "--engine",
    "How to read Parquet files: memory, whole; duckdb, piece by piece; auto, duckdb if they are large.",
    ["auto", "memory", "duckdb"],
    default="auto",
)
@option("--out", "File to write, instead of printing.", PATH)
@format_option("csv")
@talk
def correlate(
    data: str,
    scores: Path,
    *,
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
    from metaeval.base.frames import json_rows
    from metaeval.study.steps import correlate_file, correlations_sheet

    begin()
    bootstrap = {key: options.pop(key) for key in ("resamples", "cluster", "method", "confidence", "seed")}
    result = correlate_file(
        data,
        scores,
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
        tell_json({**facts, "correlations": json_rows(result.frame)})
    elif out is None and suffix == "csv":
        from metaeval.base.formulas import to_csv

        click.echo(to_csv(result.frame), nl=False)
    elif out is None:
        from metaeval.reports.sheets import render

        click.echo(render([correlations_sheet(result)], suffix), nl=False)
    else:
        tell(f"{counted(len(result), 'correlation')}: {out}")


def _columns(given: tuple[str, ...]) -> dict[str, str]:
    """Return what columns are said to be, given as ``NAME=ROLE``."""
    from metaeval.data.proposals.roles import read_roles

    return {column: role for text in given for column, role in read_roles(text).items()}


@click.command()
@click.argument("tables", metavar="TABLE...", type=PLACE, nargs=-1, required=True)
@option("--out", "The folder to write.  [default: as the table is called]", PATH)
@flag("--yes -y", "Take what is proposed; ask nothing.")
@several("--column said", f"What a column is: {', '.join(ROLES)}.", read=_columns, metavar="NAME=ROLE")
@option("--split", "Split of a data set on the hub, or sheet of a workbook.")
@several("--aspect aspects", "What people are to rate, where nobody has rated TABLE yet.")
@scale_option("The lowest and the highest rating of --aspect.  [default: 1:5]")
@flag("--force", "Replace the files of an earlier call.")
@talk
def init(
    tables: tuple[str, ...], out: Path | None, *, yes: bool, scale: tuple[float, float] | None, **options: Any
) -> None:
    """Make a study from TABLE, which holds people's ratings of explanations and scores of tools.

    TABLE is a CSV file (any separator and encoding), TSV, XLSX, JSON, JSONL or Parquet, a folder of the
    datasets library, or hf://OWNER/NAME. Writes a map (which column is what), the data set and a study file,
    each with comments, and says how to run it. Of a data set that is there already, it writes the study. With
    --aspect it writes the map and the data set, which people then label. Several tables of the same columns
    are below each other, with the column file; others are joined by the columns that they share.
    """
    from metaeval.evaluators.recorded import Recorded
    from metaeval.study.start import DATA, start

    def ask(question: str, default: str, read: Callable[[str], Answer], proposal: str = "") -> Answer:
        def understood(answer: str) -> Answer:
            try:
                return read(answer)
            except DataError as error:
                raise click.UsageError(str(error)) from error  # click says it, and asks again

        if yes:
            tell(
                f"{question} {default}" if default else "If a column is something else: --column 'NAME=ROLE'"
            )
            return read(default)
        if not sys.stdin.isatty():
            raise click.UsageError(
                "there is no terminal to ask questions on; accept the proposals with --yes"
            )
        likely = default or proposal
        answered: Answer = click.prompt(
            question, default=likely, show_default=bool(likely), value_proc=understood, err=is_on("json")
        )
        return answered

    place = Path(tables[0]).resolve()
    # "data" says nothing of a table, nor of a data set that init itself wrote; the folder around it does.
    name = (place.parent.name if place.stem == DATA else "") or place.stem
    folder = out or Path(f"{name}-study" if place.is_dir() else name)
    if scale and not options["aspects"]:
        raise click.UsageError("--scale is that of --aspect; name what people are to rate, or leave it out")
    made = start(tables, folder, ask=ask, tell=tell, scale=scale or (1, 5), **options)
    for note in made.notes:
        tell(f"Note: {note}")
    tell(f"Wrote {folder}: {made.told}")
    tell(f"Next: {made.following}")
    said = {
        "people": list(made.data.raters),
        "tools": Recorded.found_in(made.data),
        "columns": made.columns,
    }
    tell_json({"folder": str(folder), "units": len(made.data), **said, "notes": made.notes})
