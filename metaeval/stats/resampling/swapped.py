"""The differences of two evaluators when their scores are swapped in random clusters.

Each way here swaps what a statistic is a function of, rather than the scores themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import Linear
from metaeval.stats.resampling.threads import in_threads
from metaeval.stats.resampling.weights import EQUAL, Swaps
from metaeval.stats.weighted.crossed import CellCounts

if TYPE_CHECKING:
    from metaeval.stats.resampling.bootstrap import Statistic

_BLOCK = 2**22  # numbers worked with at a time


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
    whole, blocks = _sums(statistics, swaps, n * n)
    for moved in blocks if n > 1 else ():

        def mean_of(e: int, moved: Sequence[Sequence[Floats]] = moved) -> Floats:
            found = []
            for aspect, total, swapped in zip(statistics, whole, moved, strict=True):
                mixed = np.stack([total[e] - swapped[e] + other for other in swapped], axis=-2)
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
    whole, blocks = _sums(statistics, swaps, n)
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

    A block's sums can be put together ``times`` times in the memory that there is for them.
    """
    whole = [[s.sums(np.ones((swaps.n_clusters, 1))) for s in aspect] for aspect in statistics]
    step = max(1, _BLOCK // max(times * aspect[0].size for aspect in whole))

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
