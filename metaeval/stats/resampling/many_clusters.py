"""Intervals and tests above 100,000 clusters: the jackknife, and the bag of little bootstraps.

Ten thousand resamples of so many clusters take minutes per statistic. The rule that ``bootstrap``,
``paired_test`` and ``paired_permutation`` follow above `LIMIT`:

- A smooth statistic, such as a mean, a ratio, a kappa or a correlation over units, takes the jackknife
  (`jackknife_deviations`).
- A statistic that is not smooth, such as Kendall's τ of the means of systems, says so with ``smooth = False``
  and takes the bag of little bootstraps (`bag_deviations`), and so do all if ``bca`` was asked for.

Both return deviations D, shape (values, columns), with D Dᵀ the covariance of the values. One pass then gives
the intervals of all evaluators, and the tests of all pairs of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from metaeval.stats.resampling.cluster_sums import Linear, Stack, WithAverage
from metaeval.stats.resampling.weights import percentile_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Statistic

LIMIT = 100_000
"""Clusters up to which resamples are drawn and scores swapped."""
BAGS, BAG_RESAMPLES = 20, 100
"""Bags of clusters, and resamples of each."""

_EXPONENT = 0.7  # a bag has n ** 0.7 clusters (Kleiner et al. 2014 take 0.5 to 0.9)
_GROUPS = 1_000  # groups that are left out where a statistic is not a function of sums
_ROOM = 2**25  # numbers kept at a time: sums by cluster or by group
_BLOCK = 2**22  # numbers worked with at a time
_DEFINED = 0.9  # share of the columns that must be defined


@runtime_checkable
class Influential(Protocol):
    """A statistic that may know its derivatives by the clusters' weights."""

    def influence(self) -> Floats | None:
        """Return the derivatives at weights of one, shape (values, n_clusters); None if not known."""


def is_smooth(statistic: Statistic) -> bool:
    """Say whether a statistic, and whatever it is made of, is smooth."""
    return all(getattr(leaf, "smooth", True) for leaf in _leaves(statistic))


