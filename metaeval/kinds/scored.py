"""What a study scored: all that its results are made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pandas as pd

from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.sentences import interval_sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.base.records import Scale, ScoreTable
    from metaeval.engine.board import Board
    from metaeval.engine.out_of_core.loading import Loaded
    from metaeval.kinds.kind import StudyKind
    from metaeval.kinds.study import Study
    from metaeval.kinds.table import KindTable

S_co = TypeVar("S_co", bound="Study", covariant=True)


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
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict, init=False)

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
        """The estimates of all cells of a kind with measures; what orders the leaderboard is shown first."""
        board: Board = self.cells.board()
        by = self.study.by
        first = (replace(d, first=by[d.name]) if by else d for d in board.dimensions)
        return replace(board, dimensions=tuple(first))

    @property
    def keys(self) -> pd.DataFrame:
        """The key columns of each unit, in the order of the aligned scores."""
        aligned = self.matched.aligned
        codes = {key: code for key, code in aligned.keys.items() if key in aligned.labels}
        return pd.DataFrame({key: aligned.labels[key].to_numpy()[code] for key, code in codes.items()})

    def units(self, known: pd.DataFrame) -> pd.DataFrame:
        """Return what is known of each unit, in the order of the aligned scores.

        ``known`` has key columns and others: ``data.table``, or what a finished run keeps of it.
        """
        wanted = pd.MultiIndex.from_frame(self.keys)
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
