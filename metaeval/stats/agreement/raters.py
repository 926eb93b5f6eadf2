"""How far raters agree, and how reliable they are: kappa, alpha, concordance, intraclass correlations.

A missing value is NaN. So is an agreement that is undefined: without units, or without variation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from metaeval.base.errors import exact
from metaeval.stats.agreement.chance import CHANCE, chance_agreement
from metaeval.stats.coefficients.tables import Floats, Ints, changes, common_denominator, encode, lengths
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.weighted.sums import Clusters, Matrix, by_cluster, dense, in_blocks

Weights: TypeAlias = Literal["linear", "quadratic"]
Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

_EXACT = 2.0**53  # whole numbers below this are exact as floats
_ROUNDING = 1e-28  # a mean square of values in [0, 1] that is not above this is what rounding left of zero


@dataclass(frozen=True, slots=True)
class Intraclass:
    """The six intraclass correlations of Shrout & Fleiss (1979).

    One is NaN where the variance that it is a share of is not estimated to be above zero.
    """

    icc1: float
    """Of one rating, if each unit has raters of its own."""
    icc2: float
    """Of one rating, absolute agreement, if the raters are a sample of all raters."""
    icc3: float
    """Of one rating, consistency, if these raters are the only ones."""
    icc1k: float
    """The same three for the mean of ``n_raters`` ratings."""
    icc2k: float
    icc3k: float
    n_units: int
    n_raters: int
    n_dropped: int
    """Units left out because a rating is missing; ``n_units`` does not count them."""


def cohen_kappa(
    a: ArrayLike, b: ArrayLike, weights: Weights | None = None, *, labels: ArrayLike | None = None
) -> float:
    """Cohen's kappa (1960) of two raters, or his weighted kappa (1968).

    Parameters
    ----------
    a, b
        Categories as numbers, shape (n,). A unit with NaN in either is left out.
    weights
        None counts every disagreement as one; ``linear`` and ``quadratic`` by the difference of the positions
        of the two categories in ``labels``, or by its square.
    labels
        The categories in order; by default the distinct values of both raters.

    Raises
    ------
    ValueError
        If the shapes differ, a value is infinite or not among the labels, or labels repeat.
    """
    if weights not in {None, "linear", "quadratic"}:
        raise ValueError(f"weights must be None, 'linear' or 'quadratic', not {weights!r}")
    i, j, k = _positions(*_pairs(a, b), labels)
    n = len(i)
    if weights == "quadratic":
        observed = float(np.square(i - j, dtype=np.float64).sum())
        expected = n * float(i.var() + j.var() + (i.mean() - j.mean()) ** 2) if n else 0.0
    else:
        of_i, of_j = (np.bincount(codes, minlength=k).astype(np.float64) for codes in (i, j))
        if weights == "linear":
            # The distance of two positions is the number of places to cut the labels between them.
            up_to_i, up_to_j = np.cumsum(of_i), np.cumsum(of_j)
            observed = float(np.abs(i - j).sum())
            crossed = float((up_to_i * (n - up_to_j) + up_to_j * (n - up_to_i)).sum())
        else:
            observed = float(np.count_nonzero(i != j))
            crossed = n * float(n) - float(of_i @ of_j)
        expected = crossed / max(n, 1)
    return 1.0 - observed / expected if expected else np.nan


def krippendorff_alpha(ratings: ArrayLike, level: Level = "nominal") -> float:
    """Krippendorff's alpha (2011, "Computing Krippendorff's alpha-reliability") of any number of raters.

    Parameters
    ----------
    ratings
        Shape (raters, units); NaN where a rater has not rated. A unit with one rating does not count.
    level
        Weight of a disagreement: ``nominal`` 1, ``interval`` the squared difference of the ratings,
        ``ordinal`` that of their mid-ranks; ``ratio`` the square of difference over sum, of ratings that are
        not negative. All but the last need no table of coincidences.

    Raises
    ------
    ValueError
        If ratings are not two-dimensional, one is infinite (or negative at level ``ratio``), or the level is
        unknown.
    """
    if level not in get_args(Level):
        raise ValueError(f"level must be one of {', '.join(get_args(Level))}, not {level!r}")
    table = _array(ratings, "raters × units")
    if level == "ratio":
        one = np.ones((table.shape[1], 1))
        return float(chance_agreement(table, weights=level).at(one)[CHANCE.index("alpha"), 0])
    there = ~np.isnan(table)
    per_unit = there.sum(axis=0)
    there &= per_unit > 1
    values, unit = table[there], np.nonzero(there)[1]
    n = len(values)
    weight = 1.0 / np.maximum(per_unit - 1, 1)  # of a unit's pairs, so that each rating counts once
    if level == "interval":
        x = _unit_range(values)
    else:
        codes, _, counts = _coded(values)
        if level == "nominal":
            key = np.sort(unit * len(counts) + codes)
            first = np.flatnonzero(changes(key))
            same, where = lengths(first, n), key[first] // max(len(counts), 1)
            observed = float((same * (per_unit[where] - same) * weight[where]).sum())
            expected = n * float(n) - float(counts @ counts)
            return 1.0 - (n - 1) * observed / expected if expected else np.nan
        x = _unit_range((np.cumsum(counts) - counts / 2)[codes])
    means = np.bincount(unit, weights=x, minlength=len(per_unit)) / np.maximum(per_unit, 1)
    within = np.square(x - means[unit]) * (per_unit * weight)[unit]
    spread = float(x.var()) * n if n else 0.0  # exactly zero for a constant, which is all zeros here
    return 1.0 - (n - 1) * float(within.sum()) / (n * spread) if spread else np.nan


def concordance(x: ArrayLike, y: ArrayLike) -> float:
    """Lin's concordance correlation coefficient (1989), with population moments; shapes (n,).

    A unit with NaN in either is left out. NaN for fewer than two units, or one constant in both.

    Raises `ValueError` if the shapes differ or a value is infinite.
    """
    a, b = _pairs(x, y)
    if len(a) < 2:
        return np.nan
    a, b = _unit_range(np.stack([a, b]))  # scaled together: their distance counts
    u, v = a - a.mean(), b - b.mean()
    spread = float(u @ u + v @ v + len(a) * (a.mean() - b.mean()) ** 2)
    return 2.0 * float(u @ v) / spread if spread else np.nan


def mean_absolute_error(x: ArrayLike, y: ArrayLike) -> float:
    """Mean of the distances of x and y; arguments and errors as for `concordance`, NaN if no unit remains."""
    a, b = _pairs(x, y)
    return float(np.abs(a - b).mean()) if len(a) else np.nan


def centre(values: ArrayLike, group: ArrayLike, n_groups: int) -> Floats:
    """Subtract its group's mean from each value, so that equal deviations tie; NaN stays NaN, and out of it.

    Values and groups, in ``range(n_groups)``, have shape (n,). Deviations of ratings, and of means of
    ratings, are correctly rounded quotients of whole numbers: 2 - 5/3 and 3 - 8/3 are the same float.
    """
    v, g = np.asarray(values, dtype=np.float64), np.asarray(group)
    found, there = np.full(len(v), np.nan), ~np.isnan(v)
    v, g = v[there], g[there].astype(np.int64)
    counts = np.bincount(g, minlength=n_groups).astype(np.float64)
    denominator = common_denominator(v)
    if denominator is not None and np.abs(v).max() * denominator * counts.max() < _EXACT / 2:
        whole = np.rint(v * denominator)
        sums = np.bincount(g, weights=whole, minlength=n_groups)
        found[there] = (whole * counts[g] - sums[g]) / (counts[g] * denominator)
    else:
        means = np.bincount(g, weights=v, minlength=n_groups) / np.maximum(counts, 1)
        found[there] = v - means[g]
    return found


def intraclass(ratings: ArrayLike) -> Intraclass:
    """Intraclass correlations from the mean squares of units, raters and rest (Shrout & Fleiss 1979).

    Ratings have the shape (units, raters); a unit with NaN is dropped, and counted.

    Raises `ValueError` if ratings are not two-dimensional, or one is infinite.
    """
    table = _array(ratings, "units × raters")
    complete = table[~np.isnan(table).any(axis=1)]
    n, k = complete.shape
    units, raters, rest, within = _mean_squares(complete) if n > 1 and k > 1 else [0.0] * 4
    trend = (raters - rest) / max(n, 1)

    def ratio(above: float, below: float) -> float:
        return above / below if below > 0 else np.nan

    return Intraclass(
        icc1=ratio(units - within, units + (k - 1) * within),
        icc2=ratio(units - rest, units + (k - 1) * rest + k * trend),
        icc3=ratio(units - rest, units + (k - 1) * rest),
        icc1k=ratio(units - within, units),
        icc2k=ratio(units - rest, units + trend),
        icc3k=ratio(units - rest, units),
        n_units=n,
        n_raters=k,
        n_dropped=len(table) - n,
    )


def disattenuate(r: ArrayLike, reliability_x: ArrayLike, reliability_y: ArrayLike = 1.0) -> Floats:
    """Correct a correlation for unreliable measurement: r / √(reliability_x · reliability_y) (Spearman 1904).

    The arguments broadcast; so does the result, of shape () for three numbers. NaN where a reliability is NaN
    or not above zero. Nothing is clipped: a result above 1 means that a reliability was underestimated.
    """
    correlation, *both = (np.asarray(a, dtype=np.float64) for a in (r, reliability_x, reliability_y))
    of_x, of_y = (np.sqrt(np.where(a > 0, a, np.nan)) for a in both)
    return np.asarray(correlation / of_x / of_y)


def _array(values: ArrayLike, axes: str) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != axes.count("×") + 1:
        raise ValueError(f"expected an array of {axes}, not one of shape {found.shape}")
    if np.isinf(found).any():
        raise ValueError("values must be finite, or NaN where they are missing")
    return found


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return the units that have both values."""
    a, b = _array(x, "units"), _array(y, "units")
    if a.shape != b.shape:
        raise ValueError(f"both arrays must be of one length, not of {len(a)} and {len(b)}")
    both = ~(np.isnan(a) | np.isnan(b))
    return a[both], b[both]


