"""What a kind of study finds out; what follows, from leaderboard to report, is the same for every kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.engine.board import Board
    from metaeval.engine.comparison import Comparisons
    from metaeval.engine.drilldown import Groups
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


@dataclass(frozen=True, slots=True)
class PeopleLine:
    """What people reach in one cell of the board."""

    label: str
    at: Mapping[str, str]
    estimate: float


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What a study found out."""

    board: Board
    order: Mapping[str, str]
    """The cell that orders the leaderboard: dimension → value."""
    tests: Comparisons | None = None
    """Of every two evaluators in that cell."""
    ranked: Sequence[RankedCell] = ()
    """The cells that are tested, for the report."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """What was done with missing values and the like, for ``run.json``."""
    sheets: Sequence[Sheet] = ()
    """Details: further tables."""
    figures: Sequence[Sheet] = ()
    """Those of `metaeval.reports.figures.CATALOGUE` that there is something for."""
    groups: Sequence[Groups] = ()
    glossary: Sequence[tuple[str, str]] = ()
    """Words of the kind and what they mean."""
    people: Sequence[PeopleLine] = ()
    files: Mapping[str, pd.DataFrame | str] = field(default_factory=dict)
    """Name of a file of the kind's own → its content: a table as CSV or Parquet, or text."""
    kept: bool = True
    """Whether the board is written to ``board.csv``; not, where a file of the kind's own holds it."""
