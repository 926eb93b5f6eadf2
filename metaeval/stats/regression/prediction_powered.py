"""Means of generators from ratings of few units and a judge's scores of all: prediction-powered inference.

The judge's mean over all units is corrected by its mean error on the rated ones, so a bias of the judge does
not bias the estimate; the better the judge follows the ratings, the narrower the interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.significance import freedom

Bools = NDArray[np.bool_]
_NOISE = 1e-12  # a smaller share than this is rounding


@dataclass(frozen=True, slots=True, eq=False)
class CellSums:
    """Influences of clusters on estimates: what the units of one estimate in one cluster add to it."""

    cluster: Ints
    """Shape (cells,), in ``range(n_clusters)``."""
    owner: Ints
    """The estimate of each cell, shape (cells,)."""
    n_clusters: int
    ratings: Floats
    """Shape (cells,): on the means of ratings."""
    scores: Floats
    """Shape (judges, cells): on the judges' corrections; 0 where a judge cannot help."""
    rated: Bools
    """Shape (cells,): whether a unit is rated."""

    def tuned(self, weight: float | None = None) -> tuple[Floats, Floats]:
        """Return lambda of each judge, and the influence of each cell at that of the other clusters.

        Lambda minimises the sum of squared influences; or it is ``weight``, where that is given.
        """
        if weight is not None:
            return np.full(len(self.scores), weight), self.ratings + weight * self.scores.sum(axis=0)
        size = np.sqrt((self.scores**2).sum(axis=1, keepdims=True))
        size = np.where(size > 0, size, 1.0)
        scaled = self.scores / size
        products = np.stack([self._by_cluster(v * self.ratings) for v in scaled], axis=-1)
        squares = np.stack([[self._by_cluster(v) for v in row] for row in scaled[:, None] * scaled], axis=0)
        squares = np.moveaxis(squares, -1, 0)
        whole, part = squares.sum(axis=0), products.sum(axis=0)
        weight, without = _least(whole[None], part[None])[0], _least(whole - squares, part - products)
        return weight / size[:, 0], self.ratings + (without[self.cluster].T * scaled).sum(axis=0)

    def _by_cluster(self, values: Floats) -> Floats:
        return _sums(self.cluster, self.n_clusters, values)


@dataclass(frozen=True, slots=True, eq=False)
class PredictionPowered:
    """Estimates of generator means; arrays have shape (n_generators,), if not said otherwise."""

    estimate: Floats
    """NaN where no unit is rated."""
    ci_low: Floats
    """NaN where few clusters have a rated unit (`freedom`)."""
    ci_high: Floats
    standard_error: Floats
    lambda_: Floats
    """Weight of the judge: 0 leaves the ratings alone. NaN where no unit is rated. Shape (judges,
    n_generators) for several judges."""
    classical_estimate: Floats
    """Mean of the ratings alone."""
    classical_standard_error: Floats
    """Of that mean, clustered as well; both have ``n_labelled_clusters`` - 1 degrees of freedom."""
    n_labelled: Ints
    n_labelled_clusters: Ints
    """Clusters with a rated unit of the generator."""
    n_units: Ints
    cells: CellSums
    correction: Floats
    """Shape (judges, n_generators): mean score of all units less that of the rated; 0 where it is no help."""

    def combined(self, contrasts: ArrayLike, added: Floats | float = 0.0) -> Combined:
        """Estimate sums of the means, such as differences or means over strata, with a lambda of their own.

        Parameters
        ----------
        contrasts
            Weights of the means, shape (sums, n_generators); lambda is common to all rows.
        added
            Further influence of the clusters, shape (n_clusters, sums), where the weights are estimates.
        """
        from scipy.sparse import csr_array

        cells, weights = self.cells, np.asarray(contrasts, dtype=np.float64)
        shape = (cells.n_clusters, weights.shape[1])

        def summed(values: Floats, by: Floats = weights) -> Floats:
            return np.asarray(csr_array((values, (cells.cluster, cells.owner)), shape=shape) @ by.T)

        rated = summed(cells.rated.astype(np.float64), (weights != 0).astype(np.float64)) > 0
        cluster, owner = (place.ravel() for place in np.indices(rated.shape))
        ratings = (summed(cells.ratings) + added).ravel()
        scores = [summed(v).ravel() for v in cells.scores]
        sums = CellSums(cluster, owner, cells.n_clusters, ratings, np.stack(scores), rated.ravel())
        weight, influence = sums.tuned()
        value = np.nan_to_num(self.classical_estimate) @ weights.T + weight @ (self.correction @ weights.T)
        value[((weights != 0) & np.isnan(self.classical_estimate)).any(axis=1)] = np.nan
        n = rated.sum(axis=0)
        return Combined(value, _error(influence, owner, n) + 0 * value, n)


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """Sums of means; arrays have shape (sums,)."""

    estimate: Floats
    standard_error: Floats
    n_clusters: Ints
    """Clusters with a rating that the sum rests on: one more than the degrees of freedom."""

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return both ends of the interval by Student's t."""
        half = half_width(self.standard_error, self.n_clusters, confidence)
        return self.estimate - half, self.estimate + half

    def p(self) -> Floats:
        """Return two-sided p-values that the sums are zero; NaN as the intervals."""
        from scipy.special import stdtr

        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.abs(self.estimate / self.standard_error)
        return np.asarray(2 * stdtr(freedom(self.n_clusters), -t))