def _coded(values: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the position of each value among the distinct ones, these, and how often each occurs."""
    coded = encode(values)
    codes = coded.codes.ravel()
    counts = np.bincount(codes, minlength=len(coded.values))
    present = counts > 0  # whole numbers are coded with gaps
    return (np.cumsum(present) - 1)[codes], coded.values[present], counts[present].astype(np.float64)


def _positions(a: Floats, b: Floats, labels: ArrayLike | None) -> tuple[Ints, Ints, int]:
    """Return the positions of two raters' values among the labels, and the number of labels."""
    codes, distinct, _ = _coded(np.concatenate([a, b]))
    known = distinct if labels is None else np.asarray(labels, dtype=np.float64).ravel()
    order = np.argsort(known)
    ordered = np.append(known[order], np.inf)
    if not np.isfinite(known).all() or (ordered[1:] == ordered[:-1]).any():
        raise ValueError("labels must be different finite numbers")
    at = np.searchsorted(ordered, distinct)
    strange = distinct[ordered[at] != distinct]
    if strange.size:
        raise ValueError(f"{exact(strange[0])} is not one of the labels")
    of_a, of_b = np.split(order[at][codes], [len(a)])
    return of_a, of_b, len(known)


def _unit_range(values: Floats) -> Floats:
    """Scale values to [0, 1], constants to 0, so that offsets cost no digits and squares are in range."""
    if not values.size:
        return values
    shifted: Floats = values / 2 - values.min() / 2  # halved, so that the difference cannot overflow
    return np.divide(shifted, shifted.max() or 1.0)


def _mean_squares(table: Floats) -> list[float]:
    """Return the mean squares between units, between raters, of the rest, and within units."""
    (n, k), x = table.shape, _unit_range(table)
    x = x - x.mean()
    of_units, of_raters = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True)
    found = (
        float(np.square(of_units).mean()) * n * k / (n - 1),
        float(np.square(of_raters).mean()) * n * k / (k - 1),
        float(np.square(x - of_units - of_raters).sum()) / ((n - 1) * (k - 1)),
        float(np.square(x - of_units).sum()) / (n * (k - 1)),
    )
    return [f if f > _ROUNDING * n * k else 0.0 for f in found]


