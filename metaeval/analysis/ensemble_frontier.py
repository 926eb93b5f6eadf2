"""Accuracy against cost: the Pareto frontier of ensembles, and how well choices hold on held-out clusters.

The ensemble that is best on some users is best there partly by chance. Cross-fitting corrects for that: every
choice is also made without a fold of the users and judged on that fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.base.progress import progress
from metaeval.engine.alignment.aligned import Bools
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.weights import held_out, percentile_interval
from metaeval.stats.subset_correlations import SubsetStatistic, every_subset

BEST, BEST_SINGLE = "best of any size", "best of size 1"
"""Rules for choosing an ensemble."""
_JUDGED = ("cross_fitted", "optimism", "cross_fitted_cost", "same")
_EQUAL = 1e-12  # accuracies closer than this differ by the order of their sums alone


@dataclass(frozen=True, slots=True)
class Choosing:
    """How ensembles are compared and chosen."""

    resamples: int = 10_000
    """Bootstrap resamples of the clusters, for intervals and tests on all of them."""
    resamples_in_fold: int = 1_000
    """Bootstrap resamples for tests on the training clusters of a split."""
    folds: int = 5
    repeats: int = 4
    """How often the clusters are split into folds."""
    alpha: float = 0.05
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Average:
    """The mean over aspects of the accuracy of some subsets, on some of the clusters."""

    accuracy: Accuracy
    subsets: Ints
    clusters: Ints | None = None
    """Those that weights are of; all, if None."""

    def at(self, weights: Floats) -> Floats:
        """Return the accuracies, shape (subsets, columns)."""
        if self.clusters is not None:
            of_clusters = weights
            weights = np.zeros((self.accuracy.n_clusters, of_clusters.shape[1]))
            weights[self.clusters] = of_clusters
        return self.accuracy.average(weights, self.subsets)


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """The accuracy of every subset of judges at one level, as a function of the clusters' weights."""

    level: str
    between: bool
    """Whether means are correlated."""
    statistics: tuple[SubsetStatistic, ...]
    """One per aspect."""
    n_judges: int
    n_clusters: int

    def by_aspect(self, weights: Floats | None = None, subsets: Ints | None = None) -> Floats:
        """Return Pearson's r, shape (aspects, subsets, columns); without weights all clusters are there."""
        weights = np.ones((self.n_clusters, 1)) if weights is None else weights
        return np.stack([s.at(weights, subsets) for s in self.statistics])

    def average(self, weights: Floats | None = None, subsets: Ints | None = None) -> Floats:
        """Return its mean over the aspects, shape (subsets, columns)."""
        return np.asarray(self.by_aspect(weights, subsets).mean(axis=0))