def half_width(standard_error: Floats, n_clusters: Ints, confidence: float) -> Floats:
    """Return half the width of an interval by Student's t; NaN of few clusters (`freedom`)."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom(n_clusters), (1 + confidence) / 2) * standard_error)


def _error(influence: Floats, owner: Ints, n: Ints) -> Floats:
    """Return standard errors from influences of cells; n clusters have ratings, shape (sums,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(_sums(owner, len(n), influence**2) * np.where(n > 1, n / (n - 1), np.nan)))


def estimate(  # noqa: PLR0917 - arrays, each label before its number, as in `metaeval.stats.ranking.orders`
    y: ArrayLike,
    f: ArrayLike,
    generator: ArrayLike,
    n_generators: int,
    cluster: ArrayLike,
    n_clusters: int,
    *,
    probability: ArrayLike | None = None,
    weight: float | None = None,
    confidence: float = 0.95,
) -> PredictionPowered:
    """Estimate the mean rating of each generator over all its units.

    The estimate is ``mean_rated(y) + lambda * (mean_all(f) - mean_rated(f))`` (PPI++; Angelopoulos, Duchi &
    Zrnic 2023). Which units are rated must not depend on how good they are, or must have known probabilities.
    Lambda minimises the variance over all generators together, which few users tell much better than one
    lambda each; several judges have a lambda each. It is not clipped, so that neither unit nor sign of the
    judge's scale matters. It is 0 where the judge cannot help (constant scores; every unit rated) and where
    there is too little to tune on (no more clusters than judges and one; one with all influence).

    Standard errors are clustered: the estimate is linearised, a cluster's influence sums over its units,
    rated or not, and the variance is ``C / (C - 1)`` times the sum of squared influences. So it covers that a
    rated unit enters all three means, and that a cluster may have units of both kinds. C counts the clusters
    with a rated unit, not all, because they are the few. A tuned lambda fits the very influences that it is
    to make small; so each cluster's influence is taken at the lambda that the other clusters give
    (leave-one-out residuals, as in HC3; MacKinnon & White 1985). Without this, intervals from 20 users cover
    too rarely.

    Parameters
    ----------
    y, f
        Ratings, NaN where no person rated, shape (n,), and finite scores of one judge, shape (n,), or of
        several, shape (judges, n).
    generator, cluster
        Shape (n,), in ``range(n_generators)`` and ``range(n_clusters)``; units of a cluster, say of a user,
        depend on each other.
    probability
        With which each unit was drawn to be rated, shape (n,): a rating counts its inverse (Hajek). All
        alike, if left out.
    weight
        Lambda, if it is not to be tuned: 1 is plain prediction-powered inference (Angelopoulos et al. 2023,
        Science 382, 669), 0 the ratings alone.
    confidence
        Of the intervals, between 0 and 1; from Student's t with C - 1 degrees of freedom.
    """
    ratings = np.asarray(y, dtype=np.float64)
    scores = np.atleast_2d(np.asarray(f, dtype=np.float64))
    g, c = np.asarray(generator), np.asarray(cluster, dtype=np.int64)
    rated = ~np.isnan(ratings)
    counts = np.ones(len(g)) if probability is None else 1 / np.asarray(probability, dtype=np.float64)
    counts = np.where(rated, counts, 0.0)
    n_units, n_rated = np.bincount(g, minlength=n_generators), np.bincount(g[rated], minlength=n_generators)
    weight_all = 1 / np.maximum(n_units, 1)[g]
    weight_rated = counts / np.where(n_rated > 0, _sums(g, n_generators, counts), 1.0)[g]

    # Cells: the units of a generator in a cluster. Influences on the rated mean and on the correction.
    cells, cell = np.unique(g * n_clusters + c, return_inverse=True)
    owner, home = cells // n_clusters, cells % n_clusters

    def means(values: Floats, weights: Floats) -> Floats:
        return _sums(g, n_generators, values * weights)

    def influence_of(values: Floats, weights: Floats, mean: Floats) -> Floats:
        return _sums(cell, cells.size, (values - mean[g]) * weights)

    known = np.where(rated, ratings, 0.0)
    y_mean = np.where(n_rated > 0, means(known, weight_rated), np.nan)
    y_influence = influence_of(known, weight_rated, np.nan_to_num(y_mean))
    f_all, f_rated = (np.stack([means(v, w) for v in scores]) for w in (weight_all, weight_rated))
    f_influence = np.stack(
        [
            influence_of(v, weight_all, whole) - influence_of(v, weight_rated, part)
            for v, whole, part in zip(scores, f_all, f_rated, strict=True)
        ]
    )
    has_rated = np.bincount(cell[rated], minlength=cells.size) > 0
    n_labelled_clusters = np.bincount(owner[has_rated], minlength=n_generators)

    spread = np.stack([_sums(owner, n_generators, v) for v in f_influence**2])
    largest_score, largest = np.zeros((2, *spread.shape))
    for k, values in enumerate(scores):
        np.maximum.at(largest_score[k], g, np.abs(values))
        np.maximum.at(largest[k], owner, f_influence[k] ** 2)
    helps = (spread > (_NOISE * largest_score) ** 2) & (largest < (1 - _NOISE) * spread)
    helps &= (n_rated < n_units) & (n_labelled_clusters > len(scores) + 1)
    of_cells = CellSums(
        home, owner, n_clusters, y_influence, np.where(helps[:, owner], f_influence, 0.0), has_rated
    )
    # Lambda is common to all generators; what a cluster adds to it is left out for that cluster.
    weights, influence = of_cells.tuned(weight)
    correction = np.where(helps, f_all - f_rated, 0.0)
    found = y_mean + weights @ correction
    error, classical_error = (_error(v, owner, n_labelled_clusters) for v in (influence, y_influence))
    half = half_width(error, n_labelled_clusters, confidence)
    of_judge = np.where(n_rated > 0, np.where(helps, weights[:, None], 0.0), np.nan)
    return PredictionPowered(
        found,
        found - half,
        found + half,
        error,
        of_judge if np.ndim(f) > 1 else of_judge[0],
        y_mean,
        classical_error,
        n_rated,
        n_labelled_clusters,
        n_units,
        of_cells,
        correction,
    )


def _least(squares: Floats, products: Floats) -> Floats:
    """Return the weights that make each sum of squares least, shape (n, judges)."""
    inverse = np.linalg.pinv(squares, rcond=_NOISE, hermitian=True)
    return np.asarray(-np.einsum("nij,nj->ni", inverse, products))


def _sums(cell: Ints, n_cells: int, values: Floats) -> Floats:
    return np.bincount(cell, weights=values, minlength=n_cells).astype(np.float64, copy=False)
