"""Leaderboard → Markdown, as GitHub shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.base.simulation import REAL
from metaeval.engine.standings import Mark
from metaeval.reports import escapes, words
from metaeval.reports.sheets import sheet_to_markdown

if TYPE_CHECKING:
    from metaeval.engine.standings import Row, Standings, StandingsTable, Value

_MARKS = {Mark.NONE: "{}", Mark.BEST: "**{}**", Mark.SECOND: "<u>{}</u>"}


def to_markdown(board: Standings) -> str:
    """Return a leaderboard as Markdown, a section a coefficient."""
    parts = [f"# {escapes.markdown(words.heading(board))}"]
    if board.simulated:
        parts.append(f"> **{board.simulated.loud}** {escapes.markdown(board.simulated.sentence)}")
    if board.lost:
        parts.append(words.notice(board.lost).rstrip())
    if board.ranking is not None:
        # What is simulated has been said.
        parts.append(sheet_to_markdown(replace(board.ranking, simulated=REAL)).rstrip())
    for table in board.tables:
        parts.append(f"## {escapes.markdown(words.coefficient(table))}")
        parts.append(_table(table))
        parts.append(" ".join(map(escapes.markdown, words.caption(board, table))))
    return "\n\n".join(parts) + "\n"


def _table(table: StandingsTable) -> str:
    head = ["Evaluator", *map(escapes.markdown, table.aspects), *map(escapes.markdown, table.count_columns)]
    lines = [_line(head), _line([":---"] + ["---:"] * (len(head) - 1))]
    for block in table.blocks:
        lines.append(_line([f"*{words.BLOCKS[block.kind]}*", *[""] * (len(head) - 1)]))
        lines += [_line(_row(row)) for row in block.rows]
    return "\n".join(lines)


def _row(row: Row) -> list[str]:
    return [escapes.markdown(row.label), *(" / ".join(map(_value, cell)) for cell in row.cells), *row.counts]


def _value(value: Value) -> str:
    return _MARKS[value.mark].format(value.text or words.NOTHING)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
