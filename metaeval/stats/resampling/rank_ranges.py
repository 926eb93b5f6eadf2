"""Ranks that the data allow each of several evaluators, and which of them may be the best.

All of it is made of paired differences between the contributions of clusters, studentised in bootstrap
resamples (Hall 1988, The Annals of Statistics 16, 927). An evaluator is compared with the k − 1 others, not
every two with each other: that is why fewer clusters show more than a correction over all pairs does.

Examples
--------
>>> import numpy as np
>>> from metaeval.stats.resampling.rank_ranges import rank_ranges
>>> rng = np.random.default_rng(0)
>>> right = rng.normal(size=(4, 30)) + [[1.0], [0.9], [0.2], [0.0]]  # by evaluator and user
>>> found = rank_ranges(right.mean(axis=1), right, draws=2_000)
>>> [f"{low:.0f}–{high:.0f}" for low, high in zip(found.low, found.high)]
['1–3', '1–2', '2–4', '3–4']
>>> found.p_best.round(2)
array([0.29, 0.97, 0.  , 0.  ])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import jackknife_deviations
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.resampling.weights import EQUAL, Resamples, in_threads

if TYPE_CHECKING:
    from metaeval.stats.resampling.cluster_sums import Statistic

Bools: TypeAlias = NDArray[np.bool_]

DRAWS = 10_000
FEWEST_FOR_ALL = 10
"""Clusters from which the ranges of more than `MOST_BY_HOLM` evaluators hold together."""
MOST_BY_HOLM = 30
"""Evaluators up to which Holm's rejections give ranges that hold together."""

_ROOM = 2**22  # numbers worked with at a time
_FEWEST_COLUMNS = 32
_MOST_BLOCKS = 500  # of clusters; more of them are put together at random
_FLOOR = 0.4  # of the standard error: a resample of few distinct clusters has nearly none
_NO_ERROR = 1e-9  # of the evaluators' own standard errors: what rounding leaves


@dataclass(frozen=True, slots=True, eq=False)
class RankRanges:
    """Ranks of k evaluators, 1 the best; NaN for one that is not compared."""

    low: Floats
    """Shape (k,): 1 + the number that is shown better."""
    high: Floats
    """The number of evaluators less those that are shown worse. Each range holds its evaluator's rank."""
    low_all: Floats
    high_all: Floats
    """The same of ranges that hold all ranks at once; NaN if they cannot be had."""
    p_best: Floats
    """Shape (k,), one-sided: that no other evaluator is better. Above α it may be the best."""
    p_better: Floats
    """Shape (k, k), one-sided: that the row's evaluator is better than the column's, corrected over all that
    are compared with the column's."""
    error: Floats
    """Shape (k, k): standard errors of differences, by the jackknife; NaN where one does not vary."""
    reach: Floats
    """Shape (k,): how many standard errors another is above each by chance, at 1 − α the most."""
    untested: int
    """Pairs of unequal estimates whose difference does not vary over clusters; both stay possible."""


def contributions(statistic: Statistic, n: int) -> Floats:
    """Return what clusters contribute to each value of a statistic, centred: shape (values, n, or 500).

    These are pseudo-values of the jackknife, n θ − (n − 1) θ without the cluster (Tukey 1958), or n times
    the derivatives by the weights, less their mean. The mean of the contributions varies as the value does.
    More clusters are put together at random.
    """
    deviations = jackknife_deviations(statistic, n)
    g = deviations.shape[1]
    if g > _MOST_BLOCKS:
        block = np.random.default_rng(0).permutation(g) % _MOST_BLOCKS
        deviations = np.stack([np.bincount(block, row, _MOST_BLOCKS) for row in deviations])
        g = _MOST_BLOCKS
    return np.asarray(math.sqrt(g * (g - 1)) * deviations)


