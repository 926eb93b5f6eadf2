"""Paired permutation tests: the scores of two evaluators are swapped in random clusters.

Above 100,000 clusters, statistics that are smooth have t tests in their place (`t_tests`).

Examples
--------
Two systems recommend to the same users. Do their shares of clicks differ by more than chance?

>>> import numpy as np
>>> from metaeval.stats.resampling.cluster_sums import mean_of
>>> from metaeval.stats.resampling.paired import paired_test
>>> from metaeval.stats.resampling.weights import Swaps
>>> shown = np.full((1, 8), 10)  # to each of eight users
>>> clicks = np.array([[5, 4, 6, 7, 5, 6, 4, 8]]), np.array([[2, 3, 3, 1, 4, 2, 3, 3]])
>>> found = paired_test([[mean_of(c, shown) for c in clicks]], Swaps(8, 10_000))
>>> print(f"difference {found.difference[0, 1]:.2f}, p = {found.p[0, 1]:.3f}")
difference 0.30, p = 0.007
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from metaeval.stats.coefficients.levels import Grouping, Undefined
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import (
    LIMIT,
    Linear,
    Stack,
    WithAverage,
    is_smooth,
    jackknife_deviations,
)
from metaeval.stats.resampling.weights import EQUAL, Swaps, in_threads, one_thread, permutation_p
from metaeval.stats.weighted.crossed import CellCounts
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from metaeval.stats.resampling.cluster_sums import Statistic


_BLOCK = 2**22  # numbers kept at a time
_CACHED = 2**17  # numbers worked with at a time


Permuted: TypeAlias = "Iterator[tuple[Ints, Ints, Floats]]"
"""First and second evaluators of pairs; differences under some permutations, shape (pairs, permutations)."""


def permuted(statistics: Sequence[Sequence[Statistic]], swaps: Swaps) -> Permuted | None:
    """Swap the values of statistics; None if single units are to be swapped."""
    cells = [[s for s in aspect if isinstance(s, CellCounts)] for aspect in statistics]
    if all(map(len, cells)) and [*map(len, cells)] == [*map(len, statistics)]:
        return _counted(cells, swaps)
    of_sums = [[s for s in aspect if isinstance(s, Linear)] for aspect in statistics]
    one_type = all(len({type(s) for s in aspect}) == 1 for aspect in statistics)
    return linear(of_sums, swaps) if one_type and [*map(len, of_sums)] == [*map(len, statistics)] else None


def linear(statistics: Sequence[Sequence[Linear]], swaps: Swaps) -> Permuted:
    """Swap weighted sums: subtract an evaluator's swapped clusters, add those of the other."""
    n = len(statistics[0])
    first, second = np.triu_indices(n, 1)
    whole, blocks = _sums(statistics, swaps, n)
    for block in blocks if n > 1 else ():

        def mean_of(
            e: int, moved: Sequence[Floats] = [np.stack(swapped, axis=-2) for swapped in block]
        ) -> Floats:
            found = []
            for aspect, total, swapped in zip(statistics, whole, moved, strict=True):
                mixed = (total[e] - swapped[..., e, :])[..., None, :] + swapped
                values = aspect[e].of_sums(mixed.reshape(*mixed.shape[:-2], -1))
                found.append(values.reshape(n, -1))
            return np.asarray(np.mean(found, axis=0))

        mean = np.stack([*in_threads(mean_of, range(n))])
        yield first, second, mean[first, second] - mean[second, first]


def _counted(statistics: Sequence[Sequence[CellCounts]], swaps: Swaps) -> Permuted:
    """Do the same for rank coefficients over all units of scores with few values: only counts change."""
    n = len(statistics[0])
    first, second = np.triu_indices(n, 1)
    pairs = [*zip(first.tolist(), second.tolist(), strict=True)]
    both = {(a, b): [_beside(s[a], s[b]) for s in statistics] for a, b in pairs}
    whole, blocks = _sums(statistics, swaps, 1)
    for moved in blocks if n > 1 else ():

        def difference(pair: tuple[int, int], moved: Sequence[Sequence[Floats]] = moved) -> Floats:
            a, b = pair
            found = []
            for cells, total, swapped in zip(both[pair], whole, moved, strict=True):
                one = cells.of_sums(np.concatenate([total[a] - swapped[a], swapped[b]]))
                found.append((one - cells.of_sums(np.concatenate([swapped[a], total[b] - swapped[b]])))[0])
            return np.asarray(np.mean(found, axis=0))

        yield first, second, np.stack([*in_threads(difference, pairs)])


