"""Range use: how much of the scale a judge uses, beside how much people use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.resampling.weights import Swaps, permutation_p
from metaeval.trust.bias.clustered import ratio, sums, with_average

if TYPE_CHECKING:
    from metaeval.base.records import Scale
    from metaeval.engine.alignment import Bools
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.trust.bias.arrays import Judged
    from metaeval.trust.bias.clustered import Draws, Numbers

_MOST_LEVELS = 12  # ratings of a whole-number scale up to which each is a level of its own
_BINS = 10


@dataclass(frozen=True, slots=True, eq=False)
class RangeUse:
    """How a judge's scores are spread over the levels of the scale."""

    judge: str
    entropy: Numbers
    """The scores' entropy over the levels by the truth's; tested against 1."""
    levels: Ints
    """Shape (A,): levels that the judge used at least once."""
    levels_of_truth: Ints
    middle: Numbers
    """The share of scores in the middle of the scale."""
    middle_of_truth: Numbers
    n_units: Ints


def borders(scale: Scale) -> Floats:
    """Return the borders of the levels: half-way between ratings, or 10 bins for a scale of many."""
    if scale.integer and scale.max - scale.min < _MOST_LEVELS:
        return np.arange(scale.min - 0.5, scale.max + 1.0)
    return np.linspace(scale.min, scale.max, _BINS + 1)


def range_use(data: Judged, judge: str, draws: Draws) -> RangeUse | None:
    """Measure range use; None if the judge's scores are not ratings on the truth's scale.

    The test swaps the scores and the truth of whole clusters, which changes nothing in the mean if both use
    the scale alike.
    """
    if judge not in data.rates or data.scale is None:
        return None
    edges = borders(data.scale)
    use = data.rated(judge)
    of_judge, of_truth = (
        _levels(np.where(use, v, 0.0), edges, use, data) for v in (data.scores[data.place(judge)], data.truth)
    )
    units = of_judge.sum(axis=1)

    def entropy_at(weights: Floats) -> Floats:
        return ratio(_entropy(of_judge @ weights), _entropy(of_truth @ weights))

    def share(counts: Floats) -> Numbers:
        return draws.numbers(lambda w: ratio(counts @ w, units @ w), bounds=(0.0, 1.0))

    n = len(edges) - 1
    middle = slice((n - 1) // 2, n // 2 + 1)  # the middle level, or the two of them
    entropy = draws.numbers(entropy_at, bounds=(0.0, np.inf))
    return RangeUse(
        judge,
        replace(entropy, p=_swapped(of_judge, of_truth, draws)),
        (of_judge.sum(axis=2) > 0).sum(axis=1),
        (of_truth.sum(axis=2) > 0).sum(axis=1),
        share(of_judge[:, middle].sum(axis=1)),
        share(of_truth[:, middle].sum(axis=1)),
        use.sum(axis=1),
    )


def _levels(values: Floats, edges: Floats, use: Bools, data: Judged) -> Floats:
    """Count by aspect, level and cluster, shape (A, levels, n_clusters); half-way is the level above."""
    level = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    counts = [
        sums(np.where(level == k, 1.0, 0.0), use, data.cluster, data.n_clusters)
        for k in range(len(edges) - 1)
    ]
    return np.stack(counts, axis=1)


def _entropy(counts: Floats) -> Floats:
    """Return the entropy in bits, shape (A, columns), of counts of shape (A, levels, columns)."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logarithm = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(np.abs((share * logarithm).sum(axis=1)))  # never a minus before zero


def _swapped(one: Floats, other: Floats, draws: Draws) -> Floats:
    """Return p-values of the difference of two entropies when clusters swap their counts."""
    total = [counts.sum(axis=2, keepdims=True) for counts in (one, other)]
    seen = with_average(_entropy(total[0]) - _entropy(total[1]))[:, 0]
    if draws.n_clusters < 2:
        return np.full(len(seen), np.nan)
    under = []
    for swap in Swaps(draws.n_clusters, draws.resamples, draws.seed).blocks():
        moved = (other - one) @ swap
        under.append(_entropy(total[0] + moved) - _entropy(total[1] - moved))
    return permutation_p(seen, with_average(np.concatenate(under, axis=1)))
