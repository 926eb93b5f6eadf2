r"""Leaderboard → LaTeX: ``table*`` environments with booktabs rules, to be put into a paper by ``\input``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.standings import Mark
from metaeval.reports import latex, words
from metaeval.reports.sheets import latex_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.engine.standings import Row, Standings, StandingsTable, Value

_MARKS = {Mark.NONE: "{}", Mark.BEST: r"\textbf{{{}}}", Mark.SECOND: r"\underline{{{}}}"}


def to_latex(board: Standings) -> str:
    """Return a leaderboard as LaTeX, a table a coefficient; a long one goes on in further tables."""
    lines = [*latex.HEAD]
    if board.simulated:
        lines.append(f"% {board.simulated.loud}")
    if board.lost:
        lines.append(f"% {words.LOST}")
    if board.ranking is not None:
        lines += latex_tables(board.ranking, board.name or board.dataset)
    for table in board.tables:
        lines += _tables(board, table)
    return "\n".join(lines) + "\n"


def _tables(board: Standings, table: StandingsTable) -> Iterator[str]:
    columns = 1 + len(table.aspects) + len(table.count_columns)
    head = f"    {' & '.join(map(latex.escaped, ['Evaluator', *table.aspects, *table.count_columns]))} \\\\"
    caption, *notes = words.caption(board, table)
    told = [*([board.simulated.sentence] if board.simulated else []), *board.lost]
    for number, page in enumerate(_pages(table, columns)):
        yield from latex.environment(
            caption=f"{words.coefficient(table)} (continued)." if number else caption,
            label=latex.label_of(board.name or board.dataset, "leaderboard", table.coefficient),
            alignment="l" + "r" * (columns - 1),
            body=[head, *page],
            notes="" if number else " ".join([*notes, *told]),
            continued=number > 0,
            simulated=board.simulated,
        )


def _pages(table: StandingsTable, columns: int) -> Iterator[list[str]]:
    """Yield the body lines of one table after the other."""
    page: list[str] = []
    room = step = latex.rows_a_table(len(table.rows))
    for block in table.blocks:
        title = [
            r"    \midrule",
            f"    \\multicolumn{{{columns}}}{{l}}{{\\textit{{{words.BLOCKS[block.kind]}}}}} \\\\",
        ]
        page += title
        for row in block.rows:
            if room == 0:
                yield page
                page, room = list(title), step
            page.append(f"    {' & '.join(_row(row))} \\\\")
            room -= 1
        if room == 0:
            yield page
            page, room = [], step
    if page:
        yield page


def _row(row: Row) -> list[str]:
    cells = [" / ".join(map(_value, cell)) for cell in row.cells]
    return [latex.escaped(row.label), *cells, *map(latex.escaped, row.counts)]


def _value(value: Value) -> str:
    return _MARKS[value.mark].format(value.text.replace("-", "$-$") or "---")
