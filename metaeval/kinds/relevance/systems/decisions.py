"""What would be decided by an evaluator's labels: which systems are better, and whether popular ones gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from metaeval.kinds.relevance.data.collection import ITEM
from metaeval.kinds.relevance.systems.agreement import means_of
from metaeval.stats.ranking.orders import rank_clusters
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.resampling.multiplicity import holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.relevance.systems.agreement import MeasurePair
    from metaeval.kinds.relevance.systems.effectiveness import Effectiveness
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler
    from metaeval.stats.resampling.cluster_sums import ClusterSums


def p_better(found: Effectiveness, measure: str) -> Floats:
    """Return one-sided p-values that the row's system is better than the column's, shape (systems, systems).

    Student's t of the paired differences over users, Holm-corrected over all ordered pairs, because the
    direction comes from the same data. NaN on the diagonal and for fewer than two users.
    """
    from scipy.special import stdtr

    values = found.of_user[measure][:, found.users]
    s, n = values.shape
    if n < 2:
        return np.full((s, s), np.nan)
    covariance = np.atleast_2d(np.cov(values))
    own = np.diag(covariance)
    error = np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, 0.0) / n)
    mean = values.mean(axis=1)
    apart = mean[:, None] - mean
    known = error > 1e-12  # systems with the same list for everybody do not differ
    t = np.divide(apart, error, out=np.zeros_like(apart), where=known)
    p = np.where(known, stdtr(n - 1, -t), np.where(apart > 1e-12, 2.0**-n, 1.0))
    np.fill_diagonal(p, np.nan)
    return holm(p)


def decisions(
    found: Mapping[str, Effectiveness], truth: str, pairs: Sequence[MeasurePair], *, alpha: float = 0.05
) -> pd.DataFrame:
    """Count on which significant differences between systems an evaluator agrees with the truth.

    Returns
    -------
    DataFrame
        ``evaluator``, ``measure``, ``truth_measure``; ``n_truth``, pairs of systems that differ significantly
        by the truth, and the shares of them that the evaluator finds (``agree``), does not find (``miss``)
        and finds the other way (``reversed``); ``n_judge``, pairs that differ by the evaluator, and the share
        of them that does not differ by the truth (``extra``); ``n_pairs``.
    """
    rows = []
    for pair in pairs:
        true = p_better(found[truth], pair.truth) <= alpha
        n_true = int(true.sum())
        for name, of in found.items():
            own = p_better(of, pair.judge) <= alpha
            n_own = int(own.sum())
            agree, reverse = int((true & own).sum()), int((true & own.T).sum())
            rows.append(
                {
                    "evaluator": name,
                    "measure": pair.judge,
                    "truth_measure": pair.truth,
                    "n_truth": n_true,
                    "agree": agree / n_true if n_true else np.nan,
                    "miss": (n_true - agree - reverse) / n_true if n_true else np.nan,
                    "reversed": reverse / n_true if n_true else np.nan,
                    "n_judge": n_own,
                    "extra": (n_own - agree - reverse) / n_own if n_own else np.nan,
                    "n_pairs": len(true) * (len(true) - 1) // 2,
                }
            )
    return pd.DataFrame(rows)


def clusters(found: Effectiveness, measure: str, *, alpha: float = 0.05) -> Ints:
    """Return the cluster of each system, from 1: its systems are not significantly worse than its best."""
    return rank_clusters(means_of(found, measure), p_better(found, measure), alpha)


@dataclass(frozen=True, slots=True, eq=False)
class RankGain:
    """By how many ranks an evaluator puts each system higher than the truth does."""

    judge: ClusterSums
    truth: ClusterSums

    def at(self, weights: Floats) -> Floats:
        """Return the ranks under each column of weights, shape (systems, columns)."""
        from scipy.stats import rankdata

        of_judge, of_truth = (
            rankdata(side.at(weights).round(12), axis=0) for side in (self.judge, self.truth)
        )
        return np.asarray(of_judge - of_truth, dtype=np.float64)


def rank_gains(found: Mapping[str, Effectiveness], truth: str, pair: MeasurePair) -> dict[str, RankGain]:
    """Return the gains by each evaluator, the truth left out."""
    true = found[truth].means(pair.truth)
    return {name: RankGain(of.means(pair.judge), true) for name, of in found.items() if name != truth}


@dataclass(frozen=True, slots=True, eq=False)
class Favour:
    """Pearson's r of the gains with a property of the systems, as a function of the users' weights."""

    gain: RankGain
    of_system: Floats
    """Shape (systems,): the property, such as popularity."""
    smooth: ClassVar = False

    def at(self, weights: Floats) -> Floats:
        """Return r under each column of weights, shape (1, columns); NaN where nothing varies."""
        gain = self.gain.at(weights)
        gain -= gain.mean(axis=0)
        by = self.of_system - self.of_system.mean()
        spread = np.sqrt((gain**2).sum(axis=0) * (by**2).sum())
        return ratio(np.asarray(by @ gain), spread)[None]


def system_popularity(
    runs: pd.DataFrame, histories: pd.DataFrame, systems: Sequence[str], depth: int
) -> Floats:
    """Return how many histories hold an item, on average over the first ``depth`` of a system's lists."""
    counts = histories[ITEM].value_counts()
    first = runs[runs["rank"] <= depth]
    held = first[ITEM].map(counts).fillna(0.0).astype(float)
    return np.asarray(held.groupby(first["system"]).mean().reindex(list(systems)), dtype=np.float64)


def favours_popular(
    found: Mapping[str, Effectiveness],
    truth: str,
    pairs: Sequence[MeasurePair],
    popularity: Floats,
    resampler: Resampler | None,
) -> pd.DataFrame:
    """Say whether evaluators put systems that recommend popular items higher than the truth does.

    Returns
    -------
    DataFrame
        ``evaluator``, ``measure``, ``truth_measure``, ``r`` (above 0: popular systems gain), ``ci_low``,
        ``ci_high``, ``n_systems``; without the truth itself.
    """
    rows = []
    for pair in pairs:
        for name, gain in rank_gains(found, truth, pair).items():
            favour, n = Favour(gain, popularity), gain.truth.by_cluster.shape[-1]
            low = high = np.nan
            if resampler is not None:
                ends = bootstrap(favour, resampler.of(n), bounds=(-1.0, 1.0), stretch=False)
                low, high = ends.low.item(), ends.high.item()
            rows.append(
                {
                    "evaluator": name,
                    "measure": pair.judge,
                    "truth_measure": pair.truth,
                    "r": favour.at(np.ones((n, 1))).item(),
                    "ci_low": low,
                    "ci_high": high,
                    "n_systems": len(popularity),
                }
            )
    return pd.DataFrame(rows)