def _beside(one: CellCounts, other: CellCounts) -> CellCounts:
    """Return the cells of both, for sums of the one and the other."""
    return replace(one, x=rounded(np.append(one.x, other.x)), y=np.append(one.y, other.y))


def _sums(
    statistics: Sequence[Sequence[Linear]], swaps: Swaps, times: int
) -> tuple[list[list[Floats]], Iterator[list[list[Floats]]]]:
    """Return the sums of each aspect and evaluator over all clusters, and, block by block, over the swapped.

    A block is small enough that what ``times`` of its sums are put together from stays in the cache.
    """
    whole = [[s.sums(np.ones((swaps.n_clusters, 1))) for s in aspect] for aspect in statistics]
    n, size = len(whole[0]), max(aspect[0].size for aspect in whole)
    step = max(1, min(_CACHED // (times * size), _BLOCK // (n * max(times, size))))

    def blocks() -> Iterator[list[list[Floats]]]:
        for block in swaps.blocks():
            for at in range(0, block.shape[1], step):
                yield [[s.sums(block[:, at : at + step]) for s in aspect] for aspect in statistics]

    return whole, blocks()


def rounded(values: Floats) -> Floats:
    """Make values equal that differ only by rounding."""
    found = np.empty_like(values)
    order = np.argsort(values)
    ordered = values[order]
    fresh = np.diff(ordered, prepend=-np.inf) > EQUAL
    found[order] = ordered[fresh][np.cumsum(fresh) - 1]
    return found


@dataclass(frozen=True, slots=True)
class Paired:
    """Paired tests of E evaluators against each other; arrays have shape (E, E), NaN on the diagonal."""

    difference: Floats
    """The row's estimate less the column's."""
    p: Floats
    """Two-sided."""
    p_greater: Floats
    """One-sided: that the row's coefficient is the higher."""
    made_by: str = "permutations"
    """How p was computed: ``permutations`` or ``jackknife``."""

    @classmethod
    def empty(cls, n: int) -> Paired:
        """Return no test of n evaluators."""
        return cls(np.full((n, n), np.nan), np.full((n, n), np.nan), np.full((n, n), np.nan))


@dataclass(frozen=True, slots=True)
class AspectScores:
    """Scores of one evaluator and the truth on the units that it scored, for one aspect and level.

    The truth has one scale for all evaluators. To keep digits, it should be near mean 0 and variance 1.
    """

    x: Floats
    y: Floats
    grouping: Grouping
    clusters: Clusters

    def standardized(self) -> AspectScores:
        """Standardize the scores within each group, or over all units where group means are correlated.

        This changes no coefficient, and makes the scores of two evaluators exchangeable.
        """
        group = np.zeros(len(self.x), dtype=np.int64) if self.grouping.between else self.grouping.group
        n = np.maximum(1, np.bincount(group))
        centred = self.x - (np.bincount(group, self.x) / n)[group]
        spread = np.sqrt(np.bincount(group, centred * centred) / n)[group]
        constant = spread <= 1e-12 * np.abs(self.x)  # what rounding left of zero
        z = np.divide(centred, spread, out=np.zeros_like(centred), where=~constant & (spread > 0))
        return AspectScores(z, self.y, self.grouping, self.clusters)

    def statistic(self, coefficient: str, undefined: Undefined, *, addable: bool = True) -> Statistic:
        """Return the coefficient as a function of weights, from sums that can be added to those of others."""
        return statistic(
            self.x, self.y, self.grouping, self.clusters, [coefficient], undefined=undefined, addable=addable
        )

    def comparable(self, coefficient: str, undefined: Undefined) -> Statistic:
        """Return the statistic of the standardised scores; its sums can be added to those of others.

        Above 100,000 clusters a smooth one is that of the scores, for t tests.
        """
        plain = self.statistic(coefficient, undefined, addable=False) if self.clusters.n > LIMIT else None
        if plain is not None and is_smooth(plain):
            return plain
        return _snapped([self.standardized()])[0].statistic(coefficient, undefined)


@one_thread()
def paired_permutation(
    aspects: Sequence[Sequence[AspectScores]],
    coefficient: str,
    swaps: Swaps,
    *,
    undefined: Undefined = "skip",
) -> Paired:
    """Test every pair of evaluators by swapping their standardised scores in random clusters.

    A cluster is swapped whole, in all aspects; p = (k + 1) / (n + 1) (Noreen 1989; for correlations with
    human judgements see Deutsch, Dror & Roth 2021). ``aspects`` has for each aspect the scores of E
    evaluators; tested is the mean of the coefficients over aspects.
    """
    n = len(aspects[0])
    if n < 2:
        return Paired.empty(n)
    if _by_t([a[0].comparable(coefficient, undefined) for a in aspects], swaps):
        return t_tests(lambda e: [a[e].comparable(coefficient, undefined) for a in aspects], n, swaps)
    aspects = [_snapped([s.standardized() for s in aspect]) for aspect in aspects]
    statistics = [[s.statistic(coefficient, undefined) for s in aspect] for aspect in aspects]
    swapped = permuted(statistics, swaps)
    return _tested(statistics, swapped or _general(aspects, coefficient, swaps, undefined), swaps)


@one_thread()
def paired_statistics(statistics: Sequence[Sequence[Statistic]], swaps: Swaps) -> Paired | None:
    """Do as `paired_permutation`, of the statistics of `AspectScores.comparable`; None if it takes scores."""
    if _by_t([s for aspect in statistics for s in aspect], swaps):
        return t_tests(lambda e: [aspect[e] for aspect in statistics], len(statistics[0]), swaps)
    swapped = permuted(statistics, swaps)
    return None if swapped is None else _tested(statistics, swapped, swaps)


@one_thread()
def paired_test(aspects: Sequence[Sequence[Linear]], swaps: Swaps) -> Paired:
    """Test every pair of statistics that are functions of cluster sums, by swapping random clusters.

    For each aspect there are the statistics of E evaluators, each of one value and with the same rows of
    sums; tested is the mean over aspects. The sums of a cluster are swapped whole; p = (k + 1) / (n + 1), or
    NaN if there is one cluster only.
    """
    if _by_t([s for aspect in aspects for s in aspect], swaps):
        return t_tests(lambda e: [aspect[e] for aspect in aspects], len(aspects[0]), swaps)
    found = _tested(aspects, linear(aspects, swaps), swaps)
    return found if swaps.n_clusters > 1 else Paired(found.difference, found.p * np.nan, found.p * np.nan)


def _tested(statistics: Sequence[Sequence[Statistic]], swapped: Permuted, swaps: Swaps) -> Paired:
    """Count the permutations whose difference is at least as extreme as the observed one."""
    n = len(statistics[0])
    ones = np.ones((swaps.n_clusters, 1))
    estimates = np.mean([[float(s.at(ones)[0, 0]) for s in aspect] for aspect in statistics], axis=0)
    observed = estimates[:, None] - estimates
    above, beyond = np.zeros((2, n, n))
    for row, column, drawn in swapped:
        seen = observed[row, column, None]
        # What is undefined counts as no less extreme.
        above[row, column] += (~(drawn < seen - EQUAL)).sum(axis=-1)
        above[column, row] += (~(drawn > seen + EQUAL)).sum(axis=-1)
        beyond[row, column] += (~(np.abs(drawn) < np.abs(seen) - EQUAL)).sum(axis=-1)
    beyond += beyond.T
    blank = np.where(np.isnan(observed) | np.eye(n, dtype=bool), np.nan, 0.0)
    return Paired(observed + blank, (beyond + 1) / (swaps.n + 1) + blank, (above + 1) / (swaps.n + 1) + blank)


def _by_t(statistics: Sequence[Statistic], swaps: Swaps) -> bool:
    return swaps.n_clusters > LIMIT and all(is_smooth(s) for s in statistics)


def t_tests(aspects_of: Callable[[int], Sequence[Statistic]], n: int, swaps: Swaps) -> Paired:
    """Test the difference of every two of n evaluators by Student's t.

    All variances and covariances come from one pass over the clusters per evaluator (the jackknife).
    ``aspects_of`` gives an evaluator's statistic for each aspect, of one value; tested is the mean over
    aspects.
    """
    from scipy.special import stdtr

    if n < 2:
        return Paired.empty(n)
    ones = np.ones((swaps.n_clusters, 1))

    def value_and_deviations(e: int) -> tuple[float, Floats]:
        mean = WithAverage(Stack(aspects_of(e)))
        return float(mean.at(ones)[-1, 0]), jackknife_deviations(mean, swaps.n_clusters, together=n)[-1]

    values, deviations = zip(*in_threads(value_and_deviations, range(n)), strict=True)
    apart = np.stack(deviations)
    covariance, columns = apart @ apart.T, apart.shape[1]
    own = np.diag(covariance)
    difference = np.array(values)[:, None] - np.array(values)
    difference[np.abs(difference) <= EQUAL] = 0.0
    error = np.sqrt(np.maximum(0.0, own[:, None] + own - 2 * covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where((difference == 0) & ~np.isnan(error), 0.0, difference / error)
    np.fill_diagonal(t, np.nan)
    np.fill_diagonal(difference, np.nan)
    p, greater = (sides * stdtr(columns - 1, -v) for sides, v in ((2, np.abs(t)), (1, t)))
    return Paired(difference, p, greater, "jackknife")


def sign_test(contributions: Floats, swaps: Swaps, *, largest: bool = False) -> Floats:
    """Test whether sums over clusters, shape (sums, n_clusters), are zero, by random signs of whole clusters.

    Under the null hypothesis a cluster's contribution is symmetric about zero. For a mean this is the
    sign-flip test of Fisher (1935), for a coefficient the wild score bootstrap of Kline & Santos (2012,
    Journal of Econometric Methods 1, 23) with Rademacher weights. The p-values are two-sided, shape (sums,);
    if ``largest``, one of the largest sum. NaN where a contribution is, or one cluster alone contributes.
    """
    size = np.abs(contributions)
    total = size.sum(axis=1, keepdims=True)
    scaled = contributions / np.where(total > 0, total, 1.0)
    scaled[((size > 0).sum(axis=1) == 1) | (swaps.n_clusters < 2)] = np.nan
    seen = scaled.sum(axis=1)
    if swaps.n_clusters > LIMIT:
        # So many random signs add up to normal sums.
        factor = np.transpose(np.linalg.qr(np.nan_to_num(scaled.T), mode="r"))
        drawn = np.random.default_rng(swaps.seed).standard_normal((factor.shape[1], swaps.n))
        under = factor @ drawn
    else:
        under = np.concatenate([scaled @ (1 - 2 * swapped) for swapped in swaps.blocks()], axis=1)
    if largest:
        return permutation_p(np.abs(seen).max(), np.abs(under).max(axis=0))
    return permutation_p(seen, under)


def _snapped(scored: Sequence[AspectScores]) -> list[AspectScores]:
    """Make standardised scores equal that differ only by rounding, within and between evaluators."""
    values = rounded(np.concatenate([s.x for s in scored]))
    parts = np.split(values, np.cumsum([len(s.x) for s in scored])[:-1])
    return [replace(s, x=x) for s, x in zip(scored, parts, strict=True)]


def _general(
    aspects: Sequence[Sequence[AspectScores]], coefficient: str, swaps: Swaps, undefined: Undefined
) -> Permuted:
    """Test any statistic: stack the units of two evaluators, and choose between them by weights."""
    n = len(aspects[0])
    for first in range(n):
        for second in range(first + 1, n):
            both = [_side_by_side(a[first], a[second], coefficient, undefined) for a in aspects]
            for block in swaps.blocks():
                kept, swapped = np.concatenate([1 - block, block]), np.concatenate([block, 1 - block])
                difference = np.mean([s.at(kept)[0] - s.at(swapped)[0] for s in both], axis=0)
                yield np.array([first]), np.array([second]), difference[None]


def _side_by_side(a: AspectScores, b: AspectScores, coefficient: str, undefined: Undefined) -> Statistic:
    cluster = np.concatenate([a.clusters.of_unit, b.clusters.of_unit + a.clusters.n])
    group = np.concatenate([a.grouping.group, b.grouping.group])
    x, y = np.concatenate([a.x, b.x]), np.concatenate([a.y, b.y])
    grouping = Grouping(group, a.grouping.n_groups, a.grouping.between)
    return AspectScores(x, y, grouping, Clusters(cluster, 2 * a.clusters.n)).statistic(coefficient, undefined)
