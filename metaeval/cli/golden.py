"""``metaeval golden``: a small set of every kind of case, for people to label."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group, is_on, talk, tell, tell_json, tell_label_page
from metaeval.cli.options import PATH, PLACE, seed, served, several

_asked = several("--aspect", "aspects", help="Aspect to ask for.  [default: all]")
_rater = click.option("--rater", required=True, metavar="NAME", help="Name of the person who labels.")


@click.group(cls=Group)
def golden() -> None:
    """Draw a golden set, and have people label it in a browser or a spreadsheet."""


@golden.command()
@click.argument("data", metavar="DATA", type=PLACE)
@click.option("--n", type=click.IntRange(1), default=200, show_default=True, help="Number of units to draw.")
@click.option(
    "--by",
    default="generator",
    show_default=True,
    metavar="COLUMN,…",
    help="Columns of explanations or users; each combination of their values is a stratum.",
)
@click.option(
    "--equal", is_flag=True, help="Draw equally many units of each stratum, instead of proportionally."
)
@seed
@click.option("--out", type=PATH, required=True, help="Data-set folder to write.")
@click.option("--format", "suffix", type=click.Choice(["csv", "parquet", "jsonl"]), default="csv")
@click.option("--force", is_flag=True, help="Replace an existing data set.")
@talk
def sample(data: str, *, n: int, by: str, out: Path, **options: Any) -> None:
    """Draw a stratified sample of the data set DATA as a new data set; every stratum is covered."""
    from metaeval.trust.labelling.golden import write_sample

    columns = [c.strip() for c in by.split(",") if c.strip()]
    made = write_sample(data, n, columns, out, **options)
    for line in made.lines():
        tell(line)
    tell(f"{out}\nNext: metaeval golden label {shlex.quote(str(out))} --rater NAME")
    for warning in made.warnings:
        click.echo(f"metaeval: {warning}", err=True)
    tell_json(made.to_dict())


@golden.command()
@click.argument("folder", metavar="SET", type=PATH)
@_rater
@_asked
@click.option("--rubric", metavar="PROMPT", help="Show the questions and anchors of this prompt, or file.")
@click.option(
    "--pairs", is_flag=True, help="Show two explanations of the same item for the same user: which is better?"
)
@served
@talk
def label(folder: Path, *, port: int, no_browser: bool, **options: Any) -> None:
    """Label the units of the data set SET, of any kind, in a browser; end with Ctrl-C.

    Only this computer can see the page. Each label is saved before the next unit is shown. The same command
    continues where you stopped.
    """
    from metaeval.runs.labeller import label_units
    from metaeval.trust.labelling.label_set import label_set

    session = label_set(folder, **options)
    if n := session.from_elsewhere:
        said = f"{session.rater!r} has {counted(n, 'label')} in {folder} that nobody gave on this page"
        if not (sys.stdin.isatty() and click.confirm(f"{said}. Change them?", err=is_on("json"))):
            raise click.UsageError(f"{said}; choose another --rater")

    label_units(session, port=port, browser=not no_browser, ready=partial(tell_label_page, folder))
    tell(session.line())


@golden.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.argument("file", metavar="LABELS.csv", type=PATH)
@_rater
@_asked
@several("--show", "show", metavar="COLUMN", help="Show this column of the explanations too.")
@click.option("--blind", is_flag=True, help="Hide the generators, and shuffle the rows.")
@click.option(
    "--separator", type=click.Choice(["comma", "semicolon", "tab"]), default="comma", show_default=True
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@talk
def export(folder: Path, file: Path, *, aspects: tuple[str, ...], **options: Any) -> None:
    """Write a table of the data set DIR to label in a spreadsheet, one row per unit."""
    from metaeval.trust.labelling.golden_files import export_labels

    data = export_labels(folder, file, aspects=aspects, **options)
    asked = {a: s for a, s in data.aspects.items() if not aspects or a in aspects}
    tell(
        f"{file}: {counted(len(data), 'unit')} to label with {data.scale}; "
        "leave a cell empty where you cannot say"
    )
    for aspect, statement in asked.items():
        tell(f"{aspect}: {statement}")
    tell_json({"file": str(file), "units": len(data), "aspects": asked, "scale": str(data.scale)})


@golden.command("import")
@click.argument("folder", metavar="DIR", type=PATH)
@click.argument("file", metavar="LABELS.csv", type=PATH)
@_rater
@click.option("--replace", is_flag=True, help="Replace existing labels that differ.")
@click.option("--out", type=PATH, help="Write a new data set there; do not change DIR.")
@talk
def import_(folder: Path, file: Path, **options: Any) -> None:
    """Add the labels in LABELS.csv to the ratings of the data set DIR."""
    from metaeval.trust.labelling.golden_import import import_labels

    found = import_labels(folder, file, **options)
    for line in found.lines():
        tell(line)
    tell_json(found.to_dict())
