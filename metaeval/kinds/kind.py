"""What a kind of study says of itself, and what its studies scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import pandas as pd

from metaeval.base.errors import DataError, MetaevalError, one_of, unknown
from metaeval.base.progress import progress
from metaeval.data.labels import SIDES, LabelTable
from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.measures import Measure, MeasuredCells
from metaeval.engine.order.ranking import PeopleLine, RankedCell, Results
from metaeval.engine.sentences import interval_sentence
from metaeval.engine.sheet import Sheet
from metaeval.stats.resampling.weights import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from metaeval.analysis.families import Family
    from metaeval.base.records import DataOfKind, Evaluator, Scale, ScoreTable
    from metaeval.engine.board import Board, Cell
    from metaeval.engine.cells import Cells
    from metaeval.engine.drilldown import Groups, UnitView
    from metaeval.engine.figure import Figure
    from metaeval.engine.files import Parquet
    from metaeval.engine.passes import Loaded
    from metaeval.kinds.study import Study
    from metaeval.kinds.table import KindTable

NONE = "(none)"
"""Stands for an empty value of a column."""

S_co = TypeVar("S_co", bound="Study", covariant=True)
T = TypeVar("T")


CONTRARY, SEEN = 0.05, 0.5
"""A judge orders as people do if at most such a share of what it decides is the other way round, and at least
such a share of what people tell apart is decided."""


class Ordering(NamedTuple):
    """Whether a judge orders what it compares as people do."""

    question: str
    answer: str
    effect: str
    usable: Literal["yes", "no", "unknown"]


@dataclass(frozen=True, eq=False)
class Scored(Generic[S_co]):
    """A resolved study, its scores and its truth."""

    kind: StudyKind
    study: S_co
    scale: Scale
    cluster: str
    """The key column whose values are resampled whole."""
    scores: ScoreTable
    """Of all evaluators."""
    truth: pd.DataFrame
    """Key columns, ``aspect`` and ``rating``; NaN for a question without an answer."""
    raters: pd.DataFrame | None = None
    """Annotators' ratings: key columns, ``rater``, ``aspect``, ``rating``; None if there are none."""
    data: Any = None
    """The data set; None for a finished run, which keeps what is needed of it in tables."""
    loaded: Loaded | None = None
    """The scores and the truth, if the scores do not fit in memory; ``scores`` then has no row."""
    kept: Callable[[KindTable], pd.DataFrame] | None = None
    """Reads a table from the folder of a finished run; without a row, if the run has not written it."""
    repeats: pd.DataFrame | None = None
    """What people said when asked again: key columns, ``rater``, ``aspect``, ``rating``, and ``score``, their
    first rating; None if nobody was."""
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict, init=False)
    _made: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False)

    def once(self, make: Callable[[Any], T]) -> T:
        """Return what a function makes of this, which several tables share; it is called once."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made

    def table(self, table: KindTable) -> pd.DataFrame:
        """Return the rows of a table: of the file that a finished run has of it, else made once."""
        if table.file not in self._tables:
            if self.kept and table.kept:
                frame = self.kept(table)
            else:
                made = table.make(self)
                frame = pd.DataFrame() if made is None else made
                table.check(frame)
            self._tables[table.file] = frame
        return self._tables[table.file]

    @cached_property
    def cells(self) -> Any:  # noqa: ANN401 - what `StudyKind.cells` of the kind returns
        """What can be estimated and tested."""
        return self.kind.cells(self)

    @cached_property
    def board(self) -> Board:
        """The estimates of all cells; what orders the leaderboard is shown first."""
        board: Board = self.cells.board()
        by = self.study.ordered_by
        first = (replace(d, first=by[d.name]) if by else d for d in board.dimensions)
        return replace(board, dimensions=tuple(first))

    def read_by_cells(self) -> dict[str, pd.DataFrame]:
        """Return the tables that estimates read, by file."""
        _ = self.cells
        return dict(self._tables)

    def units(self, known: pd.DataFrame) -> pd.DataFrame:
        """Return what is known of each unit, in the order of the aligned scores.

        ``known`` has key columns and others: ``data.table``, or what a finished run keeps of it.
        """
        wanted = pd.MultiIndex.from_frame(self.matched.keys)
        return known.set_index(wanted.names).reindex(wanted).reset_index()

    @cached_property
    def intervals(self) -> str:
        """How intervals are made, as a sentence; empty if there are none."""
        options = self.study.bootstrap
        return interval_sentence(options.record(self.matched.prepared)) if options else ""

    @cached_property
    def matched(self) -> Matched:
        """Scores and truth under the policy of the study, aligned once."""
        return Matched(self.scores, self.truth, self.study.policy)

    @property
    def confidence(self) -> float:
        """That of intervals."""
        return (self.study.bootstrap or Bootstrap()).confidence

    def families(self, cell: Cell) -> list[Family]:
        """Return the families of evaluators in a cell, and what is known of single replies."""
        from metaeval.analysis.families import families_in, without_each_reply

        less = [replace(self, scores=scores).cells for scores in without_each_reply(self.scores)]
        return families_in(self.study.family, self.cells, cell, self.confidence, less)

    def with_totals(self, board: Board, cell: Cell) -> Board:
        """Return a board in which members of families have their total interval in a cell."""
        from metaeval.analysis.families import with_totals

        return with_totals(board, self.families(cell), cell)


Factory: TypeAlias = "Callable[..., Evaluator] | str"


class StudyKind(ABC):
    """A kind of study: everything that differs between kinds."""

    name: ClassVar[str]
    """What ``kind`` is in a study file."""
    study: ClassVar[type[Study]]
    """What its study file may say."""
    evaluators: ClassVar[Mapping[str, Factory]] = {}
    """Name → evaluator, beside those that every kind has."""

    measures: ClassVar[Sequence[Measure]] = ()
    """What is measured, unless `cells` are of the kind's own."""
    scored: ClassVar[type[Scored[Any]]] = Scored
    """What its tables are made of: a subclass may hold what several of them share."""
    rated: ClassVar[bool] = True
    """Whether scores and truth are ratings, as calibration, biases, a gate and ensembles take them."""
    board_file: ClassVar[str] = "board.csv"
    """The file of a run folder with the frame of the board."""
    labels: ClassVar[LabelTable] = LabelTable()
    """The table of a data set that people's labels stand in."""

    @property
    def data_kind(self) -> str:
        """What ``kind`` is in the data sets of its studies."""
        return self.name

    @property
    def tables(self) -> Sequence[KindTable]:
        """What only this kind finds out, in the order in which it is shown; see `KindTable`."""
        return ()

    @abstractmethod
    def load(self, place: str | Path) -> DataOfKind:
        """Return the data set in a folder, or at an address of the hub; `DataError` if it cannot be read."""

    def load_beside(self, place: Path, scores: Parquet) -> DataOfKind | None:
        """Return the data set in a folder, with the first row of each evaluator in place of its scores.

        None if recorded scores of the kind are always read whole.
        """
        del place, scores
        return None

    def chosen(self, study: Any, data: DataOfKind) -> DataOfKind:  # noqa: ANN401 - a `Study` of the kind
        """Return the part of the data that a study is about; ``study.error`` for what they do not have."""
        del study
        return data

    def resolve(self, study: Any, data: DataOfKind) -> Any:  # noqa: ANN401 - a `Study` of the kind
        """Return the study with what it leaves open filled in; ``study.error`` for what does not fit."""
        return study

    def cells(self, scored: Any) -> Cells:  # noqa: ANN401 - the `scored` of the kind
        """Return what can be estimated and tested of scores and truth: the ``measures`` of the kind."""
        return MeasuredCells(scored.matched, self.measures, intervals=scored.study.bootstrap)

    def results(self, scored: Any) -> Results:  # noqa: ANN401 - the `scored` of the kind
        """Return what the study finds out: estimates and tests, figures and groups.

        There are no figures and no single groups of scores that do not fit in memory.
        """
        study, cells = scored.study, scored.cells
        with progress(cells.phase):
            board = scored.board
        order = study.ordered_by or board.cell()
        with progress("testing"):
            tests = cells.tested(order, study.tests) if study.tests else []
            compared = [cells.compare(*first) for first in tests[:1]]  # the longest, and in threads itself
            compared += in_threads(lambda each: cells.compare(*each), tests[1:])
        with progress("figures"):
            figures = self.figures(scored, board) if scored.loaded is None else ()
        return Results(
            board,
            order,
            next((found for found in compared if found.by == order), None),
            [RankedCell.of(board, found) for found in compared],
            dict(cells.record),
            figures,
            self.groups(scored) if scored.loaded is None else (),
            people=self.people(scored, figures),
            table=cells.file_rows,
        )

    def groups(self, scored: Any) -> Sequence[Groups]:  # noqa: ANN401 - the `scored` of the kind
        """Return the measures in groups of units with the same first key, first two keys, and so on."""
        groups: Sequence[Groups] = scored.cells.groups(scored.data.nouns)
        return groups

    def people(
        self,
        scored: Any,  # noqa: ANN401 - the `scored` of the kind
        figures: Sequence[Figure],
    ) -> Sequence[PeopleLine]:
        """Return what people reach in each cell, if a figure says it."""
        del scored, figures
        return ()

    def details(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return further tables, without those that the data have nothing for."""
        own = [sheet for table in self.tables for sheet in table.sheets(scored)]
        return [*own, *self.analyses(scored), *self.families(scored)]

    def families(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return the sheets of the families of evaluators, in the cell that orders the leaderboard."""
        if not scored.study.family:
            return []
        from metaeval.analysis.families import family_sheets

        cell = scored.study.ordered_by or scored.board.cell()
        return family_sheets(
            scored.families(cell),
            ", ".join(cell.values()),
            scored.board.form,
            cluster=scored.matched.prepared.cluster_name(),
            confidence=scored.confidence,
            simulated=scored.board.simulated,
        )

    def analyses(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return sheets beside those of the ``tables``: what every kind can say of ratings."""
        if not self.rated:
            return []
        from metaeval.kinds.details import details

        study = scored.study
        return details(
            scored.matched,
            scored.raters,
            scored.scale,
            truth_spec=study.truth,
            specs=study.specs,
            bootstrap=study.bootstrap,
            repeats=scored.repeats,
        )

    def values_by_cluster(self, scored: Scored[Any]) -> pd.DataFrame | None:
        """Return values of systems by topic: ``evaluator, measure, system, topic, value``; None of others."""
        del scored
        return None

    def ordering(self, scored: Any, names: Sequence[str]) -> Iterable[tuple[str, Ordering]]:  # noqa: ANN401
        """Yield judges whose scores are verdicts with how they order what they compare, by own tables."""
        del scored, names
        return ()

    def generators(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return tables that rank what wrote the units; none where the units do not name two or more."""
        del scored
        return []

    def figures(
        self,
        scored: Scored[Any],
        board: Board,
        names: Sequence[str] = (),
        first: Mapping[str, str] | None = None,
    ) -> Sequence[Figure]:
        """Return the figures of these names (all, if none), without those that the data have nothing for.

        ``first`` has values of the board's dimensions to show first, where a figure offers a choice.
        `MetaevalError` is raised if there is no figure of a name.
        """
        wanted = self._charted(names)
        return [figure for table in wanted if (figure := table.figure(scored, first or {}))]

    def _charted(self, names: Sequence[str]) -> list[KindTable]:
        charted = [table for table in self.tables if table.chart]
        if names and not charted:
            raise MetaevalError(f"a study of `kind: {self.name}` has no figures")
        for name in names:
            one_of(name, [table.name for table in charted], "there is no figure", "there are")
        return [table for table in charted if not names or table.name in names]

    def figures_of_several(
        self, runs: Mapping[str, Scored[Any]], names: Sequence[str], first: Mapping[str, str]
    ) -> Sequence[Figure]:
        """Return the figures of several data sets, by name; see `figures`."""
        if not any(table.chart for table in self.tables):
            raise MetaevalError(f"figures of several runs are not drawn of kind {self.name!r}; give one RUN")
        wanted = self._charted(names)
        return [figure for table in wanted if (figure := table.figure_of_several(runs, first))]

    def words(self, scored: Any) -> Mapping[str, str]:  # noqa: ANN401 - the `scored` of the kind
        """Return words of the kind → what they mean; the report explains those that occur in it."""
        del scored
        return {}

    def orders(self, scored: Any) -> pd.DataFrame | None:  # noqa: ANN401 - the `scored` of the kind
        """Return the verdicts on pairs as `coherence` (`metaeval.analysis.verdict_coherence`) takes them.

        None if there are none: no evaluator is a pairwise one.
        """
        from metaeval.analysis.verdict_coherence import orders_of

        verdicts = scored.scores.verdicts
        return None if verdicts is None else orders_of(verdicts)

    def of_units(self, frame: pd.DataFrame, aspects: Sequence[str] | None) -> DataOfKind:
        """Return data without ratings of a table of units; `DataError` if the kind makes none."""
        raise DataError(
            f"units of kind {self.name!r} are read with their data set; load it with metaeval.load"
        )

    def of_table(self, table: Any, columns: Any) -> DataOfKind:  # noqa: ANN401 - as of `metaeval.load`
        """Return the data of one table by a map of its columns; `DataError` if the kind makes none."""
        raise DataError(f"a table of kind {self.name!r} is imported by a map: metaeval data import table")

    @abstractmethod
    def unit_view(self, data: DataOfKind, aspects: Sequence[str]) -> UnitView:
        """Return how the units of a data set are shown to a reader."""

    def label_names(self, data: DataOfKind) -> Mapping[float, str]:
        """Return label → its name, in the order in which people choose; empty if labels have no names."""
        del data
        return SIDES if self.labels.showing else {}

    def of_pairs(self, data: DataOfKind) -> tuple[StudyKind, DataOfKind]:
        """Return the kind and the data whose units are two of these side by side; `DataError` if none are."""
        raise DataError(f"--pairs is for explanations; data set {data.name!r} is of kind {self.name!r}")

    def about_units(self, data: DataOfKind) -> Sequence[pd.DataFrame]:
        """Return what is known of the units: some of the key columns, and others to tell units apart by."""
        columns = {column.name: list(column.texts) for column in self.unit_view(data, ()).columns}
        profiles = getattr(data, "profiles", None)
        return [data.units.assign(**columns), *([] if profiles is None else [profiles])]

    def column(self, data: DataOfKind, name: str) -> pd.DataFrame:
        """Return a column of one of the tables of a data set, such as that of its users.

        The frame has a row per key of that table: its key columns, and ``category``, the column as text.
        `MetaevalError` is raised if no table has it.
        """
        tables = self.about_units(data)
        for table in tables:
            if name in table.columns:
                by = [k for k in data.keys if k in table.columns]
                text = table[name].astype(object).where(table[name].notna(), "").astype(str).str.strip()
                return table[by].astype(str).assign(category=text.where(text != "", NONE))
        have = dict.fromkeys(str(c) for table in tables for c in table.columns)
        raise MetaevalError(unknown(f"data set {data.name!r} has no column", name, have))
