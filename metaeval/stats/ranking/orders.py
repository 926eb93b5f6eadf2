"""Agreement in order: of pairs of units, of pairs of generators, and clusters of evaluators.

Differences below 2**-40 of the largest value (about a trillionth) count as ties: they may be rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.tables import BLOCK, changes, labels, lengths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from metaeval.stats.coefficients.tables import Floats, Ints

MAX_PAIRS = 20_000_000  # with more pairs than this, units are sampled
_BITS = 40  # differences are whole multiples of 2**-_BITS of the largest value
_MOST_FOLDS = 1000  # so that distance, kind and two folds fit into one 64-bit key


@dataclass(frozen=True, slots=True)
class PairAccuracy:
    """Share of pairs that the score orders, or ties, as the truth does; NaN without a pair."""

    accuracy: float
    n_pairs: int


@dataclass(frozen=True, slots=True)
class PairCalibration:
    """Pairwise accuracy with a tie threshold that was chosen on other users."""

    accuracy: float
    """Right pairs over evaluated pairs, of all folds together; NaN without a pair."""
    threshold: Floats
    """Shape (n_folds,), in units of the score: the largest difference that counts as a tie."""
    n_pairs: int
    """Evaluated pairs."""


def pairwise_accuracy(
    x: ArrayLike, y: ArrayLike, group: ArrayLike, n_groups: int, eps: float = 0.0, *, seed: int = 0
) -> PairAccuracy:
    """Compute the pairwise accuracy at a given tie threshold (acc_eq; Deutsch, Foster & Freitag 2023).

    A pair is right if truth and score order it alike and the scores differ by more than ``eps``, or if the
    truth ties it and the scores differ by at most ``eps``.

    Parameters
    ----------
    x, y
        Scores and truth, shape (n,), finite.
    group
        Shape (n,), in ``range(n_groups)``; pairs are formed within groups.
    eps
        In units of the score, at least zero.
    seed
        Of the sample: with more than 20 million pairs, units are sampled so that about so many pairs remain.

    Raises
    ------
    ValueError
        If shapes differ, a value is not finite, a group is out of range or ``eps`` is negative.
    """
    a, b, groups = _checked(x, y, group, n_groups)
    if not eps >= 0:
        raise ValueError(f"eps must be at least zero, not {eps}")
    a, exponent = _scaled(a)
    b, _ = _scaled(b)
    with np.errstate(over="ignore"):
        limit = np.rint(np.ldexp(eps, -exponent))
    right = n_pairs = 0
    for left, other in _pairs(groups, seed):
        distance, tied, alike = _compared(a, b, left, other)
        right += int(np.count_nonzero(np.where(tied, distance <= limit, alike & (distance > limit))))
        n_pairs += left.size
    return PairAccuracy(right / n_pairs if n_pairs else math.nan, n_pairs)


def tie_calibrated_accuracy(
    x: ArrayLike,
    y: ArrayLike,
    group: ArrayLike,
    n_groups: int,
    fold: ArrayLike,
    *,
    n_folds: int,
    seed: int = 0,
) -> PairCalibration:
    """Compute the pairwise accuracy with tie calibration on held-out users.

    This is acc_eq* of Deutsch, Foster & Freitag (2023, "Ties Matter"), cross-fitted: each fold uses the
    threshold, zero or the distance of a pair, that maximises the accuracy on the other folds' pairs: the
    smallest, if several do; zero, if there are none. A pair is evaluated in a fold if both its units are in
    it, and trains a fold if neither is. So a pair across two folds is never evaluated, and trains the others.

    Parameters
    ----------
    x, y, group, n_groups, seed
        As in `pairwise_accuracy`.
    fold, n_folds
        Shape (n,), in ``range(n_folds)``: the fold of the unit's user. Each fold costs a pass.

    Raises
    ------
    ValueError
        As in `pairwise_accuracy`; or a fold is out of range, or ``n_folds`` is not from 2 to 1000.
    """
    a, b, groups = _checked(x, y, group, n_groups)
    if not 2 <= n_folds <= _MOST_FOLDS:
        raise ValueError(f"a threshold for held-out users needs 2 to {_MOST_FOLDS} folds, not {n_folds}")
    folds = labels(fold, n_folds, a.shape, "fold")
    a, exponent = _scaled(a)
    b, _ = _scaled(b)

    # Pairs as keys that sort by distance, then by kind and folds. Discordant pairs are wrong at any threshold
    # and only counted. Equal keys are merged block by block, so that ratings need next to no memory.
    kinds = 2 * n_folds**2
    blocks: list[tuple[Ints, Ints]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))]
    n_pairs = 0
    for left, other in _pairs(groups, seed):
        distance, tied, alike = _compared(a, b, left, other)
        f, g = folds[left], folds[other]
        n_pairs += int(np.count_nonzero(f == g))
        key = distance.astype(np.int64) * kinds + (tied * n_folds**2 + f * n_folds + g)
        distinct, times = np.unique(key[tied | alike], return_counts=True)
        blocks.append((distinct, times.astype(np.int32)))
    keys, count = _merged(blocks)
    distances = keys // kinds
    kind = (keys - distances * kinds).astype(np.int32)
    del keys
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
    return PairCalibration(right / n_pairs if n_pairs else math.nan, np.ldexp(thresholds, exponent), n_pairs)


def soft_pairwise_accuracy(p_truth: ArrayLike, p_score: ArrayLike) -> float:
    """Compute the soft pairwise accuracy of Thompson, Mathur, Deutsch & Khayrallah (2024).

    It is the mean over pairs i < j of ``1 - |p_truth[i, j] - p_score[i, j]|``; NaN where there is no pair.

    Parameters
    ----------
    p_truth, p_score
        Shape (G, G): one-sided p-values that the row's generator beats the column's. Only what lies above the
        diagonal is read.

    Raises
    ------
    ValueError
        If the matrices are not square and of one shape, or a p-value is not in [0, 1].
    """
    a, b = np.asarray(p_truth, dtype=np.float64), np.asarray(p_score, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape or a.shape[0] != a.shape[1]:
        raise ValueError(f"p-values must be square matrices of one shape, not of {a.shape} and {b.shape}")
    above = np.triu_indices(len(a), 1)
    p, q = a[above], b[above]
    if not ((p >= 0) & (p <= 1) & (q >= 0) & (q <= 1)).all():
        raise ValueError("p-values must be between 0 and 1")
    return float(1 - np.abs(p - q).mean()) if p.size else math.nan


def rank_clusters(estimates: ArrayLike, p_worse: ArrayLike, alpha: float) -> Ints:
    """Assign evaluators to rank clusters.

    Cluster 1 holds the best evaluator and all that are not significantly worse than it. Cluster 2 holds the
    best of the rest and all of the rest that are not significantly worse than that one; and so on. Tests
    differ in power, so an evaluator of a later cluster may have a higher estimate than one of an earlier.

    Parameters
    ----------
    estimates
        Shape (E,); NaN where undefined. Equal ones keep their order.
    p_worse
        Shape (E, E), corrected for the number of tests: small where the column's evaluator is significantly
        worse than the row's. NaN is not significant.

    Returns
    -------
    ndarray
        Shape (E,): the cluster of each evaluator, from 1; 0 where the estimate is NaN.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    values, p = np.asarray(estimates, dtype=np.float64), np.asarray(p_worse, dtype=np.float64)
    if values.ndim != 1 or p.shape != (values.size, values.size):
        raise ValueError(f"{values.size} estimates need p-values of shape (E, E), not {p.shape}")
    clusters = np.zeros(values.size, dtype=np.int64)
    rest = [int(e) for e in np.argsort(-values, kind="stable") if not np.isnan(values[e])]
    number = 0
    while rest:
        number += 1
        leader = rest[0]
        members = [e for e in rest if e == leader or not p[leader, e] <= alpha]
        clusters[members] = number
        rest = [e for e in rest if not clusters[e]]
    return clusters