def rank_ranges(
    estimates: Floats,
    contributed: Floats,
    p_holm: Floats | None = None,
    *,
    alpha: float = 0.05,
    draws: int = DRAWS,
    seed: int = 0,
) -> RankRanges:
    """Say which ranks evaluators may have, who may be the best, and who is better than whom.

    A pair's difference in a resample is divided by its standard error there, and by no less than 0.4 of that
    in the study. Who may be the best: Hsu (1984, The Annals of Statistics 12, 1136), which needs no
    correction. The range of a rank: Mogstad, Romano, Shaikh & Wilhelm (2024, The Review of Economic Studies
    91, 476), by the step-down of Romano & Wolf (2005, Econometrica 73, 1237) over both directions.

    Parameters
    ----------
    estimates
        Shape (k,), higher is better; NaN for evaluators that are not to be compared.
    contributed
        Shape (k, n): of each evaluator and cluster, see `contributions`; centred or not.
    p_holm
        Shape (k, k): p-values of every two, corrected by Holm, for the ranges of all at once. Of more than 30
        evaluators these come from the step-down over all pairs instead, if there are 10 clusters or more.
    draws
        Resamples, of 2,000 or more.

    Returns
    -------
    RankRanges
        NaN throughout for fewer than six clusters, or two evaluators.
    """
    k, n = contributed.shape
    low, high, low_all, high_all, p_best, reach = np.full((6, k), np.nan)
    p_better, error = np.full((2, k, k), np.nan)
    there = np.flatnonzero(np.isfinite(estimates) & np.isfinite(contributed).all(axis=1))
    if n < FEWEST_CLUSTERS or len(there) < 2:
        return RankRanges(low, high, low_all, high_all, p_best, p_better, error, reach, 0)
    square = np.ix_(there, there)
    pairs = _Pairs.of(estimates[there], contributed[there])
    families = [_Family.of_one(pairs, i) for i in range(len(there))]
    many = len(there) > MOST_BY_HOLM
    if many and n >= FEWEST_FOR_ALL:
        families.append(_Family(np.arange(len(pairs.z)), np.zeros(len(pairs.z), dtype=bool)))
    found = _p_values(pairs, families, draws, seed)
    for i, family, p in zip(there, families, found, strict=False):
        low[i] = 1 + (p.both[family.up] <= alpha).sum()
        high[i] = len(there) - (p.both[~family.up] <= alpha).sum()
        p_best[i] = p.one[0] if len(p.one) else 1.0
        reach[i] = np.quantile(p.largest, 1 - alpha) if len(family.rows) else 0.0
        p_better[there, i] = 1.0
        p_better[there[pairs.first[family.rows[family.up]]], i] = p.one[: family.up.sum()]
    np.fill_diagonal(p_better, np.nan)
    error[square] = pairs.error
    shown = None
    if len(found) > len(there):
        shown = pairs.square(found[-1].both <= alpha)
    elif not many and p_holm is not None:
        shown = pairs.square(p_holm[square][pairs.first, pairs.second] <= alpha)
    if shown is not None:
        low_all[there], high_all[there] = ranges_of(shown)
    return RankRanges(low, high, low_all, high_all, p_best, p_better, error, reach, pairs.untested)


def ranges_of(better: Bools, compared: Bools | None = None) -> tuple[Floats, Floats]:
    """Return the ends of rank ranges, shape (k,), from which rows are shown better than which columns.

    Those that are not ``compared``, all if left out, have NaN. If all that is shown is so with probability
    1 − α, all ranges hold at once with that.
    """
    there = np.ones(len(better), dtype=bool) if compared is None else compared
    known = np.where(there, 0.0, np.nan)
    return 1 + better.sum(axis=0) + known, there.sum() - better.sum(axis=1) + known


