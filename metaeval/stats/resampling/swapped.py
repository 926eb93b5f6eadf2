"""The differences of two evaluators when their scores are swapped in random clusters.

Each way here swaps what a statistic is a function of, rather than the scores themselves.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from metaeval.stats.resampling.cluster_sums import Linear
from metaeval.stats.resampling.threads import in_threads
from metaeval.stats.resampling.weights import EQUAL
from metaeval.stats.weighted.cells import CellCounts
from metaeval.stats.weighted.crossed import Moments
from metaeval.stats.weighted.statistic import Nested

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Statistic
    from metaeval.stats.resampling.weights import Swaps

_BLOCK = 2**22  # numbers worked with at a time
_CACHED = 2**17  # numbers that are worked with many times, so that they stay in the cache

Permuted: TypeAlias = "Iterator[tuple[Ints, Ints, Floats]]"
"""First and second evaluators of pairs; differences under some permutations, shape (pairs, permutations)."""


def permuted(statistics: Sequence[Sequence[Statistic]], swaps: Swaps) -> Permuted | None:
    """Swap the values of statistics; None if single units are to be swapped."""
    n = len(statistics[0])
    one_type = all(len({type(s) for s in aspect}) == 1 for aspect in statistics)
    nested = [[s for s in aspect if isinstance(s, Nested)] for aspect in statistics]
    moments = [[s for s in aspect if isinstance(s, Moments)] for aspect in statistics]
    cells = [[s for s in aspect if isinstance(s, CellCounts)] for aspect in statistics]
    of_sums = [[s for s in aspect if isinstance(s, Linear)] for aspect in statistics]
    if all(len(aspect) == n for aspect in cells):
        return _counted(cells, swaps)
    if all(len(aspect) == n for aspect in nested):
        alike = np.triu(_average_alike(nested), 1)
        rest = np.triu(~alike, 1)
        return chain(_same_groups(nested, swaps, alike), linear(nested, swaps, rest))
    if all(len(aspect) == n and _over_all_alike(aspect) for aspect in moments):
        return _same_units(moments, swaps)
    if one_type and all(len(aspect) == n for aspect in of_sums):
        return linear(of_sums, swaps)
    return None


def linear(
    statistics: Sequence[Sequence[Linear]], swaps: Swaps, pairs: NDArray[np.bool_] | None = None
) -> Permuted:
    """Swap weighted sums: subtract an evaluator's swapped clusters, add those of the other.

    ``pairs``, shape (E, E), marks those to test, above the diagonal; all, if left out.
    """
    n = len(statistics[0])
    wanted = np.triu(np.ones((n, n), dtype=bool), 1) if pairs is None else pairs
    first, second = np.nonzero(wanted)
    if not len(first):
        return
    others = [np.flatnonzero(row) for row in wanted | wanted.T]
    place = np.zeros((n, n), dtype=np.int64)
    place[wanted | wanted.T] = np.arange(2 * len(first))
    ones = np.ones((swaps.n_clusters, 1))
    whole = [np.stack([s.sums(ones) for s in aspect], axis=-2) for aspect in statistics]
    step = max(1, _BLOCK // max(n * n, *(w.size for w in whole)))
    for block in swaps.blocks():
        for at in range(0, block.shape[1], step):
            chosen = block[:, at : at + step]
            moved = [np.stack([s.sums(chosen) for s in aspect], axis=-2) for aspect in statistics]

            def mean_of(e: int, moved: Sequence[Floats] = moved) -> Floats:
                mean = np.zeros((len(others[e]), moved[0].shape[-1]))
                for aspect, total, swapped in zip(statistics, whole, moved, strict=True):
                    mixed = swapped[..., others[e], :]
                    mixed += total[..., e, None, :] - swapped[..., e, None, :]
                    mean += aspect[e].of_sums(mixed.reshape(*mixed.shape[:-2], -1)).reshape(mean.shape)
                return mean / len(statistics)

            mean = np.concatenate([*in_threads(mean_of, [e for e in range(n) if len(others[e])])])
            yield first, second, mean[place[first, second]] - mean[place[second, first]]


def _same_groups(statistics: Sequence[Sequence[Nested]], swaps: Swaps, pairs: NDArray[np.bool_]) -> Permuted:
    """Do the same for pairs that average over the same groups: the difference is linear in the sums."""
    first, second = np.nonzero(pairs)
    if not len(first):
        return
    ones = np.ones(swaps.n_clusters)
    totals = [np.concatenate([s.totals for s in aspect]) for aspect in statistics]
    groups = [
        np.maximum(1, np.concatenate([s.counts @ ones for s in aspect]))[:, None] for aspect in statistics
    ]
    step = max(1, _BLOCK // len(first))
    for block in swaps.blocks():
        for at in range(0, block.shape[1], step):
            kept = 1 - 2 * block[:, at : at + step]  # a swapped cluster changes the sign of the difference
            own = np.mean([t @ kept / g for t, g in zip(totals, groups, strict=True)], axis=0)
            yield first, second, own[first] - own[second]


def _same_units(statistics: Sequence[Sequence[Moments]], swaps: Swaps) -> Permuted:
    """Do the same for Pearson's r over the same units: only the sums of x, x² and xy change."""
    n_evaluators = len(statistics[0])
    first, second = np.triu_indices(n_evaluators, 1)
    prepared = []
    for aspect in statistics:
        n, y, yy = aspect[0].truth.sum(axis=1)
        x, xx, xy = np.stack([s.scores for s in aspect], axis=1)  # evaluators × clusters
        # So that the variance is xx - x² and the correlation xy over its root.
        parts = np.stack([x / np.sqrt(n), xx, (xy - x * (y / n)) / np.sqrt(yy - y * y / n)])
        prepared.append((parts, parts.sum(axis=2)[:, :, None]))
    step = max(64, _CACHED // (8 * n_evaluators))
    for block in swaps.blocks():
        for at in range(0, block.shape[1], step):
            chosen = block[:, at : at + step]
            mean = np.zeros((n_evaluators, n_evaluators, chosen.shape[1]))
            for parts, whole in prepared:
                swapped = parts @ chosen
                kept = whole - swapped
                with np.errstate(divide="ignore", invalid="ignore"):
                    for e in range(n_evaluators):
                        mean[e] += _correlation(*(swapped + kept[:, e, None]))
            mean /= len(statistics)
            yield first, second, mean[first, second] - mean[second, first]


def _counted(statistics: Sequence[Sequence[CellCounts]], swaps: Swaps) -> Permuted:
    """Do the same for rank coefficients over all units of scores with few values: only counts change."""
    n = len(statistics[0])
    first, second = np.triu_indices(n, 1)
    if not len(first):
        return
    ones = np.ones((swaps.n_clusters, 1))
    whole = [[s.sums(ones) for s in aspect] for aspect in statistics]
    step = max(1, _BLOCK // max(n * n, n * sum(len(aspect[0].x) for aspect in statistics)))
    for block in swaps.blocks():
        for at in range(0, block.shape[1], step):
            chosen = block[:, at : at + step]
            moved = [[s.sums(chosen) for s in aspect] for aspect in statistics]

            def difference(pair: tuple[int, int], moved: list[list[Floats]] = moved) -> Floats:
                a, b = pair
                total = np.zeros(moved[0][0].shape[1])
                for aspect, all_of, m in zip(statistics, whole, moved, strict=True):
                    both = aspect[a].beside(aspect[b])
                    both = replace(both, x=rounded(both.x))
                    total += both.of_sums(np.concatenate([all_of[a] - m[a], m[b]]))[0]
                    total -= both.of_sums(np.concatenate([m[a], all_of[b] - m[b]]))[0]
                return total / len(statistics)

            pairs = [*zip(first.tolist(), second.tolist(), strict=True)]
            yield first, second, np.stack([*in_threads(difference, pairs)])


def _correlation(x: Floats, xx: Floats, xy: Floats) -> Floats:
    """Return xy over the root of xx - x², in the place of xy."""
    np.multiply(x, x, out=x)
    np.subtract(xx, x, out=xx)
    return np.divide(xy, np.sqrt(xx, out=xx), out=xy)


def _average_alike(statistics: Sequence[Sequence[Nested]]) -> NDArray[np.bool_]:
    """Say of every two evaluators whether both have the same number of defined groups in every cluster."""
    keys = [
        tuple(s.counts.tobytes() for s in of) if all(s.counts.any() for s in of) else None
        for of in zip(*statistics, strict=True)
    ]
    return np.array([[key is not None and key == other for other in keys] for key in keys])


def _over_all_alike(aspect: Sequence[Moments]) -> bool:
    """Say whether all evaluators are correlated over all units and have scored the same ones."""
    one = aspect[0]
    rest = [s.truth for s in aspect[1:]]
    return one.n_groups == 1 and all(np.array_equal(t, one.truth) for t in rest)


def rounded(values: Floats) -> Floats:
    """Make values equal that differ only by rounding."""
    found = np.empty_like(values)
    order = np.argsort(values)
    ordered = values[order]
    fresh = np.diff(ordered, prepend=-np.inf) > EQUAL
    found[order] = ordered[fresh][np.cumsum(fresh) - 1]
    return found
