"""Means of clustered units against a bound: intervals, p-values, and the smallest detectable effect.

A gate tests many cells at once and needs small p-values that do not vary with a seed. So tests are by the
cluster-robust t statistic with the corrections for few and unequal clusters of Bell & McCaffrey (2002, Survey
Methodology 28, 169), which have a closed form for a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.resampling.significance import FEWEST_CLUSTERS

_ROUNDING = 1e-12  # relative spread below which all values are equal
POWER = 0.8


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """The mean of clustered units, with its standard error."""

    value: float
    """NaN without a unit."""
    se: float
    """Standard error (CR2); NaN for fewer than two clusters."""
    df: float
    """Degrees of freedom of Student's t: with clusters of one size, n_clusters - 1."""
    n_units: int
    n_clusters: int
    least: float
    """The lowest and the highest value that a unit can have."""
    most: float

    def p_above(self, bound: float) -> float:
        """Return the p-value of the mean being no higher than a bound: small if it is above."""
        return self._p(self.value - bound, self.value - self.least)

    def p_below(self, bound: float) -> float:
        """Return the p-value of the mean being no lower than a bound: small if it is below."""
        return self._p(bound - self.value, self.most - self.value)

    def _p(self, beyond: float, room: float) -> float:
        """Return the p-value of a mean that lies ``beyond`` a bound, with ``room`` to its end of the scale.

        If all G clusters are alike there is no standard error. But for the true mean to be at the bound, a
        share s of all clusters must differ, and none is among the G with probability (1 - s)^G ('rule of
        three', Hanley & Lippman-Hand 1983, JAMA 249, 1743).
        """
        from scipy.special import stdtr

        if math.isnan(self.se):
            return math.nan
        if self.se > 0:
            return float(stdtr(self.df, -beyond / self.se))
        if beyond <= 0:
            return 1.0
        return float(max(0.0, 1 - beyond / room) ** self.n_clusters) if room > 0 else 0.0

    def ends(self, alpha: float) -> tuple[float, float]:
        """Return one-sided lower and upper bounds at level alpha: an interval of confidence 1 - 2 alpha.

        NaN of few clusters.
        """
        from scipy.special import stdtrit

        if math.isnan(self.se) or self.n_clusters < FEWEST_CLUSTERS:
            return math.nan, math.nan
        if self.se > 0:
            away = float(stdtrit(self.df, 1 - alpha)) * self.se
            return max(self.least, self.value - away), min(self.most, self.value + away)
        share = 1 - alpha ** (1 / self.n_clusters)
        return self.value - share * (self.value - self.least), self.value + share * (self.most - self.value)

    def smallest_effect(self, alpha: float) -> float:
        """Return the smallest distance from a bound that a test detects with 80 % power.

        (t at 1 - alpha + t at the power) · standard error (Bloom 1995, Evaluation Review 19, 547); NaN where
        all clusters are alike.
        """
        from scipy.special import stdtrit

        if not self.se > 0:
            return math.nan
        return float(stdtrit(self.df, 1 - alpha) + stdtrit(self.df, POWER)) * self.se


def cluster_mean(values: ArrayLike, cluster: ArrayLike, *, least: float, most: float) -> ClusterMean:
    """Return the mean over units, with its cluster-robust standard error.

    Parameters
    ----------
    values
        Shape (n,), finite.
    cluster
        Shape (n,): any labels.
    least, most
        The lowest and the highest value that a unit can have.

    Notes
    -----
    With w the share of the units that are in cluster c, and e the sum of its units' deviations from the mean,
    the variance is Σ e² / (1 - w) / n², and the degrees of freedom are 1 / (Σ w² + (Σ q)² - Σ q²) with
    q = w² / (1 - w): Bell & McCaffrey's for a regression on a constant, under independent units.
    """
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 1 or not np.isfinite(y).all():
        raise ValueError("values must be finite and in one dimension")
    _, code, sizes = np.unique(np.asarray(cluster), return_inverse=True, return_counts=True)
    n, g = y.size, sizes.size
    if n == 0:
        return ClusterMean(math.nan, math.nan, math.nan, 0, 0, least, most)
    # Exact, so that the mean does not depend on the order of units, and equal values have no spread.
    mean = math.fsum(y.tolist()) / n
    if g < 2:
        return ClusterMean(mean, math.nan, math.nan, n, g, least, most)
    w = sizes / n
    e = np.bincount(code, y - mean, g)
    se = math.sqrt(float((e**2 / (1 - w)).sum())) / n
    if se <= _ROUNDING * max(1.0, float(np.abs(y).max())):
        se = 0.0
    q = w**2 / (1 - w)
    df = 1 / float((w**2).sum() + q.sum() ** 2 - (q**2).sum())
    return ClusterMean(mean, se, df, n, g, least, most)
