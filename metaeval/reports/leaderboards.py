"""Leaderboards: the ranking and the tables of a board, and what is said around them, in each format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.formulas import to_csv
from metaeval.base.frames import html_heading
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.board import Board, Cell
from metaeval.engine.correlation import Correlation, Correlations, correlation_board
from metaeval.engine.order.paired_tests import Comparisons
from metaeval.engine.order.ranking import ranking
from metaeval.engine.order.standings import Order, Standings, standings
from metaeval.engine.sheet import NOTHING, Sheet, value_text
from metaeval.reports import template
from metaeval.reports.latex import paper
from metaeval.reports.sheets import (
    LOST,
    markdown,
    notice,
    prose,
    room,
    sheet_to_html,
    sheet_to_markdown,
    sheets_to_text,
)

ROWS = 60
"""Rows that a notebook shows at most, over all tables."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaderboard:
    """Evaluators in order, and side by side, which can be written in each format."""

    tables: tuple[Sheet, ...]
    """All evaluators in all cells: what ``metaeval.engine.order.standings`` made."""
    frame: pd.DataFrame
    """A row per evaluator and cell, with ``block``, ``mark`` and ``printed``."""
    ranking: Sheet | None = None
    """The order by one cell, with intervals, rank clusters and costs."""
    policy: tuple[str, ...] = ()
    """Sentences on what was done with missing values, undefined groups and differing units."""
    title: str = ""
    dataset: str = ""
    truth: str = ""
    simulated: Simulation = REAL
    signatures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Evaluator → the name that is printed, if that is another."""
    lost: tuple[str, ...] = ()
    """Sentences on calls of judges that brought no reply, which are said in capitals."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """What the run says to somebody who has a minute; its ``lines`` are said first, a paragraph each."""
    name: str = ""
    """Of the study or run; LaTeX labels begin with it, or with that of the data set."""

    @property
    def told(self) -> Simulation:
        """What is simulated, by the names that are printed."""
        return self.simulated.named(self.names)

    @property
    def first(self) -> list[str]:
        """The paragraphs that are said first: on all evaluators, then on judges."""
        return list(self.answer.get("lines", ()))

    @property
    def heading(self) -> str:
        """The title, or one that names the data set."""
        return self.title or (f"Evaluators on {self.dataset}" if self.dataset else "Evaluators")

    @property
    def sheets(self) -> list[Sheet]:
        """The ranking and the tables with what was done, below words that say what is simulated."""
        tables = [replace(table, notes=(*table.notes, *self.policy)) for table in self.tables]
        ranked = [self.ranking] if self.ranking else []
        return [replace(sheet, simulated=REAL) for sheet in (*ranked, *tables)]

    def __repr__(self) -> str:
        evaluators = self.frame["evaluator"].nunique() if len(self.frame) else 0
        of = counted(evaluators, "evaluator"), counted(len(self.tables), "table")
        return f"<Leaderboard {self.heading!r}: {', '.join(of)}>"

    def to_text(self) -> str:
        """Return plain text that fits the terminal: the ranking, and a section per table."""
        lost = " ".join([LOST, *self.lost]) if self.lost else ""
        sentences = (*self.first, self.heading, self.told.warning, lost)
        above = [f"{prose(sentence, room())}\n" for sentence in sentences if sentence]
        return "\n".join([*above, sheets_to_text(self.sheets)])

    def to_markdown(self) -> str:
        """Return Markdown: the ranking, and a section per table."""
        above = [f"# {markdown(self.heading)}\n"]
        if self.simulated:
            above.append(f"> **{self.simulated.loud}** {markdown(self.told.sentence)}\n")
        if self.lost:
            above.append(notice(self.lost).rstrip() + "\n")
        above += [f"{markdown(paragraph)}\n" for paragraph in self.first]
        return "\n".join([*above, *map(sheet_to_markdown, self.sheets)])

    def to_latex(self, width: str = "text") -> str:
        """Return LaTeX tables to put into a paper; they need the packages booktabs and graphicx.

        Each is as wide as a ``column`` or the ``text`` of a paper in two columns, or as a length such as
        ``120mm``; `MetaevalError` is raised for another ``width``.
        """
        above = [f"% {words}" for words in (self.simulated.loud, LOST if self.lost else "") if words]
        sentences = (*self.policy, *filter(None, [self.told.sentence]), *self.lost)
        simulated = replace(self.simulated, told=True)
        tables = [replace(t, notes=(*t.notes, *sentences), simulated=simulated) for t in self.tables]
        ranking = self.ranking
        ranked = [replace(ranking, notes=(*self.first[:1], *ranking.notes))] if ranking else []
        return paper([*ranked, *tables], self.name or self.dataset, above=above, width=width)

    def to_csv(self) -> str:
        """Return one CSV table, the numbers and their heads as printed, a row per evaluator and table."""
        counts = {c.name: None for table in self.tables for c in table.columns if c.form == "counts"}
        frames = []
        for table in self.tables:
            frame = table.frame.drop(columns="heads")
            for column in table.columns:
                for name in (column.name, *column.beside) if column.form not in ("text", "counts") else ():
                    printed = [value_text(v, column.form) for v in frame[name]]
                    head = f"{name} × 100" if column.form == "hundred" else name
                    frame[name] = [text.replace(NOTHING, "") for text in printed]
                    frame = frame.rename(columns={name: head})
            frames.append(frame)
        whole = pd.concat(frames, ignore_index=True).fillna("") if frames else pd.DataFrame()
        whole = whole[[*(c for c in whole if c not in counts), *counts]]
        if self.simulated:
            whole["simulated"] = [self.simulated.among([e]).what for e in whole["evaluator"]]
        return to_csv(whole)

    def to_html(self) -> str:
        """Return HTML tables, without a page around them."""
        sections = map(sheet_to_html, self.sheets)
        return template("tables.html").render(board=self, lost=LOST, sections=sections)

    def to_page(self) -> str:
        """Return one HTML page that needs no other file, with each evaluator's signature."""
        signatures = {
            name: json.dumps(dict(signature), ensure_ascii=False, sort_keys=True, default=str)
            for name, signature in self.signatures.items()
        }
        return template("page.html").render(tables=self.to_html(), board=self, signatures=signatures)

    def _repr_html_(self) -> str:
        """Show a notebook the ranking and as many tables as a screen or two hold; say what is left out."""
        left, shown, left_out = ROWS, list[Sheet](), []
        named = [("the ranking", self.ranking)] if self.ranking else []
        for name, sheet in [*named, *((f"the table of {t.title}", t) for t in self.tables)]:
            shown.append(replace(sheet, frame=sheet.frame.head(left)))
            rows = len(shown[-1].frame)
            left -= rows
            if missing := len(sheet.frame) - rows:
                left_out.append(f"{counted(missing, 'evaluator')} of {name}" if rows else name)
        tables = tuple(sheet for sheet in shown[len(named) :] if len(sheet.frame))
        html = replace(self, ranking=shown[0] if named else None, tables=tables).to_html()
        policy = "" if tables else "".join(f"<p>{escape(sentence)}</p>" for sentence in self.policy)
        more = f"<p>Not shown here: {'; '.join(left_out)}. <code>.to_html()</code> has all.</p>"
        return f"{html_heading(self.heading, {})}{html}{policy}{more if left_out else ''}"


FORMATS = {
    "txt": Leaderboard.to_text,
    "md": Leaderboard.to_markdown,
    "tex": Leaderboard.to_latex,
    "csv": Leaderboard.to_csv,
    "html": Leaderboard.to_html,
}
"""The suffix of a file → what makes its content."""


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
    answer: Mapping[str, Any] | None = None,
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
    answer
        What was found: the paragraphs in its ``lines`` come first.

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
        dict(board.names) if board else {},
        tuple(lost),
        dict(answer or {}),
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
