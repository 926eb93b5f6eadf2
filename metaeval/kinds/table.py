"""The tables of a kind's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from metaeval.base.keys import DATASET
from metaeval.base.simulation import MARK
from metaeval.base.spec import short_names
from metaeval.engine.figure import Panels
from metaeval.engine.sheet import TEXT_FORMS, Column, Sheet, is_blank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from metaeval.base.records import ScoreTable
    from metaeval.engine.figure import Figure
    from metaeval.kinds.study import Study


class TableSource(Protocol):
    """What a table is made of: a `metaeval.kinds.kind.Scored`."""

    @property
    def study(self) -> Study:
        """The resolved study."""

    @property
    def scores(self) -> ScoreTable:
        """Of all evaluators."""

    @property
    def intervals(self) -> str:
        """How intervals are made, as a sentence; empty if there are none."""

    def table(self, table: KindTable) -> pd.DataFrame:
        """Return the rows of a table."""


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
    finding: Callable[[Any, Sheet], str] | None = None
    """What was scored, and its sheet → what the rows show, in one sentence."""
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

    def sheets(self, scored: TableSource) -> list[Sheet]:
        """Return its sheets for the details; none if it has no row, or is a file or a figure alone."""
        if (self.chart and not self.kept) or not (self.title or self.layout):
            return []
        frame = scored.table(self)
        if frame.empty:
            return []
        return list(self.layout(scored, frame)) if self.layout else [self._sheet(scored, frame)]

    def figure_of_several(self, runs: Mapping[str, TableSource], first: Mapping[str, str]) -> Figure | None:
        """Return the figure of several data sets, a panel each; None if none has a row."""
        if self.chart is None:
            return None
        frames = {name: scored.table(self) for name, scored in runs.items()}
        there = {name: frame for name, frame in frames.items() if not frame.empty}
        if not there:
            return None
        sheets = []
        for name, frame in there.items():
            short = self._short(runs[name], frame)
            sheets.append(self._sheet(runs[name], _with_short(frame.assign(**{DATASET: name}), short)))
        sheet = replace(
            sheets[0],
            frame=pd.concat([sheet.frame for sheet in sheets], ignore_index=True),
            columns=(Column(DATASET, "Data set"), *sheets[0].columns),
            notes=tuple(dict.fromkeys(note for sheet in sheets for note in sheet.notes)),
            simulated=reduce(or_, (sheet.simulated for sheet in sheets)),
        )
        figure = self.chart(sheet, first)
        return None if figure is None else replace(figure, chart=Panels(figure.chart, DATASET), finding=None)

    def figure(self, scored: TableSource, first: Mapping[str, str]) -> Figure | None:
        """Return its figure; None if it has none, or no row."""
        if self.chart is None or (frame := scored.table(self)).empty:
            return None
        short = self._short(scored, frame)
        sheet = self._sheet(scored, _with_short(frame, short))
        figure = self.chart(sheet, {c: short.get(v, v) for c, v in first.items()})
        return figure and replace(figure, names={label: name for name, label in short.items()})

    def _short(self, scored: TableSource, frame: pd.DataFrame) -> dict[str, str]:
        """Return evaluator → what marks and axes say of it: the name that is printed."""
        if not self.judged or "evaluator" not in frame:
            return {}
        specs = {**scored.study.specs, scored.study.truth: scored.study.truth}
        simulated = dict.fromkeys(scored.scores.simulation.evaluators, MARK)
        return {n: f"{label}{simulated.get(n, '')}" for n, label in short_names(specs).items()}

    def _sheet(self, scored: TableSource, frame: pd.DataFrame) -> Sheet:
        notes = self.notes(scored, frame) if callable(self.notes) else self.notes
        said = (scored.intervals if note == INTERVALS else note for note in notes)
        printed = (c for c in self.columns if c.title and not (c.optional and is_blank(frame[c.name])))
        if not scored.study.bootstrap:
            printed = (c._replace(low="", high="") for c in printed)
        return Sheet(
            self.name,
            self.title,
            self.shown(frame) if self.shown else frame,
            tuple(printed),
            tuple(filter(None, said)),
            scored.scores.simulation if self.judged else scored.scores.simulation.among(()),
            finding=self.finding and partial(self.finding, scored),
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


def _with_short(frame: pd.DataFrame, short: Mapping[str, str]) -> pd.DataFrame:
    return frame.assign(evaluator=frame["evaluator"].replace(short)) if short else frame
