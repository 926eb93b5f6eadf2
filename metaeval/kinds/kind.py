"""What a kind of study says of itself, and how it is found by its name."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from metaeval.base.errors import DataError, MetaevalError, nearest, one_of, shown
from metaeval.base.plugins import Registry
from metaeval.base.progress import progress
from metaeval.engine.measures import Measure, MeasuredCells, measured_groups
from metaeval.engine.ranking import RankedCell, Results
from metaeval.kinds.files.labels import SIDES, LabelTable
from metaeval.kinds.scored import Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.base.records import DataOfKind, Evaluator
    from metaeval.engine.board import Board
    from metaeval.engine.cells import Cells
    from metaeval.engine.drilldown import Groups, UnitView
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.out_of_core.files import Parquet
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.study import Study
    from metaeval.kinds.table import KindTable

Factory: TypeAlias = "Callable[..., Evaluator] | str"

VARIABLE = "METAEVAL_KINDS"
"""The environment variable that names further kinds: ``module:object``, several with commas."""


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
    def tables(self) -> Sequence[KindTable]:
        """What only this kind finds out, in the order in which it is shown; see ``metaeval.kinds.table``."""
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
        """Return what the study finds out: its measures, by every cell, and its tables."""
        study, cells, board = scored.study, scored.cells, scored.board
        order = study.by or board.cell()
        with progress("tests"):
            compared = [
                cells.compare(at, study.tests) for at in cells.tested if study.tests and cells.entering(at)
            ]
        return Results(
            board,
            order,
            next((tests for tests in compared if tests.by == order), None),
            [RankedCell.of(board, tests) for tests in compared],
            figures=self.figures(scored, board),
            groups=self.groups(scored),
        )

    def groups(self, scored: Any) -> Sequence[Groups]:  # noqa: ANN401 - the `scored` of the kind
        """Return the measures in groups of units with the same first key, first two keys, and so on."""
        data, cells, units = scored.data, scored.cells, scored.keys
        prefixes = [data.keys[:n] for n in range(1, len(data.keys))]
        return [
            measured_groups(cells, units, data.nouns[keys[-1]], keys, undefined=cells.undefined)
            for keys in prefixes
        ]

    def details(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return further tables, without those that the data have nothing for."""
        own = [sheet for table in self.tables for sheet in table.sheets(scored)]
        return [*own, *self.analyses(scored)]

    def analyses(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return sheets beside those of the ``tables``: what every kind can say of ratings."""
        from metaeval.kinds.details import details

        return details(scored)

    def values_by_cluster(self, scored: Scored[Any]) -> pd.DataFrame | None:
        """Return values of systems by topic: ``evaluator, measure, system, topic, value``; None of others."""
        del scored
        return None

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
        charted = [table for table in self.tables if table.chart]
        for name in names if charted else ():
            one_of(name, [table.name for table in charted], "there is no figure", "there are")
        wanted = (table for table in charted if not names or table.name in names)
        return [figure for table in wanted if (figure := table.figure(scored, first or {}))]

    def words(self, scored: Any) -> Mapping[str, str]:  # noqa: ANN401 - the `scored` of the kind
        """Return words of the kind → what they mean; the report explains those that occur in it."""
        del scored
        return {}

    def orders(self, scored: Any) -> pd.DataFrame | None:  # noqa: ANN401 - the `scored` of the kind
        """Return the verdicts on pairs as `coherence` (`metaeval.analysis.verdicts`) takes them.

        None if there are none: no evaluator is a pairwise one.
        """
        from metaeval.analysis.verdicts.coherence import orders_of

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
        return [data.units.assign(**columns)]


KINDS = Registry(
    "metaeval.kinds",
    StudyKind,  # type: ignore[type-abstract]
    "a StudyKind",
    "kind",
    {
        "explanations": "metaeval.kinds.explanations.kind:EXPLANATIONS",
        "relevance": "metaeval.kinds.relevance.kind:RELEVANCE",
        "slates": "metaeval.kinds.slates.kind:SLATES",
        "exposure": "metaeval.kinds.exposure.kind:EXPOSURE",
    },
)
"""The kinds of study; the first is that of a study file that does not say which."""


def kind_named(name: object = None) -> StudyKind:
    """Return a kind of study; the first one, if no name is given. `MetaevalError` is raised if there is none.

    The name is of a kind of `KINDS`, of an installed package, or one that the environment variable
    ``METAEVAL_KINDS`` names: ``module:object``, several with commas, imported from the working directory too.
    No file says what to import: a study or a run folder of someone else runs no code.
    """
    name = next(iter(KINDS)) if name is None else name
    if isinstance(name, str) and ":" in name:
        raise MetaevalError(
            f"kind: {name!r} is not imported from a file; name it in the environment, {VARIABLE}={name}, "
            "and write the name of the kind instead"
        )
    if not isinstance(name, str):
        name = shown(name)
    if name not in KINDS:
        for where in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
            before = sys.path[:]
            sys.path.append("")  # last, and gone before a library looks for optional modules
            try:
                kind = KINDS.loaded(where)
            finally:
                sys.path[:] = before
            KINDS.register(kind.name, kind)
    if name not in (known := KINDS.names):
        raise MetaevalError(
            f"kind: {shown(name)} is not allowed{nearest(name, known)} "
            f"(allowed: {', '.join(known)}); a kind of your own is named in {VARIABLE}"
        )
    return KINDS.named(name)
