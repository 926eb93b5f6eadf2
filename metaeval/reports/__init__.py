"""Typed results → Markdown, LaTeX, CSV and HTML: one renderer a format, nothing is computed here."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Correlations
from metaeval.engine.comparison import By, Comparisons
from metaeval.engine.standings import Order, Standings, standings
from metaeval.reports.csv_table import to_csv
from metaeval.reports.html_page import page, to_html
from metaeval.reports.latex_table import to_latex
from metaeval.reports.markdown_table import to_markdown
from metaeval.reports.notebook import board_html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["FORMATS", "Leaderboard", "leaderboard", "page"]

FORMATS = {"md": to_markdown, "tex": to_latex, "csv": to_csv, "html": to_html}
"""The suffix of a file → what makes its content from `Standings`."""


@dataclass(frozen=True, slots=True)
class Leaderboard(Standings):
    """`Standings` that can be written in each format; ``frame`` has them as data."""

    def to_markdown(self) -> str:
        """Return Markdown tables, a section a coefficient."""
        return to_markdown(self)

    def to_latex(self) -> str:
        """Return LaTeX tables to put into a paper; they need the packages booktabs and graphicx."""
        return to_latex(self)

    def to_html(self) -> str:
        """Return HTML tables, without a page around them."""
        return to_html(self)

    def to_csv(self) -> str:
        """Return one CSV table, the numbers as printed, a row an evaluator and coefficient."""
        return to_csv(self)

    def to_page(self) -> str:
        """Return one HTML page that needs no other file."""
        return page(self)

    def _repr_html_(self) -> str:
        """Show a notebook the ranking and as many tables as a screen or two hold."""
        return board_html(self)


def leaderboard(
    result: Correlations | pd.DataFrame,
    *,
    order: Order = "study",
    coefficients: Sequence[str] | None = None,
    title: str = "",
    dataset: str = "",
    truth: str = "",
    simulated: bool = False,
    signatures: Mapping[str, Mapping[str, Any]] | None = None,
    name: str = "",
    by: By | None = None,
    tests: Comparisons | None = None,
    costs: pd.DataFrame | None = None,
    lost: Sequence[str] = (),
) -> Leaderboard:
    """Put correlations into a table like that of a paper: blocks of evaluators, a column an aspect.

    Parameters
    ----------
    result
        What `metaeval.correlate` returned, or a table with the columns of ``correlations.csv``, which does
        not say how its numbers were made: the leaderboard then says that this is not known.
    order
        Of the evaluators in a block: ``study``, as they come, or ``estimate``, the best first.
    coefficients
        Those to show, in this order; all, if left out.
    title, dataset, truth, signatures
        What to say of where the numbers come from.
    simulated
        Whether the data are simulated, which is then said loudly.
    name
        What LaTeX labels begin with, so that two leaderboards can be in one paper; ``dataset``, if left out.
    by, tests, costs
        Of the ranking that comes first: the column that orders it (aspect, level, coefficient), what
        `metaeval.compare` returned for that column, and what the evaluators cost.
    lost
        Sentences on calls of judges that brought no reply, which are then said loudly.

    Raises
    ------
    ValueError
        If ``order`` or a coefficient is not known.
    MetaevalError
        If ``result`` or ``tests`` is something else, or the table cannot be read (`DataError`).
    """
    result = _correlations(result, simulated)
    if tests is not None and not isinstance(tests, Comparisons):
        raise MetaevalError(
            "tests are what compare returned, not its frame, which does not say how they were made; "
            "make them of a frame with Comparisons.of_frame(frame, policy)"
        )
    found = standings(
        result,
        order=order,
        coefficients=coefficients,
        title=title,
        dataset=dataset,
        truth=truth,
        simulated=simulated,
        signatures=signatures,
        name=name,
        by=by if by is None else By(*by),
        tests=tests,
        costs=costs,
        lost=lost,
    )
    return Leaderboard(**{f.name: getattr(found, f.name) for f in fields(found)})


def _correlations(given: object, simulated: bool) -> Correlations:
    import pandas as pd

    if isinstance(given, Correlations):
        return given
    if isinstance(given, pd.DataFrame):
        return Correlations.of_frame(given, simulated=simulated)
    raise MetaevalError(
        f"leaderboard takes what correlate returned, or its frame, not a {type(given).__name__}"
    )