def alpha_sums(ratings: Floats, of_unit: Ints, n_clusters: int, labels: int = 0) -> ClusterSums:
    """Return alpha as a statistic, whose values have shape (1, columns).

    Parameters
    ----------
    ratings
        Shape (raters, units); NaN where a rater has not rated. A unit with one rating does not count.
    of_unit
        The cluster of each unit, in ``range(n_clusters)``.
    labels
        Number of labels, which are the ratings: alpha is nominal. 0 for numbers, whose alpha is of intervals.
    """
    there = ~np.isnan(ratings)
    n = there.sum(axis=0)
    use = n > 1
    values, given, n = ratings[:, use], there[:, use], n[use].astype(np.float64)
    cluster = of_unit[use]

    def by_cluster(of_units: Floats) -> Floats:
        return np.stack([np.bincount(cluster, row, n_clusters) for row in np.atleast_2d(of_units)])

    if labels:
        counts = np.stack([(values == label).sum(axis=0) for label in range(labels)]).astype(np.float64)
        differ = (n**2 - np.square(counts).sum(axis=0)) / (n - 1)
        return ClusterSums(np.concatenate([by_cluster(differ), by_cluster(counts)]), _nominal)
    centre = values[given].mean() if given.any() else 0.0
    x = np.where(given, values - centre, 0.0)  # a large offset would cost digits
    total, squares = x.sum(axis=0), np.square(x).sum(axis=0)
    within = (squares - total**2 / n) * n / (n - 1)
    return ClusterSums(by_cluster(np.stack([within, n, total, squares])), _interval)


