"""Agreement in order: of pairs of units, of two labels or of generators.

Differences below 2**-40 of the largest value (about a trillionth) count as ties: they may be rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.coefficients.grouped import kendall
from metaeval.stats.coefficients.tables import BLOCK, Floats, Ints, changes, lengths
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.weighted.statistic import coefficients_of_means
from metaeval.stats.weighted.sums import in_blocks

MAX_PAIRS = 20_000_000  # with more pairs than this, units are sampled
_BITS = 40  # differences are whole multiples of 2**-_BITS of the largest value


class PairCalibration(NamedTuple):
    """Pairwise accuracy with a tie threshold that was chosen on other users."""

    accuracy: float
    """Right pairs over evaluated pairs, of all folds together; NaN without a pair."""
    threshold: Floats
    """Shape (n_folds,), in units of the score: the largest difference that counts as a tie."""
    n_pairs: int
    same: float = math.nan
    """Accuracy of all pairs with the one threshold that is best for them: as published, too high."""


def tied_share(y: Floats, group: Ints) -> float:
    """Return the share of the pairs within groups that the truth ties, which calling all pairs ties reaches.

    ``y`` and ``group`` have shape (n,); NaN without a pair.
    """
    cells = np.stack([group, np.rint(_scaled(y)[0])])
    of_cell = np.unique(cells, axis=1, return_inverse=True)[1].ravel()
    tied, pairs = (int((n * (n - 1)).sum()) for n in (np.bincount(of_cell), np.bincount(group)))
    return tied / pairs if pairs else math.nan


def tie_calibrated_accuracy(
    x: ArrayLike, y: ArrayLike, group: ArrayLike, fold: ArrayLike, *, n_folds: int, seed: int = 0
) -> PairCalibration:
    """Compute the pairwise accuracy with tie calibration on held-out users.

    A pair is right if truth and score order it alike and the scores differ by more than a threshold, or if
    the truth ties it and the scores differ by at most that. This is acc_eq* of Deutsch, Foster & Freitag
    (2023, "Ties Matter"), cross-fitted: each fold uses the threshold, zero or the distance of a pair, that
    maximises the accuracy on the other folds' pairs: the smallest, if several do; zero, if there are none. A
    pair is evaluated in a fold if both its units are in it, and trains a fold if neither is. So a pair across
    two folds is never evaluated, and trains the others.

    Parameters
    ----------
    x, y, group
        Scores and truth, finite, and groups, shape (n,); pairs are within groups.
    fold, n_folds
        The fold of the unit's user, in ``range(n_folds)``, 2 to 1000 of them.
    seed
        Of the sample: with more than 20 million pairs, units are sampled so that about so many pairs remain.
    """
    a, b = paired_values(x, y)
    folds = np.asarray(fold, dtype=np.int64)
    a, exponent = _scaled(a)
    b, _ = _scaled(b)

    # Pairs as 64-bit keys that sort by distance, then by kind and folds. Discordant pairs are wrong at any
    # threshold and only counted. Equal keys are merged block by block, so ratings need next to no memory.
    kinds = 2 * n_folds**2
    blocks = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))]
    n_pairs = n_all = 0
    for left, other in _pairs(np.asarray(group), seed):
        distance, tied, alike = _compared(a, b, left, other)
        f, g = folds[left], folds[other]
        n_pairs += int(np.count_nonzero(f == g))
        n_all += len(f)
        key = distance.astype(np.int64) * kinds + (tied * n_folds**2 + f * n_folds + g)
        distinct, times = np.unique(key[tied | alike], return_counts=True)
        blocks.append((distinct, times.astype(np.int32)))
    keys, count = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    order = np.argsort(keys)
    keys, count = keys[order], count[order]
    first = np.flatnonzero(changes(keys))
    keys, count = keys[first], np.add.reduceat(count, first)
    distances = keys // kinds
    kind = (keys - distances * kinds).astype(np.int32)
    tie, f, g = kind >= n_folds**2, kind // n_folds % n_folds, kind % n_folds

    first = np.flatnonzero(changes(distances))
    candidates = np.append(0, distances[first])
    gain = np.where(tie, count, -count)  # of right pairs, once the threshold reaches the pair's distance
    thresholds = np.zeros(n_folds)
    right = 0
    for k in range(n_folds):
        training = np.where((f != k) & (g != k), gain, 0)
        gained = np.cumsum(np.add.reduceat(training, first)) if first.size else training
        limit = candidates[np.argmax(np.append(0, gained))]
        thresholds[k] = limit
        right += int(count[(f == k) & (g == k) & (tie == (distances <= limit))].sum())
    best = int(np.cumsum(np.add.reduceat(gain, first)).max(initial=0)) if first.size else 0
    same = (int(count[~tie].sum()) + best) / n_all if n_all else math.nan
    accuracy = right / n_pairs if n_pairs else math.nan
    return PairCalibration(accuracy, np.ldexp(thresholds, exponent), n_pairs, same)


class LabelPairs(NamedTuple):
    """Pairs of units of a group, one of each of two labels (positions on the scale): shape (n_groups,)."""

    high: int
    low: int
    agree: Floats
    """Pairs in which the unit of the higher label has the higher score."""
    tie: Floats
    """Pairs of equal scores."""
    pairs: Floats
    """All pairs."""


def label_pairs(scores: Floats, labels: Ints, k: int, group: Ints, n_groups: int) -> Iterator[LabelPairs]:
    """Count pairs of units of a group with different labels, for every two labels.

    Units are counted by group, score and label once; the pairs follow from the counts. ``scores``, ``labels``
    in ``range(k)`` and ``group`` in ``range(n_groups)`` have shape (n,).
    """
    # A cell has the units of one group and score; cells are ordered by both.
    order = np.lexsort((scores, group))
    new = changes(group[order]) | changes(scores[order])
    cell = np.empty(len(order), dtype=np.int64)
    cell[order] = np.cumsum(new) - 1
    of_cell = group[order][new]
    counts = np.stack([np.bincount(cell[labels == label], minlength=len(of_cell)) for label in range(k)])
    counts = counts.astype(np.float64)
    # How many units of each label have a lower score in the same group.
    first = np.searchsorted(of_cell, np.arange(n_groups))
    below = np.cumsum(counts, axis=1) - counts
    padded = np.pad(below, ((0, 0), (0, 1)))  # a last group without cells
    below -= padded[:, first][:, of_cell]
    of_group = [np.bincount(of_cell, row, n_groups).astype(np.float64) for row in counts]
    for high in range(k):
        for low in range(high):
            agree, tie = (
                np.bincount(of_cell, counts[high] * of_low[low], n_groups).astype(np.float64)
                for of_low in (below, counts)
            )
            yield LabelPairs(high, low, agree, tie, of_group[high] * of_group[low])


def soft_pairwise_accuracy(p_truth: ArrayLike, p_score: ArrayLike) -> float:
    """Compute the soft pairwise accuracy of Thompson, Mathur, Deutsch & Khayrallah (2024).

    It is the mean over pairs i < j of ``1 - |p_truth[i, j] - p_score[i, j]|``; NaN where there is no pair.
    The p-values, shape (G, G), are one-sided: that the row's generator beats the column's.
    """
    a, b = np.asarray(p_truth, dtype=np.float64), np.asarray(p_score, dtype=np.float64)
    above = np.triu_indices(len(a), 1)
    p, q = a[above], b[above]
    return float(1 - np.abs(p - q).mean()) if p.size else math.nan


def weighted_kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau with hyperbolic weights (Vigna 2015), the mean over ranking by x and by y, largest first.

    Entries where x or y is NaN are left out. NaN if fewer than two are left or a variable is constant;
    ValueError if the arrays are not of one length.
    """
    a, b = paired_values(x, y)
    there = ~(np.isnan(a) | np.isnan(b))
    return (_ranked_tau(a[there], b[there]) + _ranked_tau(b[there], a[there])) / 2


