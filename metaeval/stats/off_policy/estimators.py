"""Off-policy estimates as sums by cluster: a log is read once, in parts, and then every resample is cheap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.off_policy.terms import CHOSEN, PLAIN, Estimator, Weighting
from metaeval.stats.resampling.cluster_sums import mean_of, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.off_policy.terms import Change, Rounds
    from metaeval.stats.resampling.cluster_sums import ClusterSums

GRID = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 10_000.0)
"""Thresholds, and roots of λ, among which the data choose."""
_MOST = 2**14  # clusters that are resampled; of more, random ones stand together


@dataclass(frozen=True, slots=True, eq=False)
class WeightTotals:
    """What the weights of a log add up to."""

    n: int
    total: float
    squares: float
    largest: float
    error: float
    """Standard error of the mean weight, clusters drawn at random."""

    @property
    def mean(self) -> float:
        """The mean weight, whose expectation is 1 if the log could show what the policy would."""
        return self.total / self.n

    @property
    def effective(self) -> float:
        """The effective sample size, (Σw)² / Σw² (Kish 1965)."""
        return float(self.total**2 / self.squares) if self.squares else 0.0

    @property
    def largest_share(self) -> float:
        """The share of all weight that the largest one has."""
        return self.largest / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class PolicySums:
    """Sums by cluster of every estimator's terms, and totals of every weighting's weights."""

    estimators: tuple[Estimator, ...]
    above: Floats
    """Shape (estimators, clusters)."""
    below: Floats
    weights: dict[Weighting, WeightTotals]
    varied: bool
    """Whether there is more than one outcome among the rounds whose weight is not 0."""

    @property
    def n_clusters(self) -> int:
        """How many clusters there are to resample."""
        return int(self.above.shape[1])

    @property
    def statistic(self) -> ClusterSums:
        """The estimates, as a function of cluster weights."""
        return mean_of(self.above, self.below)


def policy_sums(
    parts: Iterable[tuple[Rounds, Ints]], n_clusters: int, estimators: Sequence[Estimator]
) -> PolicySums:
    """Sum what rounds add to estimates; Switch-DR and DRos without a number get the one that suits the data.

    That number has the least estimated mean squared error among `GRID` (Su et al. 2020): the squared mean of
    (w - ŵ)(y - q), and the squared standard error.

    Parameters
    ----------
    parts
        The rounds and the cluster of each, in ``range(n_clusters)``, a part of the log at a time.
    n_clusters
        More than 16,384 clusters are put together into so many at random: sums then fit in memory, and
        resamples are as good.
    """
    bins, pooled = min(n_clusters, _MOST), n_clusters > _MOST
    place = np.random.default_rng(0).permutation(n_clusters) % bins if pooled else None
    candidates = {e: _candidates(e) for e in estimators}
    every = list(dict.fromkeys(c for of in candidates.values() for c in of))
    weightings = list(dict.fromkeys([PLAIN, *(e.weighting for e in every)]))
    above, below = np.zeros((2, len(every), bins))
    weight, n = np.zeros((len(weightings), bins)), np.zeros(bins)
    squares, largest = np.zeros((2, len(weightings)))
    bias = {c: 0.0 for e, of in candidates.items() if len(of) > 1 for c in of}
    least, most = np.inf, -np.inf
    for rounds, cluster in parts:
        at = cluster if place is None else place[cluster]
        n += np.bincount(at, rounds.counts, bins)
        for i, weighting in enumerate(weightings):
            changed = weighting.of(rounds.weight)
            weight[i] += np.bincount(at, changed, bins)
            squares[i] += changed @ changed
            largest[i] = max(largest[i], changed.max(initial=0.0))
        for i, estimator in enumerate(every):
            for sums, terms in zip((above, below), rounds.terms(estimator), strict=True):
                sums[i] += np.bincount(at, terms, bins)
        for one in bias:
            bias[one] += float(rounds.bias(one.weighting).sum())
        counted = rounds.outcome[rounds.weight > 0]
        least, most = min(least, counted.min(initial=np.inf)), max(most, counted.max(initial=-np.inf))
    error = standard_error(above, below)
    rank = {c: (bias[c] / n.sum()) ** 2 + error[every.index(c)] ** 2 for c in bias}
    chosen = [min(of, key=lambda c: rank.get(c, 0.0)) for of in candidates.values()]
    taken = [every.index(c) for c in chosen]
    noise = standard_error(weight, np.broadcast_to(n, weight.shape))
    totals = {
        weighting: WeightTotals(
            round(n.sum()), float(weight[i].sum()), float(squares[i]), float(largest[i]), float(noise[i])
        )
        for i, weighting in enumerate(weightings)
    }
    return PolicySums(tuple(chosen), above[taken], below[taken], totals, varied=bool(least < most))


def _candidates(estimator: Estimator) -> list[Estimator]:
    change: Change | None = CHOSEN.get(estimator.name)
    if change is None or estimator.weighting != PLAIN:
        return [estimator]
    return [estimator._replace(weighting=Weighting(change, g if change == "trim" else g**2)) for g in GRID]


def standard_error(above: Floats, below: Floats) -> Floats:
    """Return standard errors of ratios of sums by cluster, shape (values, clusters), by linearisation.

    NaN of fewer than two clusters.
    """
    value = ratio(above.sum(axis=1), below.sum(axis=1))
    n = above.shape[1]
    if n < 2:
        return np.full(len(above), np.nan)
    influence = (above - value[:, None] * below) / below.sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt((influence**2).sum(axis=1) * n / (n - 1)))
