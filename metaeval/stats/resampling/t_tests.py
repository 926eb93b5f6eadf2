"""Paired tests above 100,000 clusters, by the covariance of two evaluators' estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.resampling.cluster_sums import Stack, WithAverage
from metaeval.stats.resampling.many_clusters import bag_deviations, is_smooth, jackknife_deviations
from metaeval.stats.resampling.threads import in_threads
from metaeval.stats.resampling.weights import EQUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Statistic
    from metaeval.stats.resampling.weights import Swaps


@dataclass(frozen=True, slots=True)
class Paired:
    """Paired tests of E evaluators against each other; arrays have shape (E, E), NaN on the diagonal."""

    difference: Floats
    """The row's estimate less the column's."""
    p: Floats
    """Two-sided."""
    p_greater: Floats
    """One-sided: that the row's coefficient is the higher."""
    made_by: str = "permutations"
    """Or ``jackknife``, or ``bags``."""
    least_p: float = 0.0
    """Of t tests by bags: no p is below."""

    @classmethod
    def empty(cls, n: int) -> Paired:
        """Return no test of n evaluators."""
        return cls(np.full((n, n), np.nan), np.full((n, n), np.nan), np.full((n, n), np.nan))


def t_tests(aspects_of: Callable[[int], Sequence[Statistic]], n: int, swaps: Swaps) -> Paired:
    """Test the difference of every two evaluators by Student's t.

    All variances and covariances come from one pass over the clusters per evaluator. The tests of statistics
    that are not smooth have no p below 1 / (columns of deviations + 1).

    Parameters
    ----------
    aspects_of
        Evaluator → its statistic for each aspect, of one value; tested is the mean over aspects.
    n
        Evaluators.
    swaps
        Gives the number of clusters and the seed.
    """
    from scipy.special import stdtr

    if n < 2:
        return Paired.empty(n)
    ones = np.ones((swaps.n_clusters, 1))
    smooth = all(is_smooth(s) for s in aspects_of(0))

    def found(e: int) -> tuple[float, Floats]:
        mean = WithAverage(Stack(aspects_of(e)))
        if smooth:
            apart = jackknife_deviations(mean, swaps.n_clusters, together=n)
        else:
            apart = bag_deviations(mean, swaps.n_clusters, swaps.seed)
        return float(mean.at(ones)[-1, 0]), apart[-1]

    values, deviations = zip(*in_threads(found, range(n)), strict=True)
    apart = np.stack(deviations)
    covariance, columns = apart @ apart.T, apart.shape[1]
    own = np.diag(covariance)
    difference = np.array(values)[:, None] - np.array(values)
    difference[np.abs(difference) <= EQUAL] = 0.0
    error = np.sqrt(np.maximum(0.0, own[:, None] + own - 2 * covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((difference == 0) & ~np.isnan(error), 0.0, difference / error)
    np.fill_diagonal(t, np.nan)
    np.fill_diagonal(difference, np.nan)
    least = 0.0 if smooth else 1 / (columns + 1)
    p, greater = (np.maximum(least, sides * stdtr(columns - 1, -v)) for sides, v in ((2, np.abs(t)), (1, t)))
    return Paired(difference, p, greater, "jackknife" if smooth else "bags", least)
