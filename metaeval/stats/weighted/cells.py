"""Rank coefficients over all units, from how often each pair of values occurs in every cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import distinct, encode
from metaeval.stats.weighted.crossed import Crossed
from metaeval.stats.weighted.sums import Clusters, by_cluster, dense

if TYPE_CHECKING:
    from metaeval.stats.coefficients.levels import Undefined
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.weighted.sums import Matrix

MOST = 256
"""Pairs of values up to which they are counted: a scale of 16 points against another one."""


@dataclass(frozen=True, slots=True)
class CellCounts:
    """A rank coefficient of units whose x and y have few values."""

    x: Floats
    """Shape (cells,)."""
    y: Floats
    by_cluster: Matrix
    """Shape (cells, n_clusters): units of each cluster."""
    coefficient: str
    undefined: Undefined

    @classmethod
    def of(
        cls, x: Floats, y: Floats, clusters: Clusters, coefficient: str, undefined: Undefined
    ) -> CellCounts | None:
        """Count units with values x and y, shape (n,); None if they have many."""
        a, b = (encode(v).codes[0].astype(np.int64) for v in (x, y))
        cells, cell = distinct(a * (int(b.max(initial=0)) + 1) + b)
        if not 0 < len(cells) <= MOST:
            return None
        example = np.empty(len(cells), dtype=np.int64)
        example[cell] = np.arange(len(x))
        counts = by_cluster(np.ones(len(x)), cell, len(cells), clusters)
        return cls(x[example], y[example], counts, coefficient, undefined)

    def beside(self, other: CellCounts) -> CellCounts:
        """Return the cells of both, for sums of the one and the other."""
        x, y = np.append(self.x, other.x), np.append(self.y, other.y)
        return replace(self, x=x, y=y)

    def at(self, weights: Floats) -> Floats:
        """Return the coefficient under each column of weights, shape (1, columns)."""
        return self.of_sums(self.sums(weights))

    def sums(self, weights: Matrix) -> Floats:
        """Return the weighted counts, shape (cells, columns)."""
        return dense(self.by_cluster @ weights)

    def of_sums(self, sums: Floats) -> Floats:
        """Return the coefficient of counts, shape (1, columns)."""
        # A cell is a cluster of one unit, and its count the weight.
        n = len(self.x)
        each, together = Clusters(np.arange(n), n), Grouping(np.zeros(n, dtype=np.int64), 1)
        return Crossed.of(self.x, self.y, together, each, (self.coefficient,), undefined=self.undefined).at(
            sums
        )
