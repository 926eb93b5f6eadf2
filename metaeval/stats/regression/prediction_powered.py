"""Means of generators from ratings of few units and a judge's scores of all: prediction-powered inference.

The judge's mean over all units is corrected by its mean error on the rated ones, so a bias of the judge does
not bias the estimate; the better the judge follows the ratings, the narrower the interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio

_NOISE = 1e-12  # a smaller share than this is rounding


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """Estimates of generator means; all arrays have shape (n_generators,)."""

    estimate: Floats
    """NaN where no unit is rated."""
    ci_low: Floats
    """NaN where fewer than two clusters have a rated unit; so are the other figures of precision."""
    ci_high: Floats
    standard_error: Floats
    lambda_: Floats
    """Weight of the judge: 0 leaves the ratings alone. NaN where no unit is rated."""
    classical_estimate: Floats
    """Mean of the ratings alone."""
    classical_standard_error: Floats
    """Of that mean, clustered as well; both have ``n_labelled_clusters`` - 1 degrees of freedom."""
    n_labelled: Ints
    n_labelled_clusters: Ints
    """Clusters with a rated unit of the generator."""
    n_units: Ints


def estimate(  # noqa: PLR0917 - arrays, each label before its number, as in `metaeval.stats.ranking.orders`
    y: ArrayLike,
    f: ArrayLike,
    generator: ArrayLike,
    n_generators: int,
    cluster: ArrayLike,
    n_clusters: int,
    *,
    confidence: float = 0.95,
) -> PredictionPowered:
    """Estimate the mean rating of each generator over all its units.

    The estimate is ``mean_rated(y) + lambda * (mean_all(f) - mean_rated(f))`` (PPI++; Angelopoulos, Duchi &
    Zrnic 2023). Which units are rated must not depend on how good they are. Lambda minimises the variance
    over all generators together, which few users tell much better than one lambda each. It is not clipped, so
    that neither unit nor sign of the judge's scale matters. It is 0 where the judge cannot help (constant
    scores; every unit rated) and where there is too little to tune on (fewer than three clusters; one with
    all influence).

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
        Ratings, NaN where no person rated, and finite judge scores, shape (n,).
    generator, cluster
        Shape (n,), in ``range(n_generators)`` and ``range(n_clusters)``; units of a cluster, say of a user,
        depend on each other.
    confidence
        Of the intervals, between 0 and 1; from Student's t with C - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    ratings, scores = np.asarray(y, dtype=np.float64), np.asarray(f, dtype=np.float64)
    g, c = np.asarray(generator), np.asarray(cluster, dtype=np.int64)
    rated = ~np.isnan(ratings)
    of_rated = g[rated]
    n_units, n_rated = np.bincount(g, minlength=n_generators), np.bincount(of_rated, minlength=n_generators)

    def means(values: Floats, groups: Ints, n: Ints) -> Floats:
        return ratio(_sums(groups, n_generators, values), n)

    y_mean, f_rated = (means(v[rated], of_rated, n_rated) for v in (ratings, scores))
    f_all = means(scores, g, n_units)

    # Cells: the units of a generator in a cluster. Influences on the rated mean and on the correction.
    cells, cell = np.unique(g * n_clusters + c, return_inverse=True)
    owner = cells // n_clusters
    y_influence = _sums(cell[rated], cells.size, (ratings[rated] - y_mean[of_rated]) / n_rated[of_rated])
    f_influence = _sums(cell, cells.size, (scores - f_all[g]) / n_units[g])
    f_influence -= _sums(cell[rated], cells.size, (scores[rated] - f_rated[of_rated]) / n_rated[of_rated])
    has_rated = np.bincount(cell[rated], minlength=cells.size) > 0
    n_labelled_clusters = np.bincount(owner[has_rated], minlength=n_generators)

    def total(per_cell: Floats) -> Floats:
        return _sums(owner, n_generators, per_cell)

    spread = total(f_influence**2)
    largest_score, largest = np.zeros((2, n_generators))
    np.maximum.at(largest_score, g, np.abs(scores))
    np.maximum.at(largest, owner, f_influence**2)
    helps = (n_rated < n_units) & (spread > (_NOISE * largest_score) ** 2)
    helps &= (n_labelled_clusters > 2) & (largest < (1 - _NOISE) * spread)
    useful, home = helps[owner], cells % n_clusters
    # Lambda is common to all generators; what a cluster adds to it is left out for that cluster.
    squares, products = (
        _sums(home, n_clusters, np.where(useful, f_influence * v, 0.0)) for v in (f_influence, y_influence)
    )
    weight = np.where(n_rated > 0, 0.0, np.nan)
    weight[helps] = -products.sum() / squares.sum() if helps.any() else 0.0
    rest = squares.sum() - squares
    without = np.divide(products - products.sum(), rest, out=np.zeros(n_clusters), where=rest > 0)
    of_cell = np.where(useful, without[home], weight[owner])

    def standard_error(influence: Floats) -> Floats:
        return np.asarray(np.sqrt(total(influence**2) * n_labelled_clusters / freedom))

    freedom = np.where(n_labelled_clusters > 1, n_labelled_clusters - 1.0, np.nan)
    found = y_mean + weight * (f_all - f_rated)
    error = standard_error(y_influence + of_cell * f_influence)
    quantile = stdtrit(freedom, (1 + confidence) / 2)
    return PredictionPowered(
        found,
        found - quantile * error,
        found + quantile * error,
        error,
        weight,
        y_mean,
        standard_error(y_influence),
        n_rated,
        n_labelled_clusters,
        n_units,
    )


def _sums(cell: Ints, n_cells: int, values: Floats) -> Floats:
    return np.bincount(cell, weights=values, minlength=n_cells).astype(np.float64, copy=False)
