"""What a kind of study says of itself, and how it is found by its name."""

from __future__ import annotations

import importlib
import os
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from metaeval.base.errors import MetaevalError, nearest, shown
from metaeval.base.plugins import plugins, warn_of_clash
from metaeval.engine.measures import MeasuredCells
from metaeval.engine.results import RankedCell, Results
from metaeval.kinds.files.labels import SIDES, LabelTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.base.records import DataOfKind, Evaluator
    from metaeval.engine.board import Board
    from metaeval.engine.cells import Cells
    from metaeval.engine.drilldown import UnitView
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.measures import Measure
    from metaeval.engine.out_of_core.files import Parquet
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.study import Study

Factory: TypeAlias = "Callable[..., Evaluator] | str"

KINDS: dict[str, str | StudyKind] = {
    "explanations": "metaeval.kinds.explanations.kind:EXPLANATIONS",
    "relevance": "metaeval.kinds.relevance.kind:RELEVANCE",
    "slates": "metaeval.kinds.slates.kind:SLATES",
    "exposure": "metaeval.kinds.exposure.kind:EXPOSURE",
}
"""Name → the kind, or where it is: ``module:object``."""
GROUP = "metaeval.kinds"
"""The entry points by which an installed package offers its kinds."""
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
    """What is measured, unless `cells` and `results` are of the kind's own."""
    rated: ClassVar[bool] = True
    """Whether scores and truth are ratings, as calibration, biases, a gate and ensembles take them."""
    board_file: ClassVar[str] = "board.csv"
    """The file of a run folder with the frame of the board."""
    files: ClassVar[Sequence[str]] = ()
    """The tables of its own that `details` and `figures` need: files of a run folder."""
    texts: ClassVar[Sequence[str]] = ()
    """Columns of those tables that hold text; all others hold numbers."""
    labels: ClassVar[LabelTable] = LabelTable()
    """The table of a data set that people's labels stand in."""

    @abstractmethod
    def load(self, place: str | Path) -> DataOfKind:
        """Return the data set in a folder; a text is the address of one on the hub.

        Raises
        ------
        DataError
            If it cannot be read.
        """

    def load_beside(self, place: Path, scores: Parquet) -> DataOfKind | None:
        """Return the data set in a folder, with the first row of each evaluator in place of its scores.

        None if recorded scores of the kind are always read whole.
        """
        del place, scores
        return None

    def chosen(self, study: Any, data: DataOfKind) -> DataOfKind:  # noqa: ANN401 - a `Study` of the kind
        """Return the part of the data that a study is about, where keys of the kind's own say so.

        Raises
        ------
        StudyError
            By ``study.error``, for what the data do not have.
        """
        del study
        return data

    def resolve(self, study: Any, data: DataOfKind) -> Any:  # noqa: ANN401 - a `Study` of the kind
        """Return the study with what it leaves open filled in.

        Raises
        ------
        StudyError
            By ``study.error``, for what does not fit the data.
        """
        return study

    def cells(self, scored: Scored[Any]) -> Cells:
        """Return what can be estimated and tested of scores and truth: the ``measures`` of the kind."""
        return self._measured(scored)

    def _measured(self, scored: Scored[Any]) -> MeasuredCells:
        return MeasuredCells(scored.matched, self.measures, intervals=scored.study.bootstrap)

    def results(self, scored: Scored[Any]) -> Results:
        """Return what the study finds out."""
        found, tests = self._measured(scored), scored.study.tests
        board = found.board()
        order = board.cell()
        if tests is None:
            return Results(board, order)
        compared = found.compare(order, tests)
        return Results(board, order, compared, (RankedCell.of(board, compared),))

    def details(self, scored: Scored[Any]) -> Sequence[Sheet]:
        """Return further tables, without those that the data have nothing for."""
        from metaeval.kinds.details import details

        return details(scored)

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
        """Return the figures, without those that the data have nothing for.

        Parameters
        ----------
        board
            What was found.
        names
            Those to make; all, if empty.
        first
            Values of the board's dimensions to show first, where a figure offers them as a choice; those of
            the cell that orders the leaderboard, if left out.

        Raises
        ------
        MetaevalError
            If there is no figure of a name.
        """
        return []

    def orders(self, scored: Scored[Any]) -> pd.DataFrame | None:
        """Return the verdicts on pairs as `coherence` (`metaeval.analysis.verdicts`) takes them.

        None if there are none: no evaluator is a pairwise one.
        """
        from metaeval.analysis.verdicts.coherence import orders_of

        verdicts = scored.scores.verdicts
        return None if verdicts is None else orders_of(verdicts)

    @abstractmethod
    def unit_view(self, data: DataOfKind, aspects: Sequence[str]) -> UnitView:
        """Return how the units of a data set are shown to a reader."""

    def label_names(self, data: DataOfKind) -> Mapping[float, str]:
        """Return label → its name, in the order in which people choose; empty if labels have no names."""
        del data
        return SIDES if self.labels.showing else {}

    def of_pairs(self, data: DataOfKind) -> tuple[StudyKind, DataOfKind] | None:
        """Return the kind and the data whose units are two of these side by side, to be labelled; or None."""
        del data
        return None

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
        Of a kind of this package, of one that was registered, that an installed package offers as an entry
        point of the group ``metaeval.kinds``, or that the environment variable ``METAEVAL_KINDS`` names:
        ``module:object``, several with commas, imported from the working directory too. No file is asked
        what to import: a study or a run folder of someone else runs no code.

    Raises
    ------
    MetaevalError
        If there is none.
    """
    if isinstance(name, str) and ":" in name:
        raise MetaevalError(
            f"kind: {name!r} is not imported from a file; name it in the environment, {VARIABLE}={name}, "
            "and write the name of the kind instead"
        )
    if name not in KINDS:
        for where in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
            register_kind(_imported(where))
    offered = plugins(GROUP)
    if name not in KINDS and name in offered:
        return offered[str(name)].load(StudyKind, "a StudyKind")  # type: ignore[type-abstract]
    if name not in KINDS:
        known = [*offered, *KINDS]
        raise MetaevalError(
            f"kind: {shown(name)} is not allowed{nearest(str(name), known)} "
            f"(allowed: {', '.join(known)}); a kind of your own is named in {VARIABLE}"
        )
    warn_of_clash(GROUP, str(name))
    kind = KINDS[str(name)]
    return _imported(kind) if isinstance(kind, str) else kind


def _imported(where: str) -> StudyKind:
    module, _, name = where.partition(":")
    if "" not in sys.path:
        sys.path.append("")  # behind what is installed, which a file of the working directory never replaces
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise MetaevalError(f"kind: {where!r} cannot be imported: {error}") from error
    if not isinstance(found, StudyKind):
        raise MetaevalError(f"kind: {where!r} is not a StudyKind but {found!r}")
    return found
