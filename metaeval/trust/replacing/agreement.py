"""The agreement of a judge with people, beside the agreement that people reach among themselves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import mean_of_defined, ratio
from metaeval.stats.weighted.sums import Clusters, Matrix, by_cluster, dense, in_blocks
from metaeval.trust.replacing.people import Panel

_LEAST = 10
"""Units that two must have in common to be compared."""
_MOST = 2**24
"""Numbers by pair and cluster; more people than this allows are not compared in pairs."""
_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class PanelAgreement:
    """Mean agreement of a judge with people, of people among themselves, and the difference.

    The agreement of two is Pearson's r, or Cohen's κ of words, from sums by cluster of the units that both
    rated. Each person's agreement is the mean over the others; people's is the mean over persons.
    """

    by_cluster: Matrix
    """Shape (sums · pairs, clusters)."""
    pairs: Ints
    """Shape (pairs, 2): positions among the people; -1 is the judge."""
    labels: int
    """Number of words; 0 for numbers."""

    def at(self, weights: Floats) -> Floats:
        """Return judge, people, and judge − people under columns of weights, shape (3, columns)."""
        return in_blocks(self._at, weights, self.by_cluster.shape[0])

    def _at(self, weights: Floats) -> Floats:
        of_judge, of_people = self.by_person(weights)
        judge, people = mean_of_defined(of_judge), mean_of_defined(of_people)
        return np.stack([judge, people, judge - people])

    def by_person(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return each person's agreement with the judge, and with the others, shape (people, columns)."""
        pairs = len(self.pairs)
        sums = dense(self.by_cluster @ weights).reshape(-1, pairs, weights.shape[1])
        of_pair = _kappa(sums, self.labels) if self.labels else _pearson(sums)
        n = self.pairs.max() + 1
        found = np.full((2, n, weights.shape[1]), np.nan)
        judged = self.pairs[:, 0] < 0
        found[0, self.pairs[judged, 1]] = of_pair[judged]
        for j in range(n):
            found[1, j] = mean_of_defined(of_pair[~judged & (self.pairs == j).any(axis=1)])
        return found[0], found[1]


def _pearson(sums: Floats) -> Floats:
    n, x, y, xx, yy, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y))
    return np.where(np.isfinite(r), r, np.nan)


def _kappa(sums: Floats, k: int) -> Floats:
    table = sums.reshape(k, k, *sums.shape[1:])
    n = table.sum(axis=(0, 1))
    same = np.einsum("ii...->...", table)
    crossed = (table.sum(axis=0) * table.sum(axis=1)).sum(axis=0)
    return 1.0 - ratio((n - same) * n, n * n - crossed)


def agreement_of(panel: Panel, resampler: Resampler, margin: float) -> dict[str, Any] | None:
    """Return a row on the agreement of a judge and people; None if it cannot be measured."""
    found = _agreement(panel)
    if found is None:
        return None
    values = bootstrap(
        found, resampler.at_most(_RESAMPLES).of(panel.n_clusters), bounds=((-1, 1), (-1, 1), (-2, 2))
    )
    judge, people, difference = each(values)
    of_people = found.by_person(np.ones((panel.n_clusters, 1)))[1][:, 0]
    of_people = of_people[~np.isnan(of_people)]
    decided = "yes" if difference.low > -margin else "no" if difference.high < -margin else "undecided"
    spread = float(of_people.std(ddof=1)) if of_people.size > 2 else 0.0
    return {
        "measure": "κ" if found.labels else "r",
        **judge.row("judge"),
        **people.row("people"),
        **difference.row("difference"),
        "z": difference.value / spread if spread > 0 else np.nan,
        "non_inferior": decided,
    }


def _agreement(panel: Panel) -> PanelAgreement | None:
    values = np.vstack([panel.ratings, panel.scores])
    there = ~np.isnan(values)
    n, judge = len(panel.ratings), len(panel.ratings)
    labels = len(panel.scale.labels)
    if labels and not panel.on_scale:
        return None
    pairs = [(a, b) for a, b in combinations(range(n + 1), 2) if (there[a] & there[b]).sum() >= _LEAST]
    of_judge = sum(b == judge for _, b in pairs)
    size = max(labels * labels, 6) * len(pairs) * panel.n_clusters
    if not of_judge or of_judge == len(pairs) or size > _MOST * 8:
        return None
    clusters = Clusters(panel.cluster, panel.n_clusters)
    parts = [_sums(values[a], values[b], there[a] & there[b], labels, clusters) for a, b in pairs]
    ordered = np.array([(-1, a) if b == judge else (a, b) for a, b in pairs])
    return PanelAgreement(np.stack(parts, axis=1).reshape(-1, panel.n_clusters), ordered, labels)


def _sums(x: Floats, y: Floats, use: NDArray[np.bool_], labels: int, clusters: Clusters) -> Floats:
    """Return the sums of two by cluster, shape (sums, clusters)."""
    some = clusters.take(use)
    a, b = x[use], y[use]
    if labels:
        return dense(by_cluster(np.ones(len(a)), (a * labels + b).astype(np.int64), labels**2, some))
    a, b = a - a.mean(), b - b.mean()
    moments = np.stack([np.ones(len(a)), a, b, a * a, b * b, a * b])
    return dense(by_cluster(moments, np.zeros(len(a), dtype=np.int64), 1, some))
