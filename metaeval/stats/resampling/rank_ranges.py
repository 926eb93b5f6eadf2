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
_ROWS = 128  # of pairs at a time, which stay in the cache
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
    found, every = _p_values(pairs, families, draws, seed, together=many and n >= FEWEST_FOR_ALL)
    for i, family, p in zip(there, families, found, strict=True):
        low[i] = 1 + (p.both[family.up] <= alpha).sum()
        high[i] = len(there) - (p.both[~family.up] <= alpha).sum()
        p_best[i] = p.one[0] if len(p.one) else 1.0
        reach[i] = np.quantile(p.largest, 1 - alpha) if len(family.rows) else 0.0
        p_better[there, i] = 1.0
        p_better[there[pairs.first[family.rows[family.up]]], i] = p.one[: family.up.sum()]
    np.fill_diagonal(p_better, np.nan)
    error[square] = pairs.error
    shown = None
    if every is not None:
        shown = pairs.square(every <= alpha)
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
        drawn = np.empty((len(self.apart), weights.shape[1]))
        for at in range(0, len(drawn), _ROWS):
            apart, mean = self.apart[at : at + _ROWS], drawn[at : at + _ROWS]
            np.matmul(apart / n, weights, out=mean)
            spread = (apart**2 / n / (n - 1)) @ weights
            spread -= mean**2 / (n - 1)
            mean /= np.sqrt(np.maximum(spread, _FLOOR**2, out=spread), out=spread)
        return drawn


class _Family(NamedTuple):
    """Pairs with one evaluator, which are compared together."""

    rows: Ints
    """Places of the pairs, the largest z first."""
    up: Bools
    """Whether the other evaluator is the better."""

    @classmethod
    def of_one(cls, pairs: _Pairs, i: int) -> _Family:
        rows = np.flatnonzero((pairs.first == i) | (pairs.second == i))
        return cls(rows, pairs.first[rows] != i)


class _PValues(NamedTuple):
    both: Floats
    one: Floats
    largest: Floats


class _Steps:
    """Steps down through pairs of several families at once, from the smallest z of each to its largest."""

    def __init__(self, z: Floats, rows: Sequence[Ints]) -> None:
        lengths = np.array([len(of_one) for of_one in rows])
        self.order = np.argsort(-lengths, kind="stable")
        """Families, those with most pairs first: the others have fewer steps."""
        self.pairs = [
            np.array([rows[i][-step] for i in self.order if lengths[i] >= step], dtype=np.int64)
            for step in range(1, lengths.max(initial=0) + 1)
        ]
        """Of each step, a pair of each family that has any left."""
        self._z = [z[pairs][:, None] for pairs in self.pairs]
        self._family = np.concatenate([self.order[: len(pairs)] for pairs in self.pairs] or [self.order[:0]])

    def reached(self, drawn: Floats, always: Floats) -> tuple[Ints, Floats]:
        """Count the resamples whose largest statistic reaches z, pair by pair in the order of the steps.

        At each step that is the largest of the pairs so far, and of ``always``, shape (families, resamples).
        The second are the largest of all, of the same shape.
        """
        largest = always[self.order]
        counts = [np.empty(0, dtype=np.int64)]
        for pairs, z in zip(self.pairs, self._z, strict=True):
            now = largest[: len(pairs)]
            np.maximum(drawn[pairs], now, out=now)
            counts.append((now >= z).sum(axis=1))
        back = np.empty_like(largest)
        back[self.order] = largest
        return np.concatenate(counts), back

    def of(self, family: int, counts: Ints) -> Ints:
        """Return the counts of a family, the largest z first."""
        return np.asarray(counts[self._family == family][::-1])


def _reached_by_all(drawn: Floats, z: Floats) -> Ints:
    """Count the resamples whose largest statistic of both directions reaches z, over all pairs."""
    always, counts = -drawn.min(axis=0, initial=math.inf), np.empty(len(z), dtype=np.int64)
    for end in range(len(z), 0, -_ROWS):
        rows = slice(max(0, end - _ROWS), end)
        largest = np.empty_like(drawn[rows])
        for t, into in zip(drawn[rows][::-1], largest[::-1], strict=True):
            always = np.maximum(t, always, out=into)  # many times as fast as np.maximum.accumulate
        counts[rows] = (largest >= z[rows, None]).sum(axis=1)
    return counts


def _p_values(
    pairs: _Pairs, families: Sequence[_Family], draws: int, seed: int, *, together: bool
) -> tuple[list[_PValues], Floats | None]:
    """Return p-values of each family, corrected within it by the step-down of the largest.

    That is done over both directions, and over pairs that are ``up`` alone, beside the directions that are
    never rejected: the other ones. ``together``: and those of both directions over all pairs.
    """
    n, columns = pairs.apart.shape[1], max(_FEWEST_COLUMNS, 2 ** int(math.log2(_ROOM / (1 + len(pairs.z)))))
    resamples = Resamples(n, draws, seed).blocks()
    blocks = [b[:, at : at + columns] for b in resamples for at in range(0, b.shape[1], columns)]
    both, up = (
        _Steps(pairs.z, rows) for rows in ([f.rows for f in families], [f.rows[f.up] for f in families])
    )
    least = np.array([-pairs.z[f.rows[-1]] if len(f.rows) else math.inf for f in families])[:, None]

    def counts(weights: Floats) -> tuple[Ints, Ints, Ints, Floats, Ints | None]:
        drawn = pairs.resampled(weights)
        against, upward = (
            np.stack([-drawn[rows].min(axis=0, initial=math.inf) for rows in of_families])
            for of_families in ([f.rows[~f.up] for f in families], [f.rows[f.up] for f in families])
        )
        of_both, _ = both.reached(drawn, np.maximum(against, upward))
        of_up, largest = up.reached(drawn, against)
        every = _reached_by_all(drawn, pairs.z) if together else None
        return of_both, of_up, (against >= least).sum(axis=1), largest, every

    *counted, largest, every = zip(*in_threads(counts, blocks), strict=True)
    of_both, of_up, without = (np.sum(count, axis=0) for count in counted)
    reach = np.concatenate(largest, axis=1)

    def p(count: Ints) -> Floats:
        return np.asarray(np.maximum.accumulate((1 + count) / (1 + draws)))

    found = []
    for i, family in enumerate(families):
        # Without a pair that is up, the one that counts is the nearest of those that are worse.
        one = up.of(i, of_up) if family.up.any() else without[i : i + 1][: len(family.rows)]
        found.append(_PValues(p(both.of(i, of_both)), p(one), reach[i]))
    return found, p(np.sum(every, axis=0)) if together else None
