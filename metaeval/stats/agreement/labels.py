"""Agreement of two raters in labels, under weights of clusters: kappa and alpha from contingency tables.

The contingency table of labels is counted by cluster once. A column of weights then costs one matrix product,
and every measure is computed from the weighted table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.weighted.sums import Clusters, Matrix, by_cluster, dense, in_blocks

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