def range_text(low: float | None, high: float | None) -> str:
    """Return a range as it is printed, such as ``3–10`` or ``1``; nothing where there is none."""
    if low is None or high is None or math.isnan(low + high):
        return ""
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Differences that vary over clusters, the better of two less the other, by size."""

    first: Ints
    second: Ints
    z: Floats
    """Shape (pairs,): differences by their standard errors, 0 or more."""
    apart: Floats
    """Shape (pairs, n): contributions to z, centred."""
    error: Floats
    """Shape (k, k): standard errors of differences."""
    untested: int

    @classmethod
    def of(cls, theta: Floats, contributed: Floats) -> _Pairs:
        n = contributed.shape[1]
        psi = contributed - contributed.mean(axis=1, keepdims=True)
        own = np.sqrt((psi**2).sum(axis=1))
        error = np.stack([np.sqrt(((psi - one) ** 2).sum(axis=1)) for one in psi])
        varies = error > _NO_ERROR * (own[:, None] + own)
        error = np.where(varies, error, np.nan) / math.sqrt(n * (n - 1))
        difference = theta[:, None] - theta
        upper = np.triu(np.ones_like(varies), 1)
        first, second = np.nonzero(varies & ((difference > 0) | ((difference == 0) & upper)))
        z = difference[first, second] / error[first, second]
        order = np.argsort(-z, kind="stable")
        first, second, z = first[order], second[order], z[order]
        apart = (psi[first] - psi[second]) / error[first, second][:, None]
        untested = int((~varies & (difference > EQUAL)).sum())
        return cls(first, second, z, apart, error, untested)

    def square(self, shown: Bools) -> Bools:
        """Return which rows are better than which columns, from which pairs differ."""
        better = np.zeros(self.error.shape, dtype=bool)
        better[self.first[shown], self.second[shown]] = True
        return better

    def resampled(self, weights: Floats) -> Floats:
        """Return z in resamples less that in the study, shape (pairs, resamples): the bootstrap-t."""
        n = self.apart.shape[1]
        mean, spread = (self.apart / n) @ weights, (self.apart**2 / n / (n - 1)) @ weights
        spread -= mean**2 / (n - 1)
        mean /= np.sqrt(np.maximum(spread, _FLOOR**2, out=spread), out=spread)
        return np.asarray(mean)


class _Family(NamedTuple):
    """Pairs that are compared together."""

    rows: Ints
    """Places of the pairs, the largest z first."""
    up: Bools
    """Of pairs with one evaluator: whether the other is the better."""

    @classmethod
    def of_one(cls, pairs: _Pairs, i: int) -> _Family:
        rows = np.flatnonzero((pairs.first == i) | (pairs.second == i))
        return cls(rows, pairs.first[rows] != i)

    def reached(self, drawn: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Count the resamples whose largest statistic reaches z: of both directions, and of one.

        The third are the largest statistics of that one, shape (resamples,).

        At each step that is the largest of the tests that are left, and of the directions that are never
        rejected: the other ones. In one direction, without a pair that is ``up``, it is that of all pairs.
        """
        t, z = drawn[self.rows], z[self.rows]
        against = -t[~self.up].min(axis=0, initial=np.inf)
        both, _ = _steps(t, z, -t.min(axis=0, initial=np.inf))
        if self.up.any():
            return both, *_steps(t[self.up], z[self.up], against)
        return both, (against >= -z[-1:, None]).sum(axis=1), against


class _PValues(NamedTuple):
    both: Floats
    one: Floats
    largest: Floats


def _steps(t: Floats, z: Floats, always: Floats) -> tuple[Floats, Floats]:
    largest = np.empty_like(t)
    for row in range(len(t) - 1, -1, -1):  # many times as fast as np.maximum.accumulate
        always = np.maximum(t[row], always, out=largest[row])
    return np.asarray((largest >= z[:, None]).sum(axis=1)), always.copy()


def _p_values(pairs: _Pairs, families: Sequence[_Family], draws: int, seed: int) -> list[_PValues]:
    """Return p-values of each family, corrected within it by the step-down of the largest."""
    n, columns = pairs.apart.shape[1], max(_FEWEST_COLUMNS, 2 ** int(math.log2(_ROOM / (1 + len(pairs.z)))))
    resamples = Resamples(n, draws, seed).blocks()
    blocks = [b[:, at : at + columns] for b in resamples for at in range(0, b.shape[1], columns)]

    def counts(weights: Floats) -> list[tuple[Floats, Floats, Floats]]:
        drawn = pairs.resampled(weights)
        return [family.reached(drawn, pairs.z) for family in families]

    found = []
    for of_family in zip(*in_threads(counts, blocks), strict=True):
        *counted, largest = zip(*of_family, strict=True)
        both, one = (np.maximum.accumulate((1 + np.sum(c, axis=0)) / (1 + draws)) for c in counted)
        found.append(_PValues(both, one, np.concatenate(largest)))
    return found
