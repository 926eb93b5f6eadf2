"""``metaeval verdicts`` and ``metaeval pairwise``: verdicts on pairs, recorded or of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group
from metaeval.cli.messages import end_unread, talk, tell, tell_json, warn
from metaeval.cli.options import PATH, option

if TYPE_CHECKING:
    from metaeval.data.verdicts.verdict_table import WinnerOf

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
    from metaeval.data.verdicts.verdict_table import import_verdicts
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


verdicts.declare("verdicts coherence", "verdicts accuracy")
