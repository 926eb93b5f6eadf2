"""Off-policy estimates as sums by cluster: a log is read once, in parts, and then every resample is cheap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.stats.off_policy.overlap import WeightTotals
from metaeval.stats.off_policy.terms import CHOSEN, PLAIN, Estimator, Weighting
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.off_policy.terms import Change, Rounds

GRID = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 10_000.0)
"""Thresholds, and roots of λ, among which the data choose."""
_MOST = 2**14  # clusters that are resampled; of more, random ones stand together


@dataclass(frozen=True, slots=True, eq=False)
class PolicySums:
    """Sums by cluster of every estimator's terms, and totals of every weighting's weights."""

    estimators: tuple[Estimator, ...]
    """With the numbers that the data choose."""
    statistic: ClusterSums
    """The estimates, as a function of cluster weights, under which the numbers are chosen again."""
    weights: dict[Weighting, WeightTotals]
    varied: bool
    """Whether there is more than one outcome among the rounds whose weight is not 0."""

    @property
    def n_clusters(self) -> int:
        """How many clusters there are to resample."""
        return int(self.statistic.by_cluster.shape[-1])


def blocks(n_clusters: int) -> Ints:
    """Return the block of each cluster, which is resampled whole.

    That is the cluster itself. More than 16,384 clusters are put together into so many blocks at random: sums
    then fit in memory, and resamples are as good.
    """
    if n_clusters <= _MOST:
        return np.arange(n_clusters)
    return np.random.default_rng(0).permutation(n_clusters) % _MOST


def policy_sums(
    parts: Iterable[tuple[Rounds, Ints]], n_clusters: int, estimators: Sequence[Estimator]
) -> PolicySums:
    """Sum the rounds' terms; Switch-DR and DRos without a number get the best one for the data.

    That number has the least estimated mean squared error among `GRID` (Su et al. 2020): the squared mean of
    (w - ŵ)(y - q), and the squared standard error.

    Parameters
    ----------
    parts
        The rounds and the cluster of each, in ``range(n_clusters)``, a part of the log at a time.
    """
    bins, block = min(n_clusters, _MOST), blocks(n_clusters)
    candidates = [_candidates(e) for e in estimators]
    every = list(dict.fromkeys(c for of in candidates for c in of))
    places = [[every.index(c) for c in of] for of in candidates]
    judged = {at for of in places if len(of) > 1 for at in of}
    weightings = list(dict.fromkeys([PLAIN, *(e.weighting for e in every)]))
    above, below, bias = np.zeros((3, len(every), bins))
    weight, n = np.zeros((len(weightings), bins)), np.zeros(bins)
    squares, largest = np.zeros((2, len(weightings)))
    least, most = np.inf, -np.inf
    for rounds, cluster in parts:
        at = block[cluster]
        n += np.bincount(at, rounds.counts, bins)
        for i, weighting in enumerate(weightings):
            changed = weighting.of(rounds.weight)
            weight[i] += np.bincount(at, changed, bins)
            squares[i] += changed @ changed
            largest[i] = max(largest[i], changed.max(initial=0.0))
        for i, estimator in enumerate(every):
            for sums, terms in zip((above, below), rounds.terms(estimator), strict=True):
                sums[i] += np.bincount(at, terms, bins)
            if i in judged:
                bias[i] += np.bincount(at, rounds.bias(estimator.weighting), bins)
        counted = rounds.outcome[rounds.weight > 0]
        least, most = min(least, counted.min(initial=np.inf)), max(most, counted.max(initial=-np.inf))
    noise = standard_error(weight, np.broadcast_to(n, weight.shape))
    totals = {
        weighting: WeightTotals(
            *map(float, (round(n.sum()), weight[i].sum(), squares[i], largest[i], noise[i]))
        )
        for i, weighting in enumerate(weightings)
    }
    varied = bool(least < most)
    if not judged:
        return PolicySums(tuple(every), mean_of(above, below), totals, varied)
    choice = _Choice(places, bins)
    sums = np.stack([above, below, bias, above**2, above * below, below**2])
    statistic = ClusterSums(sums, choice.values, smooth=False)
    (chosen,) = choice.made(statistic.sums(np.ones((bins, 1)))).T
    return PolicySums(tuple(every[at] for at in chosen), statistic, totals, varied)


class _Choice(NamedTuple):
    """Which candidate of each estimator has the least estimated mean squared error, by sums over clusters."""

    places: list[list[int]]
    n_clusters: int

    def made(self, sums: Floats) -> Ints:
        """Return the place of the candidate that is chosen, shape (estimators, columns)."""
        above, below, bias, aa, ab, bb = sums
        value = ratio(above, below)
        squared = (aa - 2 * value * ab + value**2 * bb) * self.n_clusters / max(1, self.n_clusters - 1)
        error = bias**2 + squared  # of the sum: all candidates are divided by the same number
        return np.stack([np.array(of)[error[of].argmin(axis=0)] for of in self.places])

    def values(self, sums: Floats) -> Floats:
        """Return the estimates by the candidates that are chosen, shape (estimators, columns)."""
        return np.take_along_axis(ratio(sums[0], sums[1]), self.made(sums), axis=0)


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
