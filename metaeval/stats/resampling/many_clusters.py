"""The jackknife, for intervals and tests above 100,000 clusters.

Ten thousand resamples of so many clusters take minutes per statistic. Above `LIMIT` ``bootstrap``,
``paired_test`` and ``paired_permutation`` therefore take the jackknife of a smooth statistic, such as a mean,
a ratio, a kappa or a correlation over units. A statistic that is not smooth, such as Kendall's τ of the means
of systems, says so with ``smooth = False``; it is resampled and swapped as below the limit.

The jackknife returns deviations D, shape (values, columns), with D Dᵀ the covariance of the values. One pass
then gives the intervals of all evaluators, and the tests of all pairs of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import Linear, Stack, WithAverage

if TYPE_CHECKING:
    from metaeval.stats.resampling.bootstrap import Statistic

LIMIT = 100_000
"""Clusters up to which all statistics are resampled and swapped."""

_GROUPS = 1_000  # groups that are left out where a statistic is not a function of sums
_ROOM = 2**25  # numbers kept at a time: sums by cluster or by group
_BLOCK = 2**22  # numbers worked with at a time
_DEFINED = 0.9  # share of the columns that must be defined


def is_smooth(statistic: Statistic) -> bool:
    """Say whether a statistic, and whatever it is made of, is smooth."""
    return all(getattr(leaf, "smooth", True) for leaf in _leaves(statistic))


def jackknife_deviations(statistic: Statistic, n: int, *, together: int = 1) -> Floats:
    """Leave out clusters in turn (Efron & Stein 1981).

    A function of sums is evaluated at the sums less those of one cluster. Where sums of all clusters do not
    fit in memory (``together`` results are kept at a time), or the statistic is no such function, random
    groups of clusters are left out (1,000 or more). A statistic that knows its derivatives uses them: the
    infinitesimal jackknife (Jaeckel 1972).

    Returns
    -------
    ndarray
        Shape (values, groups), by the root of (g - 1) / g; NaN where less than nine tenths are defined.
    """
    leaves = _leaves(statistic)
    known: list[Floats | None] = [getattr(leaf, "influence", lambda: None)() for leaf in leaves]
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
