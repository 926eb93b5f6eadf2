"""Correlations given a group: partial and pooled, averaged by Fisher's z, of differences and clear pairs.

All but Kendall's τ-c leave out what lies between groups, such as systems: they compare units of one group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.grouped import grouped
from metaeval.stats.coefficients.tables import ContingencyTables, Floats, Ints, encode
from metaeval.stats.resampling.bootstrap import Estimate
from metaeval.stats.resampling.cluster_sums import jackknife_deviations, jackknife_interval
from metaeval.stats.weighted.sums import Clusters

GIVEN = (
    "partial_pearson",
    "partial_spearman",
    "fisher_pearson",
    "fisher_spearman",
    "differences",
    "clear_pairs",
    "tau_c",
)
"""The measures of `given_group`, in its order."""
_BLOCK = 2**22  # pairs compared at a time


def given_group(x: Floats, y: Floats, group: Ints, threshold: float = 0.0) -> Floats:
    """Return the measures `GIVEN`, shape (7,); NaN where one is not defined.

    - ``partial_pearson``: the partial correlation given the group: r of the deviations from the groups' means
      (r pooled within groups); ``partial_spearman`` the same of the midranks of all units.
    - ``fisher_pearson``, ``fisher_spearman``: tanh of the mean of artanh r over the groups (Fisher 1921;
      Corey, Dunlap & Burke 1998); groups whose r is undefined, 1 or -1 have no z and are left out.
    - ``differences``: r of the differences of every two units of a group, in both orders.
    - ``clear_pairs``: of the pairs of a group whose truths are ``threshold`` or more apart and not equal, the
      share that the scores order alike less all others, ties too (Mathur et al. 2020, WMT's τ of relative
      rankings).
    - ``tau_c``: Kendall's τ-c of all units, groups or not (Stuart 1953; scipy).

    Parameters
    ----------
    x, y
        Scores and truth, finite, shape (n,).
    group
        In ``range`` of the number of groups, shape (n,).
    """
    from scipy.stats import kendalltau, rankdata

    if len(x) < 2:
        return np.full(len(GIVEN), np.nan)
    _, group = np.unique(group, return_inverse=True)
    n = int(group.max()) + 1
    ranks = rankdata(x), rankdata(y)
    terms = grouped(ContingencyTables.of(encode(x), encode(y), group, n), ("pearson", "spearman"))
    inside = np.where(np.abs(terms) < 1 - 1e-12, terms, np.nan)
    z = [np.arctanh(row[~np.isnan(row)]) for row in inside]
    tau = float(kendalltau(x, y, variant="c").statistic) if np.ptp(x) and np.ptp(y) else np.nan
    sizes = np.bincount(group, minlength=n).astype(np.float64)
    return np.array(
        [
            _within(x, y, group, np.ones(n)),
            _within(*ranks, group, np.ones(n)),
            *(np.tanh(of.mean()) if len(of) else np.nan for of in z),
            # Over the pairs of a group, products of differences add up to its size times those of deviations.
            _within(x, y, group, sizes),
            _clear(x, y, group, threshold),
            tau,
        ]
    )


def _within(x: Floats, y: Floats, group: Ints, weight: Floats) -> float:
    n = np.bincount(group)
    u, v = (a - (np.bincount(group, a) / n)[group] for a in (x, y))
    u, v = (np.where(np.abs(d) > 1e-12 * np.abs(a).max(), d, 0.0) for d, a in ((u, x), (v, y)))
    w = weight[group]
    xy, xx, yy = (w * u * v).sum(), (w * u * u).sum(), (w * v * v).sum()
    return float(np.clip(xy / np.sqrt(xx * yy), -1, 1)) if xx > 0 and yy > 0 else np.nan


def _clear(x: Floats, y: Floats, group: Ints, threshold: float) -> float:
    order = np.argsort(group, kind="stable")
    alike = pairs = 0
    for at in np.split(order, np.cumsum(np.bincount(group))[:-1]):
        step = max(1, _BLOCK // len(at))
        for rows in (at[i : i + step] for i in range(0, len(at), step)):
            above, apart = x[rows, None] - x[at], y[rows, None] - y[at]
            clear = (apart > 0) & (apart >= threshold)
            pairs += int(clear.sum())
            alike += int((clear & (above > 0)).sum())
    return (2 * alike - pairs) / pairs if pairs else np.nan


@dataclass(frozen=True, slots=True, eq=False)
class _LeftOut:
    """The measures without the clusters of weight 0; all others count once."""

    x: Floats
    y: Floats
    group: Ints
    clusters: Clusters
    threshold: float

    def at(self, weights: Floats) -> Floats:
        """Return the measures under each column of zeros and ones, shape (7, columns)."""
        kept = (weights[self.clusters.of_unit] > 0).T
        return np.stack(
            [given_group(self.x[use], self.y[use], self.group[use], self.threshold) for use in kept], axis=1
        )


def given_group_estimates(
    x: Floats,
    y: Floats,
    group: Ints,
    clusters: Clusters,
    *,
    threshold: float = 0.0,
    confidence: float = 0.95,
) -> Estimate[Floats]:
    """Return the measures of `given_group` with intervals of the jackknife over clusters, on Fisher's z."""
    statistic = _LeftOut(x, y, group, clusters, threshold)
    value = statistic.at(np.ones((clusters.n, 1)))[:, 0]
    if clusters.n < 2:
        return Estimate(value, value * np.nan, value * np.nan, clusters.n)
    ends = np.full(len(value), -1.0), np.full(len(value), 1.0)
    low, high = jackknife_interval(value, jackknife_deviations(statistic, clusters.n), confidence, *ends)
    return Estimate(value, low, high, clusters.n)
