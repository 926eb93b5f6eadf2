"""Leaderboard → Markdown, as GitHub shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metaeval.leaderboard import Mark
from metaeval.reports import words

if TYPE_CHECKING:
    from metaeval.leaderboard import Row, Standings, Table, Value

_SPECIAL = re.compile(r"([\\`*_{}\[\]|~#$])")
_MARKS = {Mark.NONE: "{}", Mark.BEST: "**{}**", Mark.SECOND: "<u>{}</u>"}


def to_markdown(board: Standings) -> str:
    """Return a leaderboard as Markdown, a section a coefficient."""
    parts = [f"# {escape(words.heading(board))}"]
    if board.simulated:
        parts.append(f"> **SIMULATED DATA.** {words.SIMULATED}")
    for table in board.tables:
        parts.append(f"## {escape(words.coefficient(table))}")
        parts.append(_table(table))
        parts.append(" ".join(map(escape, words.caption(board, table))))
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is, in a table too."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)


def _table(table: Table) -> str:
    head = ["Evaluator", *map(escape, table.aspects), *map(escape, table.count_columns)]
    lines = [_line(head), _line([":---"] + ["---:"] * (len(head) - 1))]
    for block in table.blocks:
        lines.append(_line([f"*{words.BLOCKS[block.kind]}*", *[""] * (len(head) - 1)]))
        lines += [_line(_row(row)) for row in block.rows]
    return "\n".join(lines)


def _row(row: Row) -> list[str]:
    return [escape(row.label), *(" / ".join(map(_value, cell)) for cell in row.cells), *row.counts]


def _value(value: Value) -> str:
    return _MARKS[value.mark].format(value.text or words.NOTHING)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