def _nominal(sums: Floats) -> Floats:
    differ, counts = sums[0], sums[1:]
    n = counts.sum(axis=0)
    return 1.0 - ratio((n - 1) * differ, n * n - np.square(counts).sum(axis=0))[None]


def _interval(sums: Floats) -> Floats:
    within, n, total, squares = sums
    spread = n * squares - total**2
    spread = np.where(spread > 1e-9 * np.maximum(n * squares, 1.0), spread, 0.0)
    return 1.0 - ratio((n - 1) * within, spread)[None]


KAPPAS = ("kappa", "linear", "quadratic")
"""Cohen's kappa, plain and with linear and quadratic weights."""


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """Agreement of two raters who gave k labels, as a function of the clusters' weights."""

    tables: Floats
    """Shape (k · k, n_clusters): units by the first rater's label, then the second's."""
    k: int
    nominal: bool = False
    """Whether labels have no order: kappa and alpha are all that is measured then."""

    @classmethod
    def of(
        cls, first: Ints, second: Ints, k: int, clusters: Clusters, *, nominal: bool = False
    ) -> LabelAgreement:
        """Count units by their labels, which are positions in ``range(k)`` of shape (n,), and cluster."""
        cell = first.astype(np.int64) * k + second
        return cls(dense(by_cluster(np.ones(len(cell)), cell, k * k, clusters)), k, nominal)

    def at(self, weights: Floats) -> Floats:
        """Return every measure, shape (measures, columns), under columns of weights; NaN where not defined.

        The measures are `KAPPAS`, alpha, kappa of 'the label at position 1 or above', 2 or above, and so on,
        then alpha of the same; of nominal labels kappa, and nominal alpha. Linear kappa weighs the kappas of
        the cuts (Vanbelle & Albert 2009, Statistical Methodology 6, 157).
        """
        return self.of_sums(self.sums(weights))

    def sums(self, weights: Matrix) -> Floats:
        """Return the weighted tables, shape (k · k, columns)."""
        return dense(self.tables @ weights)

    def of_sums(self, sums: Floats) -> Floats:
        """Return every measure from weighted tables."""
        return in_blocks(self._of_sums, sums, 3 * self.k * self.k)

    def _of_sums(self, sums: Floats) -> Floats:
        k = self.k
        table = sums.reshape(k, k, -1)
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        n = rows.sum(axis=0)
        at = np.arange(k, dtype=np.float64)

        differ = n - np.einsum("iib->b", table)
        by_chance = n * n - (rows * columns).sum(axis=0)
        found = [_kappa(differ, by_chance, n)]
        if self.nominal:
            pairs = 4 * n * n - np.square(rows + columns).sum(axis=0)
            return np.stack([*found, 1.0 - ratio((2 * n - 1) * 2 * differ, pairs)])

        # Counts up to each cut: by the first rater, the second, both.
        low_rows, low_columns = (np.cumsum(v, axis=0)[:-1] for v in (rows, columns))
        low_both = np.einsum("iib->ib", np.cumsum(np.cumsum(table, axis=0), axis=1))[:-1]
        apart = low_rows + low_columns - 2 * low_both
        apart_by_chance = low_rows * (n - low_columns) + low_columns * (n - low_rows)
        found.append(_kappa(apart.sum(axis=0), apart_by_chance.sum(axis=0), n))

        square = np.square(at[:, None] - at)
        squares = np.einsum("ij,ijb->b", square, table)
        squares_by_chance = np.einsum("ib,ij,jb->b", rows, square, columns, optimize=True)
        found.extend([_kappa(squares, squares_by_chance, n), _alpha(table, rows + columns)])
        found.extend(_kappa(a, e, n) for a, e in zip(apart, apart_by_chance, strict=True))
        below = low_rows + low_columns
        found.extend(1.0 - ratio(apart * (2 * n - 1), below * (2 * n - below)))
        return np.stack(found)


def _kappa(observed: Floats, crossed: Floats, n: Floats) -> Floats:
    """Return 1 - observed / (crossed / n), for disagreements of units and of all pairs of labels."""
    return 1.0 - ratio(observed * n, crossed)


def _alpha(table: Floats, counts: Floats) -> Floats:
    """Return ordinal alpha from tables, shape (k, k, columns), and the counts of labels, (k, columns)."""
    n = counts.sum(axis=0)
    ranks = np.cumsum(counts, axis=0) - counts / 2
    within = np.einsum("ijb,ijb->b", table, np.square(ranks[:, None] - ranks))
    centred = ranks - n / 2  # the mean of midranks is half their number
    spread = (counts * np.square(centred)).sum(axis=0)
    return 1.0 - ratio((n - 1) * within, n * spread)
