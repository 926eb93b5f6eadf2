"""A table that only studies of one kind have, declared once: its file, types, sheet and figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from metaeval.engine.sheet import TEXT_FORMS, Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from metaeval.engine.figures.figure import Figure
    from metaeval.kinds.scored import Scored

INTERVALS = "{intervals}"
"""In the notes of a table: the sentence on bootstrap intervals, if the study makes any."""


@dataclass(frozen=True, eq=False)
class KindTable:
    """A table of a kind's own: everything that run folder, details, figures and report make of it.

    `StudyKind.tables` lists the tables of a kind, in the order in which their sheets are shown; nothing else
    is to be done for a new one. It stands in the file of the function that computes it:

    >>> from metaeval.engine.sheet import Column
    >>> def says_yes(scored):
    ...     return scored.scores.frame.groupby("evaluator", as_index=False)["score"].mean()
    >>> YES = KindTable(
    ...     "says_yes.csv",
    ...     "How often each evaluator says yes",
    ...     (Column("evaluator", "Evaluator"), Column("score", "Yes", "share")),
    ...     says_yes,
    ...     notes=("Over all questions.",),
    ... )

    - A name with a suffix, ``.csv`` or ``.parquet``, is a file of the run folder. Without one, the rows are
      worked out anew whenever they are shown, of other tables, scores and truth: a finished run has no data.
    - A table is a sheet of the details if columns of it are printed. With a ``chart`` it is a figure, too;
      one with a chart and without a file is a figure alone.
    - ``scored.table(TABLE)`` returns the rows of another table: read in a finished run, else made, once.
      What several tables share is a cached property of a kind's own subclass of ``Scored``, which
      ``StudyKind.scored`` names.
    """

    file: str
    """Its file in the run folder, or a name without suffix."""
    title: str
    columns: Sequence[Column]
    """Those without a title are not printed. Each column of text has to be here: its form says that it is
    read as text again; all others are read as numbers."""
    make: Callable[[Any], pd.DataFrame | None]
    """What was scored → the rows; None or no row, if there is nothing."""
    notes: Sequence[str] | Callable[[Any, pd.DataFrame], Iterable[str]] = ()
    """Sentences below it, or what makes them of what was scored and the rows; empty ones are left out."""
    chart: Callable[[Sheet, Mapping[str, str]], Figure | None] | None = None
    """Draws its sheet, given values to show first of columns that offer a choice."""
    sheet: str = ""
    """The name of its sheet and figure; that of the file, if left out."""
    shown: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    """The rows that are printed, of those in the file."""
    judged: bool = True
    """Whether its rows are of evaluators, so that it says which of them are simulated."""
    layout: Callable[[Any, pd.DataFrame], Iterable[Sheet]] | None = None
    """Lays out the rows in place of ``columns`` and ``notes``: as several sheets, for instance."""

    @property
    def name(self) -> str:
        """The name of its sheet and figure."""
        return self.sheet or PurePath(self.file).stem

    @property
    def kept(self) -> bool:
        """Whether the run folder has it as a file."""
        return bool(PurePath(self.file).suffix)

    @property
    def texts(self) -> list[str]:
        """The columns that hold text."""
        return [column.name for column in self.columns if column.form in TEXT_FORMS]

    def sheets(self, scored: Scored[Any]) -> list[Sheet]:
        """Return its sheets for the details; none if it has no row, or is a file or a figure alone."""
        if (self.chart and not self.kept) or not (self.title or self.layout):
            return []
        frame = scored.table(self)
        if frame.empty:
            return []
        return list(self.layout(scored, frame)) if self.layout else [self._sheet(scored, frame)]

    def figure(self, scored: Scored[Any], first: Mapping[str, str]) -> Figure | None:
        """Return its figure; None if it has none, or no row."""
        if self.chart is None or (frame := scored.table(self)).empty:
            return None
        return self.chart(self._sheet(scored, frame), first)

    def _sheet(self, scored: Scored[Any], frame: pd.DataFrame) -> Sheet:
        notes = self.notes(scored, frame) if callable(self.notes) else self.notes
        said = (scored.intervals if note == INTERVALS else note for note in notes)
        printed = (c for c in self.columns if c.title and not (c.optional and _blank(frame[c.name])))
        if not scored.study.bootstrap:
            printed = (c._replace(low="", high="") for c in printed)
        return Sheet(
            self.name,
            self.title,
            self.shown(frame) if self.shown else frame,
            tuple(printed),
            tuple(filter(None, said)),
            scored.scores.simulation if self.judged else scored.scores.simulation.among(()),
        )

    def check(self, frame: pd.DataFrame) -> None:
        """Check the rows that were made.

        `TypeError` is raised if a column of text is not declared, so that it could not be read again.
        """
        if self.file.endswith(".csv"):
            for name in frame.columns.difference(self.texts):
                if frame[name].map(lambda value: isinstance(value, str | bool)).any():
                    raise TypeError(
                        f"{self.file}: the column {name!r} holds text; declare Column({name!r}, '')"
                    )


def _blank(column: pd.Series[Any]) -> bool:
    return not (column.notna() & (column != "")).any()
