"""``metaeval golden``: a small set of every kind of case, for people to label."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group
from metaeval.cli.messages import is_on, show, talk, tell, tell_json, tell_pages
from metaeval.cli.options import PATH, PLACE, flag, option, seed, served, several

if TYPE_CHECKING:
    from metaeval.data.manifest import Format

_asked = several("--aspect aspects", "Aspect to ask for.  [default: all]")
_rater = option("--rater", "Name of the person who labels.", required=True, metavar="NAME")


@click.group(cls=Group)
def golden() -> None:
    """Draw a golden set, and have people label it in a browser or a spreadsheet."""


@golden.command()
@click.argument("data", metavar="DATA", type=PLACE)
@option("--n", "Number of units to draw.", click.IntRange(1), default=200)
@option(
    "--by",
    "Columns of explanations or users; each combination of their values is a stratum.  [default: generator; "
    "with --pairs: first,second]",
    metavar="COLUMN,…",
)
@flag("--pairs", "Draw pairs: two explanations of the same item for the same user, by different generators.")
@option(
    "--repeat",
    "Share of the units that each rater is asked again, a day after the others.",
    click.FloatRange(0, 1),
    default=0.0,
    show_default=False,
    metavar="SHARE",
)
@flag("--equal", "Draw equally many units of each stratum, instead of proportionally.")
@seed
@option("--out", "Data-set folder to write.", PATH, required=True)
@option("--format suffix", "", ["csv", "parquet", "jsonl"], default="csv", show_default=False)
@flag("--force", "Replace an existing data set.")
@talk
def sample(
    data: str, *, n: int, by: str | None, pairs: bool, out: Path, suffix: Format, force: bool, **options: Any
) -> None:
    """Draw a stratified sample of the data set DATA as a new data set; every stratum is covered."""
    from metaeval.kinds.explanations.data.loading import load, save
    from metaeval.trust.labelling import golden as sets

    by = ("first,second" if pairs else "generator") if by is None else by
    columns = [c.strip() for c in by.split(",") if c.strip()]
    made = sets.sample(load(data), n, columns, pairs=pairs, **options)
    save(made.data, out, suffix, force=force)
    for line in made.lines():
        tell(line)
    more = " --pairs" * pairs
    tell(f"{out}\nNext: metaeval golden label {shlex.quote(str(out))} --rater NAME{more}")
    for warning in made.warnings:
        show(f"metaeval: {warning}", err=True)
    tell_json(made.to_dict())


@golden.command()
@click.argument("folder", metavar="SET", type=PATH)
@several(
    "--rater raters", "Name of a person who labels; each gets an address.", required=True, metavar="NAME"
)
@option("--overlap", "How many of the raters label each unit.  [default: all]", click.IntRange(1))
@_asked
@option("--rubric", "Show the questions and anchors of this prompt, or file.", metavar="PROMPT")
@flag("--pairs", "Show two explanations of the same item for the same user: which is better?")
@option("--only", "Label only the units of this table, such as a run's route.csv.", PATH, metavar="FILE.csv")
@option("--host", "Name or address at which other computers open the page.", metavar="HOST")
@option("--certificate", "Certificate and key for --host (PEM).", PATH, metavar="FILE")
@served
@talk
def label(
    folder: Path,
    *,
    raters: tuple[str, ...],
    no_browser: bool,
    port: int,
    host: str | None,
    certificate: Path | None,
    **options: Any,
) -> None:
    """Label the units of the data set SET, of any kind, in a browser; end with Ctrl-C.

    Without --host only this computer can see the page. Each label is saved before the next unit is shown. The
    same command continues where you stopped.
    """
    from metaeval.data.folder import set_in
    from metaeval.trust.labelling.pages import label_sets, label_units
    from metaeval.trust.labelling.raters import failed_text

    sessions = label_sets(folder, raters, **options)
    for session in sessions:
        if not (n := session.from_elsewhere):
            continue
        warning = f"{session.rater!r} has {counted(n, 'label')} in {folder} that nobody gave on this page"
        if not (sys.stdin.isatty() and click.confirm(f"{warning}. Change them?", err=is_on("json"))):
            raise click.UsageError(f"{warning}; choose another --rater")

    served_at = {"port": port, "host": host, "certificate": certificate}
    label_units(*sessions, browser=not no_browser, ready=partial(tell_pages, folder, raters), **served_at)
    for session in sessions:
        tell(session.line())
        with session.still() as labels:
            failed = failed_text(session.right, labels)
        if failed:
            tell(f"attention items of {session.rater!r}: {failed}")
    if sessions[0].data.kind == "explanations" and not options["only"] and any(s.n_labels for s in sessions):
        study, place = folder / "study.yaml", set_in(folder)
        step = ("run", study) if study.is_file() else ("init", place)
        command, at = ("pairwise", place / "verdicts.csv") if options["pairs"] else step
        tell(f"Next: metaeval {command} {shlex.quote(str(at))}")


@golden.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.argument("file", metavar="LABELS.csv", type=PATH)
@_rater
@_asked
@several("--show show", "Show this column of the explanations too.", metavar="COLUMN")
@flag("--blind", "Hide the generators, and shuffle the rows.")
@option("--separator", "", ["comma", "semicolon", "tab"], default="comma")
@flag("--force", "Replace an existing file.")
@talk
def export(folder: Path, file: Path, *, aspects: tuple[str, ...], **options: Any) -> None:
    """Write a table of the data set DIR to label in a spreadsheet, one row per unit."""
    from metaeval.trust.labelling.golden_table import export_labels

    data = export_labels(folder, file, aspects=aspects, **options)
    statements = {a: s for a, s in data.aspects.items() if not aspects or a in aspects}
    tell(
        f"{file}: {counted(len(data), 'unit')} to label with {data.scale}; "
        "leave a cell empty where you cannot say"
    )
    for aspect, statement in statements.items():
        tell(f"{aspect}: {statement}")
    tell_json({"file": str(file), "units": len(data), "aspects": statements, "scale": str(data.scale)})


@golden.command("import")
@click.argument("folder", metavar="DIR", type=PATH)
@click.argument("file", metavar="LABELS.csv", type=PATH)
@_rater
@flag("--replace", "Replace existing labels that differ.")
@option("--out", "Write a new data set there; do not change DIR.", PATH)
@talk
def import_(folder: Path, file: Path, **options: Any) -> None:
    """Add the labels in LABELS.csv to the ratings of the data set DIR."""
    from metaeval.trust.labelling.golden_table import import_labels

    labels = import_labels(folder, file, **options)
    for line in labels.lines():
        tell(line)
    tell_json(labels.to_dict())
