"""``metaeval verdicts`` and ``metaeval pairwise``: verdicts on pairs, recorded or of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group, end_unread, talk, tell, tell_json, warn
from metaeval.cli.options import PATH, option, resampled, several
from metaeval.cli.sheets import prints_sheets

if TYPE_CHECKING:
    from metaeval.sources.verdicts import WinnerOf

_map = option("--map map_path", "YAML file: what each column and word of FILE means.", PATH)
_winner_of = option(
    "--winner-of",
    "How FILE names winners: by the side that was shown, or by the text. Replies: by what was shown.",
    ["shown", "unswapped"],
)


@click.group(cls=Group)
def verdicts() -> None:
    """Import verdicts of other judges on pairs, and compare them with gold preferences."""


@verdicts.command("import")
@click.argument("file", type=PATH)
@option("--map map_file", "YAML file: what each column and word means.", PATH, required=True)
@_winner_of
@option("--out", "File to write (.csv, .parquet or .jsonl).", PATH, required=True)
@talk
def import_(file: Path, *, map_file: Path, winner_of: WinnerOf | None, out: Path) -> None:
    """Import the table FILE (CSV, TSV, JSONL, JSON, Parquet), one row per order of a pair, or per pair."""
    from metaeval.sources.verdicts import import_verdicts
    from metaeval.study.steps import check_writable, write_frame
    from metaeval.study.unread import is_unread, unread_notes

    check_writable(out)
    imported = import_verdicts(file, map_file, winner_of=winner_of)
    write_frame(imported, out)
    missing = int((imported["winner"] == "").sum())
    evaluators = imported["evaluator"].nunique()
    tell(f"{out}: {counted(len(imported), 'verdict')}, {missing:,} of them missing; evaluators: {evaluators}")
    for sentence in unread_notes(imported):
        warn(sentence)
    unread = is_unread(imported).groupby(imported["evaluator"]).mean().to_dict()
    counts = {"verdicts": len(imported), "evaluators": evaluators, "missing": missing, "unread": unread}
    tell_json({"file": str(out), **counts})
    end_unread(unread)


@verdicts.command()
@click.argument("path", metavar="FILE|RUN", type=PATH)
@_map
@_winner_of
@resampled()
@prints_sheets("study.commands.pairwise:coherence_of", unread=True)
def coherence() -> None:
    """Report whether verdicts agree in both orders and when repeated, and have no cycles.

    FILE is a table with its map, or made by `metaeval verdicts import`; RUN is the folder of a run with
    pairwise evaluators, or of kind slates.
    """


@verdicts.command()
@click.argument("path", metavar="FILE|RUN", type=PATH)
@option("--gold", "Others' verdicts to hold them against; of several, what over half say, or a tie.", PATH)
@_map
@_winner_of
@option(
    "--orders",
    "How both orders of a pair count: a net vote, a tie or nothing if they differ, or each by itself.",
    ["net", "tie", "both", "each"],
    default="each",
)
@several("--by by", "Count by this too.  [default: the columns that were kept]", metavar="COLUMN")
@resampled()
@prints_sheets("study.commands.pairwise:accuracy_of", unread=True)
def accuracy() -> None:
    """Hold verdicts against gold preferences, or against the verdicts of people.

    FILE is a table with its map, or made by `metaeval verdicts import`; RUN is the folder of a run with
    pairwise evaluators. What people said with `metaeval golden label SET --pairs` is in SET/verdicts.csv.
    """


@click.command()
@click.argument("path", metavar="RUN|FILE", type=PATH)
@several("--evaluator evaluators", "Pairwise evaluator; may be given again.  [default: all]")
@option(
    "--flips",
    "How a flip counts: half a point for each side, or nothing.  [default: the evaluator's rule]",
    ["tie", "drop"],
)
@resampled(1_000)
@prints_sheets("study.commands.pairwise:pairwise_of")
def pairwise() -> None:
    """Summarise the pairs of the finished run in the folder RUN, and rank its generators.

    In place of RUN, it takes a FILE of verdicts made by `metaeval verdicts import`. Generators are ranked by
    Bradley and Terry's model, Elo and win rate, with intervals.
    """
