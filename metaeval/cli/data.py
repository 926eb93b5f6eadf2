"""``metaeval data``: get, import and check data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group, begin, talk, tell, tell_json
from metaeval.cli.imports import import_
from metaeval.cli.options import (
    PATH,
    PLACE,
    force,
    out_folder,
    propensity_source,
    refits,
    resampled,
    rising,
    seed,
)
from metaeval.cli.sheets import Sheets, prints_sheets

if TYPE_CHECKING:
    from metaeval.kinds.explanations.data.recorded import ScoreImport
    from metaeval.kinds.files.loading import Inspection

_TOOLS = ("promptfoo", "inspect", "table")
_BINS = ("popularity", "age", "price", "category")
_MATCH = (
    "What the items of a pair have in common: popularity, age, price, category.  [default: popularity,age]"
)
_as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(cls=Group)
def data() -> None:
    """Get, import and check data sets."""


@data.group(cls=Group)
def fetch() -> None:
    """Download a public study, pinned by commit and SHA-256, and import it."""


@fetch.command("recexp")
@out_folder
@force
def fetch_recexp(out: Path, force: bool) -> None:
    """Fetch the explanation study of RecSys 2024."""
    from metaeval.kinds.explanations.data.studies.recexp import fetch_recexp as run
    from metaeval.kinds.files.loading import summary

    click.echo(summary(run(out, force=force)))


data.add_command(import_)


@data.command("add-scores")
@click.argument("folder", type=PLACE)
@click.argument("file", type=PLACE)
@click.option(
    "--from", "tool", required=True, type=click.Choice(_TOOLS), help="The tool that wrote FILE; else table."
)
@click.option(
    "--map", "map_file", type=PATH, help="YAML file that maps the names in FILE to those of the data set."
)
@click.option("--evaluator", help="Evaluator's name, or a template such as '{provider} {prompt}'.")
@click.option("--out", type=PATH, help="Write a new data set there; do not change FOLDER.")
@click.option("--replace", is_flag=True, help="Replace evaluators that exist already.")
@force
@_as_json
def add_scores(folder: str, file: str, *, as_json: bool, **options: Any) -> None:
    """Add another tool's scores in FILE to the data set FOLDER, as Recorded('name')."""
    from metaeval.kinds.explanations.data.recorded import import_scores

    _tell(import_scores(folder, file, **options), as_json=as_json)


@data.command("read-replies")
@click.argument("file", type=PATH)
@click.option("--column", required=True, help="Column with the replies.")
@click.option("--aspect", help="Aspect that all replies rate.")
@click.option("--aspect-column", metavar="COLUMN", help="Column with the aspect of each reply.")
@click.option(
    "--scale",
    required=True,
    callback=rising(float, "two rising numbers, such as 1:5"),
    metavar="MIN:MAX",
    help="The lowest and the highest score, such as 1:5.",
)
@click.option("--integer", is_flag=True, help="Only whole numbers were asked for.")
@click.option("--out", type=PATH, required=True, help="The file to write: .csv, .parquet or .jsonl.")
@talk
def read_replies(file: Path, *, aspect: str | None, aspect_column: str | None, out: Path, **how: Any) -> None:
    """Read scores from recorded replies of models, one per row of FILE (CSV, TSV, JSONL, Parquet)."""
    if (aspect is None) == (aspect_column is None):
        raise click.UsageError("give either --aspect or --aspect-column")
    begin()
    from metaeval.sources.replies import read_replies as run
    from metaeval.sources.replies import read_reply_table
    from metaeval.study.steps import check_writable, write_frame

    check_writable(out)
    found = run(read_reply_table(file), aspect=aspect, aspect_column=aspect_column, **how)
    write_frame(found, out)
    statuses = {str(status): int(n) for status, n in found["status"].value_counts().items()}
    told = [counted(len(found), "reply"), *(f"{n:,} {status}" for status, n in statuses.items())]
    tell(f"{out}: {', '.join(told)}")
    tell_json({"file": str(out), "replies": len(found), "statuses": statuses})


@data.command()
@click.argument("folder", type=PATH)
@_as_json
def check(folder: Path, as_json: bool) -> None:
    """Check the data set FOLDER, row by row; exit with 1 if anything is wrong."""
    from metaeval.kinds.files.loading import inspect

    found = inspect(folder)
    _tell(found, as_json=as_json)
    raise SystemExit(1 if found.problems else 0)


@data.command()
@click.argument("folder", metavar="DIR", type=PLACE)
@prints_sheets()
def show(folder: str) -> Sheets:
    """Show what the data set DIR holds: counts, aspects, raters, texts, recorded scores, its first unit."""
    from metaeval.study.commands.overview import data_sheets

    return data_sheets(folder)


@data.command()
@click.argument("folder", metavar="DIR", type=PATH)
@propensity_source
@refits
@resampled(2_000)
@prints_sheets()
def overlap(folder: Path, *, source: str | None, refits: int, resamples: int, seed: int) -> Sheets:
    """Report how far the log DIR covers all items: propensities, weights and balance, by bin."""
    from metaeval.kinds.exposure.propensity.options import PropensityOptions
    from metaeval.kinds.exposure.propensity.report import overlap_report

    options = PropensityOptions.model_validate({"source": source, "refits": refits, "seed": seed})
    return overlap_report(folder, options, resamples=resamples, seed=seed)


def _names(context: click.Context, parameter: click.Parameter, given: str | None) -> list[str] | None:
    """Return names given with commas between them; each is one of ``_BINS``, and none comes twice."""
    names = None if given is None else [name.strip() for name in given.split(",")]
    for name in names or ():
        if name not in _BINS or (names or []).count(name) > 1:
            message = f"{given!r} is not a list of some of {', '.join(_BINS)}, with commas"
            raise click.BadParameter(message, context, parameter)
    return names


@data.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option("--match", metavar="BIN,BIN", callback=_names, help=_MATCH)
@click.option(
    "--per-user", type=click.IntRange(1), default=10, show_default=True, help="Most pairs per user."
)
@propensity_source
@click.option(
    "--floor",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="Smallest propensity in weights of pairs.",
)
@seed
@force
@talk
def pairs(folder: Path, *, source: str | None, floor: float, seed: int, **how: Any) -> None:
    """Pair items of each user in the log DIR that share bins and differ in their outcomes."""
    begin()
    from metaeval.kinds.exposure.pairs_command import make_pairs
    from metaeval.kinds.exposure.propensity.options import PropensityOptions

    options = PropensityOptions.model_validate({"source": source, "floor": floor, "seed": seed})
    found = make_pairs(folder, seed=seed, propensity=options, **how)
    for line in found.lines():
        tell(line)
    tell_json({"pairs": len(found.frame), "items": found.items, "unmatched": found.unmatched._asdict()})


def _tell(found: ScoreImport | Inspection, *, as_json: bool) -> None:
    for line in [json.dumps(found.to_dict(), ensure_ascii=False)] if as_json else found.lines():
        click.echo(line)
