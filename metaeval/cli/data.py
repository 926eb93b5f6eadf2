"""``metaeval data``: get, import and check data sets."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import begin, talk, tell, tell_json
from metaeval.cli.options import PATH, several

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.kinds.explanations.data.recorded import ScoreImport
    from metaeval.kinds.files.loading import Inspection

_TOOLS = ("promptfoo", "inspect", "table")
_out = click.option("--out", type=PATH, required=True, help="The data-set folder to write.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_force = click.option("--force", is_flag=True, help="Replace a data set that is there.")


def _scale(number: Callable[[str], float], what: str) -> Callable[..., tuple[float, float]]:
    """Return what reads two rising numbers, such as ``0:3``."""

    def read(context: click.Context, parameter: click.Parameter, text: str) -> tuple[float, float]:
        low, _, high = text.partition(":")
        try:
            ends = float(number(low)), float(number(high))
        except (ValueError, OverflowError):
            ends = 0.0, 0.0
        if not -math.inf < ends[0] < ends[1] < math.inf:
            raise click.BadParameter(f"{text!r} is not {what}", context, parameter)
        return ends

    return read


@click.group()
def data() -> None:
    """Get, import and check data sets."""


@data.group()
def fetch() -> None:
    """Download a public study, pinned by commit and SHA-256, and import it."""


@fetch.command("recexp")
@_out
@_force
def fetch_recexp(out: Path, force: bool) -> None:
    """Fetch the explanation study of RecSys 2024."""
    from metaeval.kinds.explanations.data.studies.recexp import fetch_recexp as run
    from metaeval.kinds.files.loading import summary

    click.echo(summary(run(out, force=force)))


@data.group("import")
def import_() -> None:
    """Make a data set of files you have."""


@import_.command("recexp")
@click.argument("source", type=PATH)
@_out
@_force
def import_recexp(source: Path, out: Path, force: bool) -> None:
    """Import the explanation study of RecSys 2024 from the folder SOURCE of its released files."""
    from metaeval.kinds.explanations.data.studies.recexp import import_recexp as run
    from metaeval.kinds.files.loading import summary

    click.echo(summary(run(source, out, force=force)))


@import_.command("table")
@click.argument("file")
@click.option("--map", "map_file", type=PATH, required=True, help="YAML file: which column is what.")
@_out
@_force
def import_table(file: str, map_file: Path, out: Path, force: bool) -> None:
    """Import FILE (CSV, TSV, JSONL, Parquet, or the name of a hub data set) by a column map."""
    from metaeval.kinds.explanations.data.tables.importer import import_table as run
    from metaeval.kinds.files.loading import summary

    result = run(file, map_file, out, force=force)
    click.echo(f"{summary(result.data)}, {counted(len(result.unmapped), 'column')} not in the map")


@import_.command("qrels")
@click.argument("people", metavar="FILE", type=PATH)
@several("--judges", "judges", help="A judge's file, or a pattern such as 'runs/judge*.txt'; again for more.")
@click.option(
    "--scale",
    required=True,
    callback=_scale(int, "two rising whole numbers, such as 0:3"),
    metavar="MIN:MAX",
    help="Of the labels, such as 0:3.",
)
@click.option("--aspect", default="relevance", show_default=True, help="What was judged.")
@click.option("--name", help="Of the data set.  [default: as FILE is called]")
@_out
@_force
def import_qrels(people: Path, *, out: Path, **options: Any) -> None:
    """Import people's labels from FILE, and judges' labels, in TREC's qrels format."""
    from metaeval.kinds.explanations.data.studies.qrels import import_qrels as run
    from metaeval.kinds.files.loading import summary

    result = run(people, out, **options)
    for line in (summary(result.data), *result.lines()):
        click.echo(line)


@data.command("add-scores")
@click.argument("folder")
@click.argument("file")
@click.option(
    "--from", "tool", required=True, type=click.Choice(_TOOLS), help="The tool that wrote FILE; else table."
)
@click.option("--map", "map_file", type=PATH, help="YAML file: how the names in FILE are called here.")
@click.option("--evaluator", help="Name of the evaluator, or a template such as '{provider} {prompt}'.")
@click.option("--out", type=PATH, help="Write a new data set there, and leave FOLDER as it is.")
@click.option("--replace", is_flag=True, help="Replace an evaluator that is there already.")
@_force
@_as_json
def add_scores(folder: str, file: str, *, as_json: bool, **options: Any) -> None:
    """Add the scores in FILE, which another tool wrote, to the data set FOLDER: as Recorded('name')."""
    from metaeval.kinds.explanations.data.recorded import import_scores

    _tell(import_scores(folder, file, **options), as_json=as_json)


@data.command("read-replies")
@click.argument("file", type=PATH)
@click.option("--column", required=True, help="The column that holds the replies.")
@click.option("--aspect", help="What all replies rate.")
@click.option("--aspect-column", metavar="COLUMN", help="The column that says what each reply rates.")
@click.option(
    "--scale",
    required=True,
    callback=_scale(float, "two rising numbers, such as 1:5"),
    metavar="MIN:MAX",
    help="The lowest and the highest score, such as 1:5.",
)
@click.option("--integer", is_flag=True, help="Only whole numbers were asked for.")
@click.option("--out", type=PATH, required=True, help="The file to write: .csv, .parquet or .jsonl.")
@talk
def read_replies(file: Path, *, aspect: str | None, aspect_column: str | None, out: Path, **how: Any) -> None:
    """Read the scores in recorded replies of models, one per row of FILE (CSV, TSV, JSONL, Parquet)."""
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
    """Say what is wrong with the data set FOLDER, row by row; exit with 1 if anything is."""
    from metaeval.kinds.files.loading import inspect

    found = inspect(folder)
    _tell(found, as_json=as_json)
    raise SystemExit(1 if found.problems else 0)


def _tell(found: ScoreImport | Inspection, *, as_json: bool) -> None:
    for line in [json.dumps(found.to_dict(), ensure_ascii=False)] if as_json else found.lines():
        click.echo(line)
