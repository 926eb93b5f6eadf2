"""Bins of a number, cut at its quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Floats, Ints


class QuantileBins(NamedTuple):
    """Where a number is cut."""

    cuts: Floats
    """Rising; a value that equals a cut lies below it."""

    @property
    def n(self) -> int:
        """How many bins there are."""
        return len(self.cuts) + 1

    def of(self, values: ArrayLike) -> Ints:
        """Return the bin of each value, from 0, the lowest."""
        return np.searchsorted(self.cuts, values, side="left")


def quantile_bins(values: ArrayLike, n: int) -> QuantileBins:
    """Cut a number at its quantiles 1/n, 2/n, and so on, into n bins of about equal size.

    A cut is a value that occurs (the inverted distribution function). Equal values are never split, so that
    bins differ in size where values are tied, and there are fewer where a value has more than its share.
    NaN is left out.
    """
    given = np.asarray(values, dtype=np.float64)
    given = given[~np.isnan(given)]
    if not len(given):
        return QuantileBins(np.empty(0))
    cuts = np.quantile(given, np.arange(1, n) / n, method="inverted_cdf")
    cuts = np.unique(cuts)
    return QuantileBins(cuts[cuts < given.max()])
