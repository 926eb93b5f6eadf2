"""``metaeval verdicts``: recorded verdicts of other judges on pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group, talk, tell, tell_json
from metaeval.cli.options import PATH, resampled, several
from metaeval.cli.sheets import Sheets, prints_sheets

if TYPE_CHECKING:
    from metaeval.sources.verdicts import WinnerOf


@click.group(cls=Group)
def verdicts() -> None:
    """Import verdicts of other judges on pairs, and compare them with gold preferences."""


@verdicts.command("import")
@click.argument("file", type=PATH)
@click.option(
    "--map", "map_file", type=PATH, required=True, help="YAML file: what each column and word means."
)
@click.option(
    "--winner-of",
    type=click.Choice(["shown", "unswapped"]),
    required=True,
    help="How FILE names winners: by the side that was shown, or by the text.",
)
@click.option("--out", type=PATH, required=True, help="File to write (.csv, .parquet or .jsonl).")
@talk
def import_(file: Path, *, map_file: Path, winner_of: WinnerOf, out: Path) -> None:
    """Import the table FILE (CSV, TSV, JSONL, Parquet), one row per order of a pair."""
    from metaeval.sources.verdicts import import_verdicts
    from metaeval.study.steps import check_writable, write_frame

    check_writable(out)
    found = import_verdicts(file, map_file, winner_of=winner_of)
    write_frame(found, out)
    missing = int((found["winner"] == "").sum())
    evaluators = found["evaluator"].nunique()
    tell(f"{out}: {counted(len(found), 'verdict')}, {missing:,} of them missing; evaluators: {evaluators}")
    tell_json({"file": str(out), "verdicts": len(found), "evaluators": evaluators, "missing": missing})


@verdicts.command()
@click.argument("path", metavar="FILE|RUN", type=PATH)
@click.option("--map", "map_file", type=PATH, help="YAML file: what each column means; needed for a FILE.")
@resampled()
@prints_sheets()
def coherence(path: Path, *, map_file: Path | None, resamples: int, seed: int) -> Sheets:
    """Report whether verdicts agree in both orders and when repeated, and have no cycles.

    FILE is a table with one row per verdict; RUN is the folder of a run with pairwise evaluators, or of kind
    slates.
    """
    from metaeval.study.commands.pairwise import coherence_of

    return [coherence_of(path, map_file, resamples=resamples, seed=seed)]


@verdicts.command()
@click.argument("path", metavar="FILE|RUN", type=PATH)
@click.option(
    "--gold",
    type=PATH,
    help="Others' verdicts to hold them against; of several, what over half say, or a tie.",
)
@several("--by", "by", metavar="COLUMN", help="Count by this too.  [default: the columns that were kept]")
@resampled()
@prints_sheets()
def accuracy(path: Path, **options: Any) -> Sheets:
    """Hold verdicts against gold preferences, or against the verdicts of people.

    FILE is made by `metaeval verdicts import`; RUN is the folder of a run with pairwise evaluators. What
    people said with `metaeval golden label SET --pairs` is in SET/verdicts.csv.
    """
    from metaeval.study.commands.pairwise import accuracy_of

    return [accuracy_of(path, **options)]