def jackknife_deviations(statistic: Statistic, n: int, *, together: int = 1) -> Floats:
    """Leave out clusters in turn (Efron & Stein 1981).

    A function of sums is evaluated at the sums less those of one cluster. Where sums of all clusters do not
    fit in memory, or the statistic is no such function, random groups of clusters are left out (1,000 or
    more). A statistic that knows its derivatives uses them: the infinitesimal jackknife (Jaeckel 1972).

    Parameters
    ----------
    n
        Clusters.
    together
        How many such results are kept at a time.

    Returns
    -------
    ndarray
        Shape (values, groups), by the root of (g - 1) / g; NaN where less than nine tenths are defined.
    """
    leaves = _leaves(statistic)
    known = [leaf.influence() if isinstance(leaf, Influential) else None for leaf in leaves]
    rows = 0
    for leaf, derivatives in zip(leaves, known, strict=True):
        if derivatives is not None:
            rows += len(derivatives)
        else:
            rows += leaf.sums(np.ones((n, 1))).size if isinstance(leaf, Linear) else _ROOM
    g = min(n, max(_GROUPS, _ROOM // max(rows, together)))
    group = np.arange(n) if g == n else np.random.default_rng(0).permutation(n) % g
    parts = []
    for leaf, derivatives in zip(leaves, known, strict=True):
        if derivatives is not None:
            parts.append(
                np.sqrt(g / max(1, g - 1)) * np.stack([np.bincount(group, d, g) for d in derivatives])
            )
        else:
            parts.append(np.sqrt((g - 1) / g) * _centred(_left_out(leaf, group, g)))
    return _usable(_assembled(statistic, iter(parts)))


def bag_deviations(statistic: Statistic, n: int, seed: int) -> Floats:
    """Resample small bags of clusters to the full size (Kleiner, Talwalkar, Sarkar & Jordan 2014).

    A bag holds n ** 0.7 of the clusters. In each of its resamples their weights are multinomial counts that
    add up to n; a deviation is the value in the resample less that of the bag. The distributions of the
    deviations are averaged over bags.

    Returns
    -------
    ndarray
        Shape (values, bags × resamples), divided by the root of their number; NaN as above.
    """
    size = max(2, round(n**_EXPONENT))
    rng = np.random.default_rng([seed, 3])
    leaves, found = _leaves(statistic), []
    for _ in range(BAGS):
        bag = rng.choice(n, min(n, size), replace=False)
        drawn = rng.multinomial(n, np.full(len(bag), 1 / len(bag)), BAG_RESAMPLES).T
        weights = np.concatenate([np.full((len(bag), 1), n / len(bag)), drawn], axis=1)
        values = _assembled(statistic, (_in_bag(leaf, n, bag, weights) for leaf in leaves))
        found.append(values[:, 1:] - values[:, :1])
    return _usable(np.concatenate(found, axis=1) / np.sqrt(BAGS * BAG_RESAMPLES))


def jackknife_interval(
    value: Floats, deviations: Floats, confidence: float, least: Floats, most: Floats
) -> tuple[Floats, Floats]:
    """Return intervals by Student's t, on the logit scale of values with two bounds.

    Of a correlation, with bounds -1 and 1, that is Fisher's z; of a share, the log odds. Ends then stay
    within the bounds, and cover near them.
    """
    from scipy.special import expit, stdtrit

    t = stdtrit(deviations.shape[1] - 1, (1 + confidence) / 2)
    half = t * np.sqrt((deviations**2).sum(axis=1))
    low, high = value - half, value + half
    width = most - least
    with np.errstate(invalid="ignore"):
        inside = np.isfinite(width) & (least < value) & (value < most)
    above, below = (np.where(inside, v, 1.0) for v in (value - least, most - value))
    middle, half = np.log(above / below), half * (1 / above + 1 / below)
    safe = np.where(inside, width, 1.0), np.where(inside, least, 0.0)
    ends = (safe[1] + safe[0] * expit(middle + by) for by in (-half, half))
    low, high = (np.where(inside, end, plain) for end, plain in zip(ends, (low, high), strict=True))
    return low, high


def bag_interval(value: Floats, deviations: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the values and the percentiles of their deviations."""
    drawn = deviations * np.sqrt(deviations.shape[1])
    low, high = percentile_interval(drawn, confidence)
    return value + low, value + high


def _leaves(statistic: Statistic) -> list[Statistic]:
    """Return the statistics that a statistic is made of."""
    if isinstance(statistic, Stack):
        return [leaf for part in statistic.statistics for leaf in _leaves(part)]
    return _leaves(statistic.statistic) if isinstance(statistic, WithAverage) else [statistic]


def _assembled(statistic: Statistic, parts: Iterator[Floats]) -> Floats:
    """Put together what was computed for each of the leaves."""
    if isinstance(statistic, Stack):
        return np.concatenate([_assembled(part, parts) for part in statistic.statistics])
    if isinstance(statistic, WithAverage):
        return statistic.averaged(_assembled(statistic.statistic, parts))
    return next(parts)


def _left_out(statistic: Statistic, group: Ints, g: int) -> Floats:
    """Return the values without each group of clusters, shape (values, groups)."""
    n = len(group)
    if not isinstance(statistic, Linear):
        step = max(1, _BLOCK // n)
        columns = (np.arange(at, min(at + step, g)) for at in range(0, g, step))
        return np.concatenate(
            [statistic.at((group[:, None] != c).astype(np.float64)) for c in columns], axis=1
        )
    import scipy.sparse

    chosen = scipy.sparse.csr_array((np.ones(n), (np.arange(n), group)), shape=(n, g))
    sums = statistic.sums(chosen)
    whole = sums.sum(axis=-1, keepdims=True)
    step = max(1, _BLOCK * g // sums.size)
    parts = [statistic.of_sums(whole - sums[..., at : at + step]) for at in range(0, g, step)]
    return np.concatenate(parts, axis=1)


def _in_bag(statistic: Statistic, n: int, bag: Ints, weights: Floats) -> Floats:
    """Return the values under weights of the clusters of a bag, those of others being 0."""
    if isinstance(statistic, Linear):
        import scipy.sparse

        at = np.arange(len(bag))
        chosen = scipy.sparse.csr_array((np.ones(len(bag)), (bag, at)), shape=(n, len(bag)))
        return statistic.of_sums(np.asarray(statistic.sums(chosen) @ weights))
    step = max(1, _BLOCK // n)
    parts: list[Floats] = []
    for first in range(0, weights.shape[1], step):
        some = weights[:, first : first + step]
        of_all = np.zeros((n, some.shape[1]))
        of_all[bag] = some
        parts.append(statistic.at(of_all))
    return np.concatenate(parts, axis=1)


def _centred(values: Floats) -> Floats:
    """Return values minus the mean of those that are defined."""
    there = ~np.isnan(values)
    n = np.maximum(1, there.sum(axis=1, keepdims=True))
    centred: Floats = values - np.where(there, values, 0.0).sum(axis=1, keepdims=True) / n
    return centred


def _usable(deviations: Floats) -> Floats:
    """Return no deviation where it is not defined, and NaN throughout where too few are."""
    defined = ~np.isnan(deviations)
    enough = defined.mean(axis=1, keepdims=True) >= _DEFINED
    return np.where(enough, np.where(defined, deviations, 0.0), np.nan)