def frontier(
    accuracy: Accuracy, names: tuple[str, ...], cost: Floats, how: Choosing
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Find the frontier of a level by rising cost, and evaluate the rules for choosing an ensemble.

    The frontier and all choices go by the average over the aspects; ``cost``, shape (2^K − 1,), is of every
    subset as `every_subset` orders them. Returned are rows of
    `metaeval.analysis.ensemble_subsets.Ensembles`: points and choices.

    An ensemble is significantly worse than the best if, in all but a share ``alpha`` of the bootstrap
    resamples of the clusters, the best is better: p = (k + 1) / (n + 1), where k resamples are those in which
    it is not. Only ensembles on the frontier can be chosen as the cheapest: any other has a better one at no
    higher cost, even where that difference is not significant.
    """
    values = accuracy.average()[:, 0]
    members = every_subset(accuracy.n_judges)
    points = _frontier(values, cost, members.sum(axis=1))
    if not len(points):
        return [], []
    resampler = Resampler(accuracy.n_clusters, how.resamples, how.seed, how.confidence)
    replicates = resampler.replicates(_Average(accuracy, points))
    low, high = percentile_interval(replicates, resampler.level)
    if accuracy.between:
        # Resampled means are noisier than means: of their correlation, a bootstrap interval lies too low.
        low, high = np.full((2, len(points)), np.nan)
    p = _p_of(replicates)
    cheapest = _cheapest(p, how.alpha)
    found = [
        {
            "level": accuracy.level,
            "judges": chosen(names, members[subset]),
            "cost": float(cost[subset]),
            "accuracy": float(values[subset]),
            "ci_low": float(low[i]),
            "ci_high": float(high[i]),
            "p": float(p[i]),
            "worse": bool(p[i] <= how.alpha),
            "best": i == len(points) - 1,
            "cheapest": i == cheapest,
        }
        for i, subset in enumerate(points)
    ]
    choices = _choices(values, cost, members.sum(axis=1), points, cheapest)
    judged = _cross_fitted(accuracy, cost, choices, how)
    rules = [*(f"best of size {k + 1}" for k in range(len(names))), BEST]
    rules.append("cheapest not significantly worse than the best")
    return found, [
        {
            "level": accuracy.level,
            "rule": rule,
            "judges": chosen(names, members[s]),
            "cost": float(cost[s]),
            "in_sample": float(values[s]),
            **dict(zip(_JUDGED, map(float, result), strict=True)),
        }
        for rule, s, result in zip(rules, choices, judged.T, strict=True)
    ]


def chosen(names: Sequence[str], members: Bools) -> tuple[str, ...]:
    """Return the names of the members of a subset, which are marked in an array of shape (K,)."""
    return tuple(name for name, there in zip(names, members, strict=True) if there)


def _frontier(values: Floats, cost: Floats, size: Ints) -> Ints:
    """Return the subsets on the Pareto frontier, by rising cost and value.

    The last one is the best of all.
    """
    known = np.where(np.isnan(values), -np.inf, values)
    order = np.lexsort((size, -known, _rounded(cost)))
    before = np.maximum.accumulate(np.concatenate([[-np.inf], known[order][:-1]]))
    points: Ints = order[known[order] > before + _EQUAL]
    return points


def _rounded(cost: Floats) -> Floats:
    """Make costs equal that are so but for the order in which they were added up."""
    unit = np.abs(cost).max() or 1.0
    return np.asarray(np.round(cost / unit, 12))


def _p_of(replicates: Floats) -> Floats:
    """Return one-sided p-values of each row being as good as the last, from bootstrap replicates."""
    not_better = ~(replicates[-1] - replicates > _EQUAL)
    p: Floats = (not_better.sum(axis=1) + 1) / (replicates.shape[1] + 1)
    p[-1] = np.nan
    return p


def _cheapest(p: Floats, alpha: float) -> int:
    """Return the first point of a frontier that is not significantly worse than the last."""
    return int(np.argmin(p <= alpha))


def _choices(values: Floats, cost: Floats, size: Ints, points: Ints, cheapest: int) -> Ints:
    """Return the best subset of each size, the best of all, and the cheapest point, shape (K + 2,)."""
    known = np.where(np.isnan(values), -np.inf, values)
    order = np.lexsort((cost, -known, size))
    first = np.searchsorted(size[order], np.arange(1, size.max() + 1))
    return np.concatenate([order[first], points[-1:], points[[cheapest]]])


def _cross_fitted(accuracy: Accuracy, cost: Floats, on_all: Ints, how: Choosing) -> Floats:
    """Choose on the training clusters of each split, evaluate on the held-out ones; a row per `_JUDGED`."""
    splits = held_out(accuracy.n_clusters, folds=how.folds, repeats=how.repeats, seed=how.seed)
    size = every_subset(accuracy.n_judges).sum(axis=1)
    in_fold = accuracy.average(1.0 - splits)
    in_sample = accuracy.average(splits, on_all)
    choices = np.empty((len(on_all), splits.shape[1]), dtype=np.int64)
    found = np.full(choices.shape, np.nan)
    with progress(f"choosing ensembles, {accuracy.level} level", splits.shape[1]) as advance:
        for s, held in enumerate(splits.T):
            points = _frontier(in_fold[:, s], cost, size)
            if len(points):
                training = np.flatnonzero(held == 0)
                seed = int(np.random.SeedSequence([how.seed, 2, s]).generate_state(1)[0])
                resampler = Resampler(len(training), how.resamples_in_fold, seed)
                p = _p_of(resampler.replicates(_Average(accuracy, points, training)))
                choices[:, s] = _choices(in_fold[:, s], cost, size, points, _cheapest(p, how.alpha))
                found[:, s] = accuracy.average(held[:, None], choices[:, s])[:, 0]
            else:
                choices[:, s] = -1
            advance()
    defined = ~(np.isnan(found) | np.isnan(in_sample))
    weight = np.where(defined, splits.sum(axis=0), 0.0)
    total = np.where(defined.any(axis=1), weight.sum(axis=1), np.nan)
    mean = (np.where(defined, found, 0.0) * weight).sum(axis=1) / total
    of_chosen_on_all = (np.where(defined, in_sample, 0.0) * weight).sum(axis=1) / total
    paid = (np.where(defined, cost[choices], 0.0) * weight).sum(axis=1) / total
    return np.stack([mean, of_chosen_on_all - mean, paid, (choices == on_all[:, None]).mean(axis=1)])
