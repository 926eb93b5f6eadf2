"""Typed results → Markdown, LaTeX, CSV and HTML: one renderer per format; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import Simulation
from metaeval.engine.board import Board, Cell
from metaeval.engine.correlation import Correlation, Correlations, correlation_board
from metaeval.engine.paired_tests import Comparisons
from metaeval.engine.ranking import ranking
from metaeval.engine.standings import Order, Standings, standings
from metaeval.reports.leaderboards import FORMATS, Leaderboard

__all__ = ["FORMATS", "Leaderboard", "leaderboard"]


def leaderboard(
    result: Correlations | Board | pd.DataFrame,
    *,
    order: Order = "study",
    coefficients: Sequence[str] | None = None,
    title: str = "",
    dataset: str = "",
    truth: str = "",
    simulated: bool = False,
    signatures: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "",
    by: Cell | Sequence[str] | str | None = None,
    tests: Comparisons | None = None,
    costs: pd.DataFrame | None = None,
    lost: Sequence[str] = (),
) -> Leaderboard:
    """Put results into tables like those of a paper: blocks of evaluators, a column per aspect.

    Parameters
    ----------
    result
        What `metaeval.correlate` returned, or a table with the columns of ``correlations.csv``, which does
        not say how its numbers were made: the leaderboard then says that this is not known. Or the board of
        another kind of study.
    order
        Of the evaluators in a block: ``study``, as they come, or ``estimate``, the best first.
    coefficients
        Those to show, in this order; all, if left out.
    title, dataset, truth, signatures
        What to say of where the numbers come from.
    simulated
        Whether the data are simulated, which is then said in capitals.
    name
        What LaTeX labels begin with, so that two leaderboards can be in one paper; ``dataset``, if left out.
    by, tests, costs
        Of the ranking that comes first: the column that orders it (aspect, level, coefficient), what
        `metaeval.compare` returned for that column, and what the evaluators cost.
    lost
        Sentences on calls of judges that brought no reply, which are then said in capitals.

    Raises
    ------
    ValueError
        If ``order`` or a coefficient is not known.
    MetaevalError
        If ``result`` or ``tests`` is something else, or the table cannot be read (`DataError`).
    """
    if tests is not None and not isinstance(tests, Comparisons):
        raise MetaevalError(
            "tests are what compare returned, not its frame, which does not say how they were made; "
            "make them of a frame with Comparisons.of_frame(frame, policy)"
        )
    board = _board(result, simulated)
    made, ranked = Standings.none(Correlation._fields), None
    if board is not None:
        board = replace(board, simulated=board.simulated | Simulation(simulated))
        tables = board.tables.name if board.tables else "coefficient"
        shown = board if coefficients is None else board.only(tables, coefficients)
        made = standings(shown, order=order, truth=truth, dataset=dataset)
        ranked = ranking(board, by=by, tests=tests, costs=costs)
    return Leaderboard(
        *made,
        ranked,
        board.notes if board else (),
        title,
        dataset,
        truth,
        board.simulated if board else Simulation(simulated),
        dict(signatures or {}),
        tuple(lost),
        name,
    )


def _board(given: object, simulated: bool) -> Board | None:
    """Return the board of a result; None for one without rows."""
    if isinstance(given, Board):
        return given
    if isinstance(given, pd.DataFrame):
        given = Correlations.of_frame(given, simulated=simulated)
    if isinstance(given, Correlations):
        return correlation_board(given) if len(given) else None
    raise MetaevalError(
        f"leaderboard takes what correlate returned, or its frame, not a {type(given).__name__}"
    )
