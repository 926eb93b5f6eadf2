"""What a notebook shows of a leaderboard: the ranking, and the tables that fit beside it."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from metaeval.base.counts import counted
from metaeval.base.notebook import heading
from metaeval.reports import words
from metaeval.reports.html_page import to_html

if TYPE_CHECKING:
    from metaeval.engine.standings import Block, Standings, StandingsTable

ROWS = 60
"""Rows that are shown at most, over all tables."""


def board_html(board: Standings) -> str:
    """Return a leaderboard as HTML of at most `ROWS` rows; what is left out is said below."""
    left, ranking, out = ROWS, board.ranking, []
    if ranking is not None:
        if len(ranking.frame) > left:
            out.append(f"{counted(len(ranking.frame) - left, 'evaluator')} of the ranking")
            ranking = replace(ranking, frame=ranking.frame.head(left))
        left -= len(ranking.frame)
    tables = []
    for table in board.tables:
        cut = _cut(table, left)
        left -= len(cut.rows)
        missing = len(table.rows) - len(cut.rows)
        if cut.rows:
            tables.append(cut)
        if missing:
            which = f"{counted(missing, 'evaluator')} of the table" if cut.rows else "the table"
            out.append(f"{which} of {words.coefficient(table)}")
    html = to_html(replace(board, ranking=ranking, tables=tuple(tables)))
    said = "" if tables else "".join(f"<p>{escape(sentence)}</p>" for sentence in board.policy)
    more = f"<p>Left out here: {'; '.join(out)}. <code>.to_html()</code> has all.</p>" if out else ""
    return f"{heading(words.heading(board), {})}{html}{said}{more}"


def _cut(table: StandingsTable, rows: int) -> StandingsTable:
    """Return a table with its first rows, block after block."""
    blocks: list[Block] = []
    for block in table.blocks:
        kept = block.rows[: max(0, rows)]
        rows -= len(kept)
        if kept:
            blocks.append(replace(block, rows=kept))
    return replace(table, blocks=tuple(blocks))
