"""The results of a study; all later steps, from leaderboard to report, are the same for every kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metaeval.engine.ranking import ranking
from metaeval.engine.sentences import tests_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.engine.board import Board
    from metaeval.engine.drilldown import Groups
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.paired_tests import Comparisons
    from metaeval.engine.sheet import Sheet


@dataclass(frozen=True, slots=True, eq=False)
class RankedCell:
    """The tests of one cell of the board."""

    at: Mapping[str, str]
    """Dimension → value."""
    ranking: Sheet
    """What `metaeval.engine.ranking` made of them: ``evaluator``, ``cluster``, ``p_best``; the best first."""
    alpha: float
    sentence: str
    """How evaluators were tested."""

    @classmethod
    def of(cls, board: Board, tests: Comparisons) -> RankedCell:
        """Rank the evaluators of a board by the cell that was tested."""
        sheet = ranking(board, tests=tests)
        return cls(tests.by, sheet, tests.policy["alpha"], tests_sentence(tests.policy))


@dataclass(frozen=True, slots=True)
class PeopleLine:
    """The agreement of people in one cell of the board."""

    label: str
    at: Mapping[str, str]
    estimate: float


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """The results of a study."""

    board: Board
    order: Mapping[str, str]
    """The cell that orders the leaderboard: dimension → value."""
    tests: Comparisons | None = None
    """Of every two evaluators in that cell."""
    ranked: Sequence[RankedCell] = ()
    """The cells that are tested, for the report."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """What was done with missing values and the like, for ``run.json``."""
    figures: Sequence[Figure] = ()
    groups: Sequence[Groups] = ()
    glossary: Sequence[tuple[str, str]] = ()
    """Words of the kind and what they mean."""
    people: Sequence[PeopleLine] = ()
    table: pd.DataFrame | None = None
    """What the file of the board holds, where that is more than the frame of the board."""
    files: Mapping[str, pd.DataFrame | str] = field(default_factory=dict)
    """Name of a file of the kind's own → its content: a table as CSV or Parquet, or text."""
