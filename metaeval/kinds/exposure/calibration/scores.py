"""How far recommenders and a judge prefer the same items of pairs: a judge's score of each recommender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND
from metaeval.kinds.exposure.data.log_set import ITEM, KEYS, USER, WEIGHT
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metaeval.kinds.exposure.recommenders.sums import Recommended
    from metaeval.stats.coefficients.tables import Floats, Ints


def preferences(runs: pd.DataFrame, system: str, units: pd.DataFrame) -> Floats:
    """Return which item of each unit a recommender ranks higher: 1 the first, -1 the second, 0 neither.

    What a list does not have ranks below all that it has.
    """
    own = runs[runs["system"].astype("str") == system].set_index([USER, ITEM])["rank"].astype(np.float64)
    first, second = (
        own.reindex(pd.MultiIndex.from_frame(units[[USER, side]])).fillna(np.inf).to_numpy()
        for side in (FIRST, SECOND)
    )
    return (first < second).astype(np.float64) - (first > second)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeScores:
    """Verdicts of pairs by a judge and by every recommender, and the RJS that comes of them.

    A recommender's score is its RJS with the judge, Σ w s j / Σ w over the judge's verdicts: w is the weight
    of the pair, s and j are 1, -1 or 0 as each prefers the item shown first, the other, or neither. It is
    2 · PairAUC - 1, where a tie counts as half right.
    """

    verdicts: Floats
    """Of the judge, by unit: 1, -1, 0; NaN where there is none."""
    systems: Floats
    """Of the recommenders, shape (systems, units)."""
    weight: Floats
    user: Ints
    """The place of each unit's user among those of `Recommended.users`; -1 for a user without a list."""
    n_users: int

    def statistic(self, units: NDArray[np.bool_] | None = None) -> ClusterSums:
        """Return the score of each recommender, as a function of how often each user counts.

        Parameters
        ----------
        units
            Which units enter; all, if left out.
        """
        used = ~np.isnan(self.verdicts) & (self.user >= 0)
        if units is not None:
            used &= units
        at, w = self.user[used], self.weight[used]
        agreed = w * self.verdicts[used] * self.systems[:, used]
        above = np.stack([np.bincount(at, one, self.n_users) for one in agreed]).astype(np.float64)
        below = np.bincount(at, w, self.n_users).astype(np.float64)
        return mean_of(above, np.broadcast_to(below, above.shape))


def judge_scores(of: Recommended, scores: pd.DataFrame) -> dict[str, JudgeScores]:
    """Return the verdicts of every evaluator, in the order of ``scores``, beside those of recommenders.

    Parameters
    ----------
    scores
        Key columns, ``evaluator``, ``score``. The sign of a score is the verdict.
    """
    units, runs = of.data.table, of.runs
    weight = units[WEIGHT].to_numpy(np.float64)
    if np.isnan(weight).any():  # pairs that came without weights count alike
        weight = np.ones(len(units))
    names = of.given.of.users[of.users]
    user = names.get_indexer(pd.Index(units[USER].astype("str")))
    systems = np.stack([preferences(runs, system, units) for system in of.systems])
    keys = pd.MultiIndex.from_frame(units[[*KEYS]])
    return {
        str(name): JudgeScores(
            np.sign(own.set_index([*KEYS])["score"].reindex(keys).to_numpy(np.float64)),
            systems,
            weight,
            user,
            len(names),
        )
        for name, own in scores.groupby("evaluator", sort=False, observed=True)
    }
