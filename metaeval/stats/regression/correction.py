"""Ways to correct a judge's mean by ratings of some units, and tests of whether that may be done at all.

Each way gives a mean per group of units (a generator, a system) and sums of these means, with intervals by
cluster. `metaeval.stats.regression.prediction_powered` has the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.isotonic import isotonic
from metaeval.stats.regression.prediction_powered import Bools, Combined, PredictionPowered, estimate
from metaeval.stats.resampling.significance import freedom
from metaeval.stats.weighted.sums import Clusters

LIKE = 0.001
"""The p-value below which units with ratings are not like the others."""
_FOLDS = 5
_SHUFFLES, _BLOCK = 3_000, 100
_CLEAR = 0.05  # a p-value of this size needs no more shuffles


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSample:
    """Units that judges scored, some of which people rated; n units, in groups whose means are wanted."""

    ratings: Floats
    """Shape (n,); NaN where nobody rated."""
    scores: Floats
    """Shape (judges, n); finite."""
    group: Ints
    n_groups: int
    clusters: Clusters
    probability: Floats | None = None
    """With which each unit was drawn to be rated, shape (n,); None if all alike."""

    @property
    def rated(self) -> Bools:
        """Which units people rated, shape (n,)."""
        return ~np.isnan(self.ratings)

    def powered(self, contrasts: ArrayLike, scores: Floats | None = None) -> Combined:
        """Estimate sums of the groups' means by PPI++, with these scores instead of the judges' if given."""
        by = self.scores if scores is None else scores
        return self._estimate(by, self.group, self.n_groups).combined(contrasts)

    def _estimate(self, scores: Floats, group: Ints, n_groups: int) -> PredictionPowered:
        clusters, p = self.clusters, self.probability
        return estimate(self.ratings, scores, group, n_groups, clusters.of_unit, clusters.n, probability=p)

    def labels_alone(self, contrasts: ArrayLike) -> Combined:
        """Estimate them from the ratings alone."""
        return self.powered(contrasts, np.zeros((1, len(self.ratings))))

    def judge_alone(self, contrasts: ArrayLike) -> Combined:
        """Return what the first judge says: its means, as if they were people's."""
        as_if = LabelledSample(self.scores[0], self.scores[:1], self.group, self.n_groups, self.clusters)
        return as_if.labels_alone(contrasts)

    def by_strata(self, contrasts: ArrayLike, n_strata: int = 3) -> Combined:
        """Estimate them within parts of alike scores of the first judge (Fisch et al. 2024), and add up.

        The parts hold as many units each. NaN where a part of a group has no rating.
        """
        weights = np.asarray(contrasts, dtype=np.float64)
        stratum = self.strata(n_strata)
        finer, n = self.group * n_strata + stratum, self.n_groups * n_strata
        of_group = np.bincount(self.group, minlength=self.n_groups)
        share = np.bincount(finer, minlength=n) / np.maximum(of_group, 1).repeat(n_strata)
        found = self._estimate(self.scores, finer, n)
        means = np.nan_to_num(found.estimate)
        whole = (share * means).reshape(-1, n_strata).sum(axis=1)
        # How many units of a part a cluster has is a matter of chance, too.
        off = (means[finer] - whole[self.group]) / of_group[self.group]
        cell = self.clusters.of_unit * self.n_groups + self.group
        added = np.bincount(cell, off, self.clusters.n * self.n_groups).reshape(-1, self.n_groups)
        return found.combined(weights.repeat(n_strata, axis=1) * share, added @ weights.T)

    def strata(self, n_strata: int) -> Ints:
        """Return the part of each unit, from 0: by the first judge's scores, of about as many units each.

        Units of one score are in one part, that of the middle one.
        """
        _, which, counts = np.unique(self.scores[0], return_inverse=True, return_counts=True)
        middle = np.cumsum(counts) - counts / 2
        return np.asarray(middle * n_strata / len(which), dtype=np.int64)[which]

    def mapped(self, seed: int) -> Floats:
        """Return ratings that isotonic regression predicts from the first judge's scores, shape (1, n).

        Cross-fitted: no cluster with ratings is predicted by a map that saw them; the others get the mean of
        the maps (cross-prediction-powered inference; Zrnic & Candes 2024).
        """
        score, of_unit, rated = self.scores[0], self.clusters.of_unit, self.rated
        labelled = np.unique(of_unit[rated])
        fold = np.full(self.clusters.n, -1)
        fold[np.random.default_rng(seed).permutation(labelled)] = np.arange(len(labelled)) % _FOLDS
        predictions = []
        for k in range(min(_FOLDS, len(labelled))):
            seen = rated & (fold[of_unit] != k)
            if seen.any():
                predictions.append((k, isotonic(score[seen], self.ratings[seen])(score)))
        if len(predictions) < 2:
            return np.zeros((1, len(score)))
        found = np.mean([values for _, values in predictions], axis=0)
        for k, values in predictions:
            found = np.where(fold[of_unit] == k, values, found)
        return np.asarray(found)[None]

    def rogan_gladen(self, confidence: float = 0.95) -> RoganGladen:
        """Correct the share of ones of all units, where ratings and the first judge's scores are 0 or 1."""
        return RoganGladen.of(self.ratings, self.scores[0], self.clusters, confidence)

    def informative(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return the correlation of each judge with the ratings, and the lower ends of one-sided intervals.

        For values of 0 and 1 it has the sign of Youden's J. The interval is by t, on sums by cluster.
        """
        from scipy.special import stdtrit

        rated = self.rated
        y, f = self.ratings[rated], self.scores[:, rated]
        of_unit = self.clusters.of_unit[rated]
        deviations = [v - v.mean(axis=-1, keepdims=True) for v in (y, f)]
        zy, zf = (d / np.maximum(d.std(axis=-1, keepdims=True), 1e-12) for d in deviations)
        r = (zy * zf).mean(axis=1)
        part = (zy * zf - r[:, None] * (zy**2 + zf**2) / 2) / len(y)
        sums = np.stack([np.bincount(of_unit, row, self.clusters.n) for row in part])
        n = len(np.unique(of_unit))
        error = np.sqrt((sums**2).sum(axis=1) * n / max(n - 1, 1))
        return r, r - stdtrit(freedom(n), confidence) * error

    def unlike(self, seed: int = 0, n_strata: int = 3) -> float:
        """Test whether units with ratings are like the others: by group, and by parts of alike scores.

        Shares of rated units are shuffled among clusters, and so many units of each cluster are drawn. The
        test holds its level however few the ratings are, whether whole clusters or single units were drawn.

        Returns
        -------
        float
            p-value of the largest difference, in standard deviations, between the shares of a part among
            rated and all units; 1 where all or no units are rated.
        """
        rated = self.rated
        if rated.all() or not rated.any():
            return 1.0
        rng, n = np.random.default_rng(seed), self.clusters.n
        order = np.argsort(self.clusters.of_unit, kind="stable")
        finer = self.group * n_strata + self.strata(n_strata)
        home, part = self.clusters.of_unit[order], np.unique(finer[order], return_inverse=True)[1]
        sizes = np.bincount(home, minlength=n)
        place = np.arange(len(home)) - (np.cumsum(sizes) - sizes)[home]  # of a unit in its cluster
        share = np.bincount(home, rated[order], n) / np.maximum(sizes, 1)
        flag, p, counts = rated[order], 0.0, list[Ints]()
        while p < _CLEAR and len(counts) < _SHUFFLES:
            for _ in range(_BLOCK):
                counts.append(np.bincount(part[flag], minlength=part.max() + 1))
                wanted = np.floor(rng.permutation(share) * sizes + rng.random(n))
                flag = (place < wanted[home])[np.argsort(home + rng.random(len(home)))]
            every = np.stack(counts)
            apart = every - every.sum(axis=1, keepdims=True) * np.bincount(part) / len(part)
            size = apart.std(axis=0)
            varied = size > 1e-9  # the rest is rounding: each cluster has as many units of the part
            most = np.abs(apart[:, varied] / size[varied]).max(axis=1, initial=0.0)
            p = float((most >= most[0] - 1e-9).mean())
        return p


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """A share of ones, corrected for the errors of a judge (Rogan & Gladen 1978)."""

    estimate: float
    """(p + q0 - 1) / (q0 + q1 - 1), within 0 and 1; NaN if J is not above 0, or nobody rated 0, or 1."""
    low: float
    high: float
    sensitivity: float
    specificity: float

    @property
    def youden(self) -> float:
        """Youden's J: sensitivity + specificity - 1; 0 of a judge that tells nothing."""
        return self.sensitivity + self.specificity - 1

    @classmethod
    def of(
        cls, ratings: ArrayLike, scores: ArrayLike, clusters: Clusters, confidence: float = 0.95
    ) -> RoganGladen:
        """Correct the share of ones among scores, shape (n,), by ratings, 0, 1, or NaN for none.

        The interval takes into account that share, sensitivity and specificity are all estimates (Lee, Zeng,
        Jeong, Sohn & Lee 2025, arXiv:2511.21140). There, units are independent; here, the numbers of units
        are divided by the design effects of the three shares over the clusters, if these are above 1.
        """
        from scipy.special import ndtri

        y, f = np.asarray(ratings, dtype=np.float64), np.asarray(scores, dtype=np.float64)
        parts = [np.ones(len(y), dtype=bool), y == 0, y == 1]
        hits = [f, 1 - f, f]
        if not all(part.any() for part in parts):
            return cls(np.nan, np.nan, np.nan, np.nan, np.nan)
        shares = [float(h[part].mean()) for h, part in zip(hits, parts, strict=True)]
        n, m0, m1 = (
            part.sum() / _design_effect(h[part], clusters.of_unit[part])
            for h, part in zip(hits, parts, strict=True)
        )
        plain = shares[1] + shares[2] - 1
        if plain <= 0:
            return cls(np.nan, np.nan, np.nan, shares[2], shares[1])
        z = float(ndtri((1 + confidence) / 2))
        p, q0, q1 = (
            (shares[0] * n + z * z / 2) / (n + z * z),
            *((share * m + 1) / (m + 2) for share, m in zip(shares[1:], (m0, m1), strict=True)),
        )
        j = q0 + q1 - 1
        of_p, of_0, of_1 = p * (1 - p) / (n + z * z), q0 * (1 - q0) / (m0 + 2), q1 * (1 - q1) / (m1 + 2)
        theta = (p + q0 - 1) / j
        middle = theta + 2 * z * z * (theta * of_1 - (1 - theta) * of_0)
        half = z * np.sqrt(of_p + (1 - theta) ** 2 * of_0 + theta**2 * of_1) / j
        found, low, high = np.clip([(shares[0] + shares[1] - 1) / plain, middle - half, middle + half], 0, 1)
        return cls(float(found), float(low), float(high), shares[2], shares[1])


def _design_effect(hits: Floats, cluster: Ints) -> float:
    """Return by how much clusters make the variance of a share larger than that of independent units."""
    share, n = hits.mean(), len(hits)
    used = np.unique(cluster, return_inverse=True)[1]
    k = used.max() + 1
    if k < 2 or share in (0, 1):
        return 1.0
    between = np.square(np.bincount(used, hits - share)).sum() * k / (k - 1)
    return max(1.0, float(between / (n * share * (1 - share))))
