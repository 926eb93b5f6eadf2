"""Numbers of a judge with intervals and tests that take the units of a user as the one thing they are.

Intervals resample whole clusters (users, by default). Tests turn the signs of whole clusters: whatever a
statistic sums up of a cluster is as likely above zero as below it where there is no bias (for a coefficient,
the wild score bootstrap of Kline & Santos 2012, Journal of Econometric Methods 1, 23, with Rademacher's
weights; for a mean, the test of Fisher 1935 by signs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.resampling.weights import Resamples, Swaps, interval, left_out, permutation_p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats, Ints

FEWEST_CLUSTERS = 6
"""Of fewer clusters no pattern of signs is rare enough for p < 0.05."""
_KEPT = 2**25  # weights that are kept rather than drawn again for each number
_ROOM = 2.0**20  # how far within the bounds of coefficients other numbers are moved; exact in floats


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Estimates of one kind with intervals and p-values: of each aspect, then their mean, shape (A + 1,).

    Of a single aspect there is one; NaN where something is not defined, and p where nothing is tested.
    """

    estimate: Floats
    low: Floats
    high: Floats
    p: Floats

    @classmethod
    def none(cls, n: int) -> Numbers:
        """Return ``n`` numbers that are not defined."""
        return cls(*np.full((4, n), np.nan))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.estimate)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """How clusters are drawn; the same draws for all numbers, so that a seed names them."""

    n_clusters: int
    resamples: int
    seed: int
    confidence: float
    weights: tuple[Floats, ...] | None
    """Of the resamples, if they are kept."""

    @classmethod
    def of(
        cls, n_clusters: int, *, resamples: int = 10_000, seed: int = 0, confidence: float = 0.95
    ) -> Draws:
        """Draw once what there is room for; more is drawn again, the same, for each number."""
        room = n_clusters * resamples <= _KEPT
        kept = tuple(Resamples(n_clusters, resamples, seed).blocks()) if room else None
        return cls(n_clusters, resamples, seed, confidence, kept)

    def numbers(
        self,
        at: Callable[[Floats], Floats],
        contributions: Floats | None = None,
        *,
        bounds: tuple[float, float] = (-np.inf, np.inf),
    ) -> Numbers:
        """Return estimates with bootstrap intervals, widened for few clusters, and tests if there are any.

        Parameters
        ----------
        at
            From how often each cluster is there, shape (n_clusters, columns), to the statistics of the
            aspects, shape (A, columns).
        contributions
            What each cluster adds to the statistic under test, shape (A, n_clusters), which is zero in the
            mean if there is no bias; None to test nothing.
        bounds
            Of the statistics, such as 0 and 1 of shares. An interval of a share that is 0 or 1 in every
            cluster ends where so many clusters alike would be a rare chance (Clopper & Pearson 1934).
        """
        point = with_average(at(np.ones((self.n_clusters, 1))))[:, 0]
        replicates = self._over(
            at, self.weights or Resamples(self.n_clusters, self.resamples, self.seed).blocks()
        )
        without = self._over(at, left_out(self.n_clusters))
        low, high = _interval(point, replicates, without, self.n_clusters, self.confidence)
        if bounds == (0.0, 1.0) and self.n_clusters > 1:
            rare = 1 - ((1 - self.confidence) / 2) ** (1 / self.n_clusters)
            alike = np.nanmin(replicates, axis=1, initial=np.inf) == np.nanmax(
                replicates, axis=1, initial=-np.inf
            )
            high = np.where(alike & (point == 0), rare, high)
            low = np.where(alike & (point == 1), 1 - rare, low)
        p = np.full(len(point), np.nan) if contributions is None else self.test(contributions)
        return Numbers(point, np.clip(low, *bounds), np.clip(high, *bounds), p)

    def test(self, contributions: Floats) -> Floats:
        """Return two-sided p-values of sums over clusters, by random signs of the clusters.

        Parameters
        ----------
        contributions
            Shape (A, n_clusters).

        Returns
        -------
        ndarray
            Shape (A + 1,): of each aspect, then of their mean; (1,) of a single one. NaN where a
            contribution is, or fewer than two clusters contribute.
        """
        given = with_average(contributions)
        return permutation_p(*self._signed(given))

    def test_largest(self, contributions: Floats) -> float:
        """Return the p-value of the largest of several sums over clusters, shape (sums, n_clusters)."""
        seen, under = self._signed(contributions)
        return float(permutation_p(np.abs(seen).max(), np.abs(under).max(axis=0)))

    def _signed(self, given: Floats) -> tuple[Floats, Floats]:
        """Return the sums as they are, and with random signs of the clusters; of size one at most."""
        largest = np.abs(given).sum(axis=1, keepdims=True)
        scaled = given / np.where(largest > 0, largest, 1.0)
        taking_part = (np.abs(given) > 0).sum(axis=1)
        scaled[(taking_part == 1) | (self.n_clusters < 2)] = np.nan
        signs = (1 - 2 * swaps for swaps in Swaps(self.n_clusters, self.resamples, self.seed).blocks())
        return scaled.sum(axis=1), np.concatenate([scaled @ s for s in signs], axis=1)

    def _over(self, at: Callable[[Floats], Floats], blocks: Iterable[Floats]) -> Floats:
        return with_average(np.concatenate([at(weights) for weights in blocks], axis=1))


def with_average(of_aspects: Floats) -> Floats:
    """Add the mean over aspects as a last row, if there are two or more."""
    if len(of_aspects) == 1:
        return of_aspects
    return np.concatenate([of_aspects, of_aspects.mean(axis=0, keepdims=True)])


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide; NaN by zero."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    found: Floats = np.divide(above, below, out=np.full(shape, np.nan), where=below > 0)
    return found


def sums(values: Floats, use: NDArray[np.bool_], of_unit: Ints, n_clusters: int) -> Floats:
    """Sum values by cluster over the units in use.

    Parameters
    ----------
    values, use
        Shape (A, U).
    of_unit
        Shape (U,): the cluster of each unit.

    Returns
    -------
    ndarray
        Shape (A, n_clusters).
    """
    return np.stack(
        [np.bincount(of_unit[u], v[u], n_clusters) for v, u in zip(values, use, strict=True)]
    ).astype(np.float64, copy=False)


def _interval(
    point: Floats, replicates: Floats, without: Floats, n_clusters: int, confidence: float
) -> tuple[Floats, Floats]:
    """Return intervals of any numbers by what is made for coefficients, which keeps them in -1 … 1."""
    with np.errstate(invalid="ignore"):
        every = np.concatenate([point[:, None], replicates, without], axis=1)
        size = np.abs(np.where(np.isfinite(every), every, 0.0)).max(axis=1)
    _, exponent = np.frexp(size)
    by = np.ldexp(_ROOM, exponent)
    low, high = interval(
        point / by,
        replicates / by[:, None],
        without / by[:, None],
        n_clusters=n_clusters,
        confidence=confidence,
    )
    return low * by, high * by