def _ranked_tau(x: Floats, y: Floats) -> float:
    """Return the weighted tau by the ranks of x, ties by y: scipy's, which takes long to import."""
    weight = np.empty(len(x))
    weight[np.lexsort((y, x))[::-1]] = 1 / np.arange(1, len(x) + 1)
    weights = np.triu(weight[:, None] + weight, 1)
    signs_x, signs_y = (np.sign(values[:, None] - values) for values in (x, y))
    scale = math.sqrt((weights * signs_x**2).sum()) * math.sqrt((weights * signs_y**2).sum())
    return float((weights * signs_x * signs_y).sum() / scale) if scale else math.nan


def paired_values(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return two variables as arrays; ValueError if they are not of one length."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"x and y must be arrays of one length, not of shapes {a.shape} and {b.shape}")
    return a, b


def _scaled(values: Floats) -> tuple[Floats, int]:
    """Divide by the power of two (the exponent is returned too) that leaves at most 2**_BITS."""
    exponent = math.frexp(float(np.abs(values).max(initial=0.0)))[1] - _BITS
    return np.ldexp(values, -exponent), exponent


def _compared(
    x: Floats, y: Floats, left: Ints, other: Ints
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the distance of the scores of pairs, if the truth ties them, and if both order them alike."""
    dx, dy = np.rint(x[left] - x[other]), np.rint(y[left] - y[other])
    return np.abs(dx), dy == 0, dx * dy > 0


def _pairs(group: Ints, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the first and the second units of all pairs within groups, in blocks of bounded size."""
    sizes = np.bincount(group)
    n_pairs = int((sizes * (sizes - 1) // 2).sum())
    order = np.argsort(group, kind="stable")
    if n_pairs > MAX_PAIRS:
        # One probability for all units: every group loses the same share of its pairs, on average.
        order = order[np.random.default_rng(seed).random(order.size) < math.sqrt(MAX_PAIRS / n_pairs)]
    first = np.flatnonzero(changes(group[order]))
    in_group = lengths(first, order.size)
    later = np.repeat(first + in_group, in_group) - np.arange(order.size) - 1
    before = np.append(0, np.cumsum(later))
    start = 0
    while start < order.size:
        end = max(int(np.searchsorted(before, before[start] + BLOCK, side="right")) - 1, start + 1)
        left = np.repeat(np.arange(start, end), later[start:end])
        other = np.arange(left.size) + (before[start] - before[left]) + left + 1
        yield order[left], order[other]
        start = end


_EQUAL = 1e-12  # of the largest mean: means that are closer tie


def tau_of_means(judge: ClusterSums, truth: ClusterSums) -> ClusterSums:
    """Return Kendall's τ-b of two means per system, over the same users, as a function of their weights."""

    def of_sums(sums: Floats) -> Floats:
        means = np.concatenate([judge.of_sums(sums[0]), truth.of_sums(sums[1])])
        return in_blocks(_tau, means, len(means) ** 2 // 4)

    return ClusterSums(np.stack([judge.by_cluster, truth.by_cluster]), of_sums, smooth=False)


def _tau(means: Floats) -> Floats:
    x, y = np.split(means, 2)
    there = ~np.isnan(x + y)
    x, y = np.where(there, x, 0.0), np.where(there, y, 0.0)
    slack = (_EQUAL * float(np.abs(x).max(initial=0.0)), _EQUAL * float(np.abs(y).max(initial=0.0)))
    return coefficients_of_means(x, y, there, slack, ["kendall"])


def tau_of(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's τ-b of the means of systems, of which some tie but for rounding."""
    return float(_tau(np.concatenate(paired_values(x, y))[:, None])[0, 0])


def tau_ap(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Kendall's τ with the errors at the top of the estimated order weighing most (Yilmaz et al. 2008, τ_AP).

    For each system it takes those above it by the estimate: the share that the truth puts above it too, less
    the share that it puts below; and averages over all systems but the first. Where the estimate ties
    systems, it is the mean over all orders of them: τ_AP,a (Urbano & Marrero 2017, for a truth without ties).
    Two that the truth ties count 0. NaN for fewer than two systems.
    """
    agree, against, n_above, n_tied = _above(estimate, truth)
    n = len(agree)
    below = np.flatnonzero(n_above > 0)
    # A system tied with others stands at each of their places equally often.
    shares = [(agree[i] - against[i]) * (1 / (n_above[i] + np.arange(n_tied[i]))).mean() for i in below]
    return float(np.sum(shares) / (n - 1)) if n > 1 else math.nan


def tau_ap_b(x: ArrayLike, y: ArrayLike) -> float:
    """τ_AP,b, the agreement of two orders of which none is the truth (Urbano & Marrero 2017).

    The mean over both directions of τ_AP, averaged over the systems that have any above them by the first
    order; one that is tied by the second counts as below. NaN if an order ties all systems.
    """
    shares = []
    for first, second in ((x, y), (y, x)):
        agree, _, n_above, _ = _above(first, second)
        below = n_above > 0
        shares.append(2 * (agree[below] / n_above[below]).mean() - 1 if below.any() else math.nan)
    return float(np.mean(shares))


def _above(estimate: ArrayLike, truth: ArrayLike) -> tuple[Ints, Ints, Ints, Ints]:
    """Count for each system those above it by the estimate that the truth has above it, and below it.

    And all that are above it by the estimate, and tied with it, itself too.
    """
    x, y = paired_values(estimate, truth)
    by_x, by_y = (_EQUAL * np.abs(v).max(initial=0.0) for v in (x, y))
    above = x > x[:, None] + by_x
    agree, against = above & (y > y[:, None] + by_y), above & (y < y[:, None] - by_y)
    tied = np.abs(x - x[:, None]) <= by_x
    return agree.sum(axis=1), against.sum(axis=1), above.sum(axis=1), tied.sum(axis=1)


def rank_biased_overlap(x: ArrayLike, y: ArrayLike, p: float = 0.9) -> float:
    """Rank-biased overlap of two orders, highest first (Webber, Moffat & Zobel 2010, equation 32).

    The agreement at the last rank is taken to go on. Tied systems stand at each of their places equally
    often, as in RBO^a of Corsi & Urbano (2024). NaN without a system.
    """
    from scipy.stats import rankdata

    a, b = paired_values(x, y)
    if not len(a):
        return math.nan
    depths = np.arange(1, len(a) + 1)
    held = []
    for values in (a, b):
        ranked = -values / (_EQUAL * np.abs(values).max(initial=0.0) or 1.0)
        first, last = (rankdata(np.rint(ranked), method)[:, None] for method in ("min", "max"))
        held.append(np.clip((depths - first + 1) / (last - first + 1), 0.0, 1.0))
    overlap = (held[0] * held[1]).sum(axis=0) / depths
    return float(overlap[-1] * p ** len(a) + (1 - p) * (overlap @ p ** (depths - 1.0)))


def top_tau(estimate: ArrayLike, truth: ArrayLike, k: int) -> float:
    """Kendall's τ-b among the k best systems by the truth, and those tied with the last."""
    x, y = paired_values(estimate, truth)
    if len(y) == 0:
        return math.nan
    last = np.sort(y)[-min(k, len(y))]
    top = y >= last - _EQUAL * np.abs(y).max()
    return kendall(x[top], y[top]) if top.sum() > 1 else math.nan
