"""The alternative annotator test of whether a judge may replace a person (Calderon, Reichart & Dror 2025).

Each person is left out in turn. On every unit that the person and others rated, the judge and the person are
held against the others: who agrees with them at least as well? The judge replaces the person if the person's
advantage over it is below ε, by a one-sided t test. The tests of all people are corrected for their number.

The published test takes units as independent. Here its sums are sums by cluster, so the same test has
clusters of units: with each unit a cluster of its own, it is the published one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of_defined, ratio
from metaeval.stats.resampling.significance import freedom

Alignment: TypeAlias = Literal["accuracy", "rmse"]
"""How well a rating agrees with those of others: the share that is equal, or the negative root mean square
of the differences."""

_EQUAL = 1e-9  # scores of alignment that differ by less are equal
LEAST_UNITS = 30
"""Units that a person must have to be tested, as published."""
Q = 0.05
"""False discovery rate of the tests of all people, as published."""


@dataclass(frozen=True, slots=True, eq=False)
class Advantages:
    """A judge and each person against the others, unit by unit; arrays have shape (people, units)."""

    judge: Floats
    """1 where the judge agrees with the others at least as well as the person, else 0; NaN where the judge,
    the person or the others gave nothing."""
    person: Floats
    """1 where the person agrees at least as well as the judge."""

    @classmethod
    def of(cls, people: ArrayLike, judge: ArrayLike, alignment: Alignment) -> Advantages:
        """Compare ratings of people, shape (people, units), and a judge, shape (units,); NaN for none."""
        ratings, scores = np.asarray(people, dtype=np.float64), np.asarray(judge, dtype=np.float64)
        of_judge, of_person = (np.full(ratings.shape, np.nan) for _ in range(2))
        for j, own in enumerate(ratings):
            others = np.delete(ratings, j, axis=0)
            there = ~np.isnan(others)
            n = there.sum(axis=0)
            use = np.flatnonzero((n > 0) & ~np.isnan(own) & ~np.isnan(scores))
            best, mine = (_aligned(v[use], others[:, use], alignment) for v in (scores, own))
            of_judge[j, use] = best >= mine - _EQUAL
            of_person[j, use] = mine >= best - _EQUAL
        return cls(of_judge, of_person)

    @property
    def units(self) -> Ints:
        """How many units each person is tested on."""
        return np.asarray((~np.isnan(self.judge)).sum(axis=1))

    def take(self, people: NDArray[np.bool_]) -> Advantages:
        """Return the same of some of the people."""
        return Advantages(self.judge[people], self.person[people])

    def sums(self, of_unit: Ints, n_clusters: int) -> Floats:
        """Return what the test needs of each cluster, shape (6, people, clusters).

        They are: units n, the judge's advantages, d = the person's less the judge's, and d², d n and n² of
        the cluster's sums.
        """
        there = ~np.isnan(self.judge)
        by = np.stack(
            [
                [np.bincount(of_unit[use], row[use], n_clusters) for row, use in zip(v, there, strict=True)]
                for v in (there.astype(np.float64), self.judge, self.person - self.judge)
            ]
        )
        n, _, d = by
        return np.concatenate([by, np.stack([d * d, d * n, n * n])])


def _aligned(own: Floats, others: Floats, alignment: Alignment) -> Floats:
    """Return how well ratings, shape (units,), agree with those of others, shape (people, units)."""
    there = ~np.isnan(others)
    if alignment == "accuracy":
        value = np.where(there, np.abs(others - own) <= _EQUAL, 0.0)
    else:
        value = np.where(there, np.square(others - own), 0.0)
    mean: Floats = value.sum(axis=0) / there.sum(axis=0)
    return mean if alignment == "accuracy" else -np.sqrt(mean)


def advantage(sums: Floats) -> ClusterSums:
    """Return ρ as a statistic: the mean over people of the share of units on which the judge is as good."""
    return ClusterSums(sums[:2], lambda s: mean_of_defined(ratio(s[1], s[0]))[None])


def p_values(sums: Floats, n_clusters: ArrayLike, epsilon: ArrayLike, *, loses: bool = False) -> Floats:
    """Test for each person that the person's advantage over the judge is below ε.

    Parameters
    ----------
    sums
        Over all clusters, shape (6, people, …), as of `Advantages.sums`.
    n_clusters
        Clusters with a unit of the person; broadcast against (people, …).
    epsilon
        What the person's advantage may be, since a judge is cheaper; broadcast likewise.
    loses
        Test that the advantage is above ε instead.

    Returns
    -------
    ndarray
        One-sided p-values of the mean of d, whose variance is that of the clusters' sums about it, with a
        degree of freedom less than clusters. Without variation, 0 or 1; NaN of few clusters.
    """
    from scipy.special import stdtr

    n, _, d, dd, dn, nn = sums
    clusters = np.broadcast_to(np.asarray(n_clusters, dtype=np.float64), n.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = d / n
        squares = np.maximum(dd - 2 * mean * dn + mean**2 * nn, 0.0)
        squares = np.where(squares < _EQUAL, 0.0, squares)
        error = np.sqrt(squares * clusters / (clusters - 1)) / n
        apart = mean - epsilon
        t = np.where(apart == 0, 0.0, apart / error)
    p: Floats = stdtr(freedom(clusters), -t if loses else t)
    return p


def rejected(p: Floats, q: float = Q) -> NDArray[np.bool_]:
    """Say which tests, along the first axis, are rejected by Benjamini & Yekutieli (2001)."""
    m = len(p)
    order = np.argsort(p, axis=0)
    rank = np.arange(1, m + 1).reshape(-1, *[1] * (p.ndim - 1))
    below = np.take_along_axis(p, order, axis=0) <= rank / m * q / np.sum(1.0 / np.arange(1, m + 1))
    last = np.where(below.any(axis=0), m - np.argmax(below[::-1], axis=0), 0)
    found = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(found, order, rank <= last, axis=0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Replacing:
    """The test of one judge; arrays have shape (people,)."""

    sums: Floats
    """By cluster, shape (6, people, clusters)."""
    epsilon: Floats
    """Of each person."""

    @property
    def clusters(self) -> Ints:
        """Clusters with a unit of each person."""
        return np.asarray(np.count_nonzero(self.sums[0], axis=-1))

    @property
    def units(self) -> Ints:
        """Units of each person."""
        return np.asarray(self.sums[0].sum(axis=-1), dtype=np.int64)

    @property
    def shares(self) -> Floats:
        """The share of units on which the judge agrees at least as well."""
        return ratio(self.sums[1].sum(axis=-1), self.sums[0].sum(axis=-1))

    def p(self, epsilon: ArrayLike | None = None, *, loses: bool = False) -> Floats:
        """Return the p-value of each person."""
        by = self.epsilon if epsilon is None else epsilon
        return p_values(self.sums.sum(axis=-1), self.clusters, by, loses=loses)

    def winning_rate(self, epsilon: ArrayLike | None = None) -> float:
        """Return ω, the share of people whom the judge replaces; at one ε for all, if it is given."""
        return float(rejected(self.p(epsilon)).mean()) if self.sums.shape[1] else np.nan

    def losing_rate(self) -> float:
        """Return the share of people whose advantage over the judge is shown to be above ε."""
        return float(rejected(self.p(loses=True)).mean()) if self.sums.shape[1] else np.nan

    def decided(self, times: Sequence[float], *, people: int, studies: int = 400, seed: int = 0) -> Floats:
        """Return the share of simulated studies that tell whether the judge replaces half of the people.

        Parameters
        ----------
        times
            How many times as many clusters each study has; they are drawn from these with replacement.
        people
            How many people each study has; more than these are drawn with replacement.

        Returns
        -------
        ndarray
            Shape (times,). A study tells if ω, or the share of people shown to be better, is at least a half.
        """
        n_clusters, known = self.sums.shape[2], self.sums.shape[1]
        rng = np.random.default_rng(seed)
        found = []
        for more in times:
            size = round(more * n_clusters)
            # Of each study: how often each cluster was drawn, shape (clusters, studies).
            weights = rng.multinomial(size, np.full(n_clusters, 1 / n_clusters), studies).T.astype(float)
            chosen = np.arange(people)[:, None] % known
            if people != known:
                chosen = rng.integers(0, known, (people, studies))
            sums = (self.sums.reshape(-1, n_clusters) @ weights).reshape(6, known, studies)
            having = (self.sums[0] > 0).astype(float) @ weights
            drawn = np.take_along_axis(sums, np.broadcast_to(chosen, (people, studies))[None], axis=1)
            clusters = np.take_along_axis(having, np.broadcast_to(chosen, (people, studies)), axis=0)
            epsilon = self.epsilon[chosen]
            sides = [
                rejected(p_values(drawn, clusters, epsilon, loses=loses)).mean(axis=0) >= 0.5
                for loses in (False, True)
            ]
            found.append(float((sides[0] | sides[1]).mean()))
        return np.asarray(found)