def weighted_kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau with hyperbolic weights (Vigna 2015), the mean over ranking by x and by y, largest first.

    Entries where x or y is NaN are left out; scipy counts NaN as the smallest value. NaN if fewer than two
    are left or a variable is constant; ValueError if the arrays are not of one length.
    """
    from scipy.stats import weightedtau

    a, b = paired_values(x, y)
    there = ~(np.isnan(a) | np.isnan(b))
    return float(weightedtau(a[there], b[there], rank=True).statistic) if there.sum() > 1 else math.nan


def paired_values(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return two variables as arrays; ValueError if they are not of one length."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"x and y must be arrays of one length, not of shapes {a.shape} and {b.shape}")
    return a, b


def _checked(x: ArrayLike, y: ArrayLike, group: ArrayLike, n_groups: int) -> tuple[Floats, Floats, Ints]:
    a, b = paired_values(x, y)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("values must be finite")
    return a, b, labels(group, n_groups, a.shape, "group")


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


def _merged(blocks: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Add the counts of equal keys of all blocks; keys come back sorted."""
    keys, count = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    blocks.clear()
    order = np.argsort(keys)
    keys, count = keys[order], count[order]
    first = np.flatnonzero(changes(keys))
    return (keys, count) if first.size == keys.size else (keys[first], np.add.reduceat(count, first))
