"""What a study scored: all that its results are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from metaeval.engine.alignment.matched import Matched

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.records import Scale, ScoreTable
    from metaeval.engine.out_of_core.loading import Loaded
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
    loaded: Loaded | None = None
    """The scores and the truth, if the scores do not fit in memory; ``scores`` then has no row."""
    own: dict[str, pd.DataFrame] = field(default_factory=dict)
    """File name → a table of the kind's own, one of `metaeval.engine.results.Results.files`, once found."""

    def units(self, file: str) -> pd.DataFrame:
        """Return what is known of each unit, in the order of the aligned scores.

        Parameters
        ----------
        file
            The table of the kind's own that a finished run keeps of it; before, it is ``data.table``.
        """
        import pandas as pd

        table, aligned = self.own.get(file), self.matched.aligned
        table = self.data.table if table is None else table
        codes = {key: of for key, of in aligned.keys.items() if key in aligned.labels}
        names = [aligned.labels[key].to_numpy()[of] for key, of in codes.items()]
        wanted = pd.MultiIndex.from_arrays(names, names=[*codes])
        return table.set_index([*codes]).reindex(wanted).reset_index()

    @cached_property
    def matched(self) -> Matched:
        """Scores and truth under the policy of the study, aligned once."""
        return Matched(self.scores, self.truth, self.study.policy)
