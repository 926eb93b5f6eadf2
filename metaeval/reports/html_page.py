"""Leaderboard → HTML: the tables alone, or one page that needs no other file."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.base.simulation import REAL
from metaeval.reports import words
from metaeval.reports.sheets import sheet_to_html
from metaeval.reports.templates import template

if TYPE_CHECKING:
    from metaeval.engine.standings import Standings


def to_html(board: Standings) -> str:
    """Return the tables of a leaderboard as HTML, to be put into a page."""
    ranking = "" if board.ranking is None else sheet_to_html(replace(board.ranking, simulated=REAL))
    return template("tables.html").render(board=board, words=words, ranking=ranking)


def page(board: Standings) -> str:
    """Return one page with the tables, what was done with missing values, and each evaluator's signature."""
    signatures = {
        name: json.dumps(dict(signature), ensure_ascii=False, sort_keys=True, default=str)
        for name, signature in board.signatures.items()
    }
    return template("page.html").render(
        tables=to_html(board), board=board, words=words, signatures=signatures
    )
