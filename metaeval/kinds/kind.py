"""What a kind of study says of itself, and how it is found by its name."""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from importlib import metadata
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from metaeval.base.errors import MetaevalError, nearest
from metaeval.engine.measures import MeasuredCells
from metaeval.engine.ranking import ranking
from metaeval.engine.results import RankedCell, Results
from metaeval.engine.sentences import tests_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.base.records import DataOfKind, Evaluator, ScoreTable
    from metaeval.engine.cells import Cells
    from metaeval.engine.drilldown import UnitView
    from metaeval.engine.measures import Measure
    from metaeval.kinds.study import Study

Factory: TypeAlias = "Callable[..., Evaluator] | str"

KINDS: dict[str, str | StudyKind] = {
    "explanations": "metaeval.kinds.explanations.kind:EXPLANATIONS",
}
"""Name → the kind, or where it is: ``module:object``."""
GROUP = "metaeval.kinds"
"""The entry points by which an installed package offers its kinds."""


class StudyKind(ABC):
    """A kind of study: all that is not the same for every kind."""

    name: ClassVar[str]
    """What ``kind`` is in a study file."""
    study: ClassVar[type[Study]]
    """What its study file may say."""
    evaluators: ClassVar[Mapping[str, Factory]] = {}
    """Name → evaluator, beside those that every kind has."""

    measures: ClassVar[Sequence[Measure]] = ()
    """What is measured, unless `cells` or `results` is of the kind's own."""

    @abstractmethod
    def load(self, place: str | Path) -> DataOfKind:
        """Return the data set in a folder; a text is the address of one on the hub.

        Raises
        ------
        DataError
            If it cannot be read.
        """

    def resolve(self, study: Any, data: DataOfKind) -> Any:  # noqa: ANN401 - a `Study` of the kind
        """Return the study with what it leaves open filled in.

        Raises
        ------
        StudyError
            By ``study.error``, for what does not fit the data.
        """
        return study

    def cells(self, study: Any, scores: ScoreTable, truth: pd.DataFrame, cluster: str) -> Cells:  # noqa: ANN401 - a `Study` of the kind
        """Return what can be estimated and tested of scores and truth: the `measures` of the kind.

        Parameters
        ----------
        cluster
            The key column whose values are resampled whole.
        """
        return MeasuredCells(scores, truth, self.measures, cluster=cluster, intervals=study.bootstrap)

    def results(self, study: Any, data: DataOfKind, scores: ScoreTable, truth: pd.DataFrame) -> Results:  # noqa: ANN401 - a `Study` of the kind
        """Return what the study finds out.

        Parameters
        ----------
        study, data
            Of the kind, resolved.
        scores
            Of all evaluators.
        truth
            Key columns, ``aspect`` and ``rating``; NaN for a question without an answer.
        """
        found = MeasuredCells(scores, truth, self.measures, cluster=data.cluster, intervals=study.bootstrap)
        board = found.board()
        order = board.cell()
        if study.tests is None:
            return Results(board, order)
        tests = found.compare(order, study.tests)
        ranked = RankedCell(
            order, ranking(board, tests=tests), study.tests.alpha, tests_sentence(tests.policy)
        )
        return Results(board, order, tests, (ranked,))

    @abstractmethod
    def unit_view(self, data: DataOfKind, aspects: Sequence[str]) -> UnitView:
        """Return how the units of a data set are shown to a reader."""

    def tables(self, data: DataOfKind) -> Sequence[pd.DataFrame]:
        """Return what is known of the units: some of the key columns, and others to tell units apart by."""
        columns = {column.name: list(column.texts) for column in self.unit_view(data, ()).columns}
        return [data.units.assign(**columns)]


def register_kind(kind: StudyKind) -> None:
    """Make a kind of study known by its name.

    Raises
    ------
    MetaevalError
        If the name is taken.
    """
    if KINDS.get(kind.name, kind) is not kind:
        raise MetaevalError(f"a kind of study {kind.name!r} is registered already; choose another name")
    KINDS[kind.name] = kind


def kind_named(name: object) -> StudyKind:
    """Return a kind of study.

    Parameters
    ----------
    name
        Of a kind of this package, of one that was registered or that an installed package offers as an entry
        point of the group ``metaeval.kinds``; or ``module:object``, which is imported, from the working
        directory too.

    Raises
    ------
    MetaevalError
        If there is none.
    """
    offered = {point.name: point.value for point in metadata.entry_points(group=GROUP)}
    known = {**offered, **KINDS}
    where: object = known.get(name, name) if isinstance(name, str) else ""
    if isinstance(where, str) and ":" in where:
        where = _imported(where)
    if isinstance(where, StudyKind):
        return where
    raise MetaevalError(
        f"kind: {name!r} is not allowed{nearest(str(name), known)} (allowed: {', '.join(known)})"
    )


def _imported(where: str) -> object:
    module, _, name = where.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as Python itself does for a script that it is given with -m
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise MetaevalError(f"kind: {where!r} cannot be imported: {error}") from error
    if not isinstance(found, StudyKind):
        raise MetaevalError(f"kind: {where!r} is no StudyKind but {found!r}")
    return found
