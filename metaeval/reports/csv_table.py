"""Leaderboard → CSV: the numbers as printed, for a spreadsheet; ``correlations.csv`` has every digit."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from metaeval.base.formulas import safe

if TYPE_CHECKING:
    from metaeval.engine.standings import Standings


def to_csv(board: Standings) -> str:
    """Return a leaderboard as CSV: a row an evaluator and coefficient, a column an aspect and level."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = list(
        dict.fromkeys((a, v) for table in board.tables for a in table.aspects for v in table.levels)
    )
    counts = list(dict.fromkeys(name for table in board.tables for name in table.count_columns))
    note = ["simulated"] if board.simulated else []
    writer.writerow(
        map(safe, ["coefficient", "block", "evaluator", *(f"{a} {v}" for a, v in columns), *counts, *note])
    )
    for table in board.tables:
        places = [(a, v) for a in table.aspects for v in table.levels]
        for block in table.blocks:
            for row in block.rows:
                values = dict(zip(places, (v.text for cell in row.cells for v in cell), strict=True))
                counted = dict(zip(table.count_columns, row.counts, strict=True))
                cells = [
                    table.coefficient,
                    block.kind,
                    row.evaluator,
                    *(values.get(c, "") for c in columns),
                    *(counted.get(c, "") for c in counts),
                    *([row.simulated.what] if note else []),
                ]
                writer.writerow(map(safe, cells))
    return out.getvalue()
