"""What a study scored: all that its results are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from metaeval.engine.alignment.matched import Matched

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.records import Scale, ScoreTable
    from metaeval.kinds.study import Study

S_co = TypeVar("S_co", bound="Study", covariant=True)


@dataclass(frozen=True, eq=False)
class Scored(Generic[S_co]):
    """A resolved study, its scores and its truth."""

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
    """The data set; None for a finished run, which keeps what is needed of it in ``own``."""
    own: dict[str, pd.DataFrame] = field(default_factory=dict)
    """File name → a table of the kind's own, one of `metaeval.engine.results.Results.files`, once found."""

    @cached_property
    def matched(self) -> Matched:
        """Scores and truth under the policy of the study, aligned once."""
        return Matched(self.scores, self.truth, self.study.policy)
