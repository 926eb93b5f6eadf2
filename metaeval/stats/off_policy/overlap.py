"""How far a log overlaps with what it is to be weighted to: propensities, weights and balance, by bin.

A row has the propensity p and the weight w = π / p, where π is what the evaluated policy would have done. If
the propensities are right and none is 0, the weights of a bin add up to the policy's own mass in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints

QUANTILES = (0.01, 0.05, 0.25, 0.5)
THRESHOLDS = (0.001, 0.01, 0.1)


@dataclass(frozen=True, slots=True)
class WeightTotals:
    """What the weights of a log, or of a bin of it, add up to."""

    expected: float
    """What ``total`` should be, such as the rounds; 0 if that is not known."""
    total: float
    squares: float
    largest: float
    error: float = np.nan
    """Standard error of the mean weight, clusters drawn at random."""

    @property
    def mean(self) -> float:
        """The mean weight, whose expectation is 1 if the log could show what the policy would."""
        return self.total / self.expected if self.expected else np.nan

    @property
    def effective(self) -> float:
        """The effective sample size, (Σw)² / Σw² (Kish 1965)."""
        return self.total**2 / self.squares if self.squares else 0.0

    @property
    def largest_share(self) -> float:
        """The share of all weight that the largest one has."""
        return self.largest / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class BinOverlap:
    """Propensities and weights of the rows of each of B bins; NaN for a bin without rows."""

    n: Ints
    minimum: Floats
    """The least propensity."""
    quantiles: Floats
    """Of the propensities, shape (B, quantiles)."""
    below: Floats
    """The share of the rows with a propensity below each threshold, shape (B, thresholds)."""
    weights: list[WeightTotals]


def overlap_of(propensity: Floats, weight: Floats, bin_of: Ints, expected: Floats) -> BinOverlap:
    """Describe propensities and weights by bin.

    Parameters
    ----------
    propensity, weight, bin_of
        Of each row, shape (n,); bins are numbered from 0.
    expected
        What the weights of each bin should add up to, shape (B,).
    """
    n_bins = len(expected)
    order = np.argsort(bin_of.astype(np.int16), kind="stable")  # by counting, for numbers are small
    n = np.bincount(bin_of, minlength=n_bins)
    parts = np.split(propensity[order], np.cumsum(n)[:-1])
    quantiles = [np.quantile(p, (0, *QUANTILES)) if len(p) else np.full(5, np.nan) for p in parts]
    below = [[np.count_nonzero(p < t) / max(1, len(p)) for t in THRESHOLDS] for p in parts]
    total, squares = (np.bincount(bin_of, w, n_bins).astype(np.float64) for w in (weight, weight**2))
    largest = np.zeros(n_bins)
    np.maximum.at(largest, bin_of, weight)
    found = np.array(quantiles).reshape(n_bins, -1)
    return BinOverlap(
        n,
        found[:, 0],
        found[:, 1:],
        np.where(n[:, None] > 0, np.array(below).reshape(n_bins, -1), np.nan),
        [WeightTotals(*map(float, of)) for of in zip(expected, total, squares, largest, strict=True)],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """Standardised mean differences of covariates, shape (covariates,): log less target, in target's SDs."""

    before: Floats
    after: Floats
    """Under the weights."""


def balance(values: Floats, rows: Floats, weight: Floats, target: Floats) -> Balance:
    """Compare covariates of a log with those that it is weighted to.

    The numbers are those of units, such as items, that have the same covariates in each of their rows.

    Parameters
    ----------
    values
        Of each unit, shape (units, covariates).
    rows, weight
        How many rows of the log are about each unit, and what their weights add up to.
    target
        How much each unit counts where the log is weighted to; at least one counts.

    Returns
    -------
    Balance
        NaN for a covariate that does not vary.
    """
    mean = target @ values / target.sum()
    spread = np.sqrt(np.maximum(target @ (values - mean) ** 2 / target.sum(), 0.0))
    before, after = (ratio(of @ values / of.sum() - mean, spread) for of in (rows, weight))
    return Balance(before, after)
