"""Estimates with cluster-bootstrap intervals, and tests by random signs of whole clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Estimate, bootstrap
from metaeval.stats.resampling.cluster_sums import WithAverage, with_average
from metaeval.stats.resampling.paired import sign_test

if TYPE_CHECKING:
    from metaeval.stats.resampling.bootstrap import Resampler, Statistic

FEWEST_CLUSTERS = 6
"""With fewer clusters no pattern of signs has p < 0.05."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured(Estimate[Floats]):
    """Estimates of each aspect, then their mean (if there are several), shape (A + 1,), with p-values."""

    p: Floats
    """Two-sided; NaN where nothing is tested."""


def measured(
    statistic: Statistic,
    resampler: Resampler,
    contributions: Floats | None = None,
    *,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Measured:
    """Estimate a statistic of each aspect and its mean over the aspects, and test them.

    Parameters
    ----------
    statistic
        With one value per aspect.
    resampler
        Of the clusters.
    contributions
        What each cluster adds to the tested statistic, shape (A, n_clusters), zero in the mean without a
        bias; None for no test.
    bounds
        Of the statistic, as for `metaeval.stats.resampling.bootstrap.bootstrap`.
    """
    found = bootstrap(WithAverage(statistic), resampler, bounds=bounds)
    if contributions is None:
        p = np.full(len(found.value), np.nan)
    else:
        p = sign_test(with_average(contributions), resampler.swaps)
    return Measured(found.value, found.low, found.high, found.n, p)
