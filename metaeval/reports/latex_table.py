r"""Leaderboard → LaTeX: ``table*`` environments with booktabs rules, to be put into a paper by ``\input``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.leaderboard import Mark
from metaeval.reports import escapes, words
from metaeval.reports.sheets import latex_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.leaderboard import Row, Standings, Table, Value

_ROWS_A_PAGE = 45
_MARKS = {Mark.NONE: "{}", Mark.BEST: r"\textbf{{{}}}", Mark.SECOND: r"\underline{{{}}}"}


def to_latex(board: Standings) -> str:
    """Return a leaderboard as LaTeX, a table a coefficient; a long one goes on in further tables."""
    lines = [
        r"% Needs \usepackage{booktabs,graphicx,textcomp} and \usepackage[T1]{fontenc};",
        "% names in other scripts than Latin need XeLaTeX or LuaLaTeX with a font that has them.",
    ]
    if board.simulated:
        lines.append("% SIMULATED DATA.")
    if board.ranking is not None:
        lines += latex_tables(board.ranking)
    for table in board.tables:
        lines += _tables(board, table)
    return "\n".join(lines) + "\n"


def _tables(board: Standings, table: Table) -> Iterator[str]:
    columns = 1 + len(table.aspects) + len(table.count_columns)
    head = ["Evaluator", *table.aspects, *table.count_columns]
    pages = list(_pages(table, columns))
    for number, page in enumerate(pages):
        yield ""
        yield r"\begin{table*}"
        yield r"  \centering"
        yield f"  \\caption{{{_caption(board, table, number)}}}"
        if number == 0:
            yield f"  \\label{{tab:leaderboard-{table.coefficient}}}"
        else:
            yield r"  \addtocounter{table}{-1}"
        yield r"  \resizebox{\textwidth}{!}{%"
        yield f"  \\begin{{tabular}}{{l{'r' * (columns - 1)}}}"
        yield r"    \toprule"
        yield f"    {' & '.join(map(escapes.latex, head))} \\\\"
        yield from page
        yield r"    \bottomrule"
        yield r"  \end{tabular}}"
        yield r"\end{table*}"


def _pages(table: Table, columns: int) -> Iterator[list[str]]:
    """Yield the body lines of one table after the other."""
    page: list[str] = []
    room = _ROWS_A_PAGE
    for block in table.blocks:
        title = [
            r"    \midrule",
            f"    \\multicolumn{{{columns}}}{{l}}{{\\textit{{{words.BLOCKS[block.kind]}}}}} \\\\",
        ]
        page += title
        for row in block.rows:
            if room == 0:
                yield page
                page, room = list(title), _ROWS_A_PAGE
            page.append(f"    {' & '.join(_row(row))} \\\\")
            room -= 1
        if room == 0:
            yield page
            page, room = [], _ROWS_A_PAGE
    if page:
        yield page


def _row(row: Row) -> list[str]:
    cells = [" / ".join(map(_value, cell)) for cell in row.cells]
    return [escapes.latex(row.label), *cells, *map(escapes.latex, row.counts)]


def _value(value: Value) -> str:
    return _MARKS[value.mark].format(value.text.replace("-", "$-$") or "---")


def _caption(board: Standings, table: Table, number: int) -> str:
    loud = r"\textbf{SIMULATED DATA.} " if board.simulated else ""
    if number:
        return f"{loud}{escapes.latex(words.coefficient(table))} (continued)."
    told = f" {words.SIMULATED}" if board.simulated else ""
    return loud + escapes.latex(" ".join(words.caption(board, table)) + told)
