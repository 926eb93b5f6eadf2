"""The use of the scale: leniency, central tendency and range use of a judge, against people's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metaeval.analysis.agreement.measures import edges_of
from metaeval.engine.alignment.aligned import Bools
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio
from metaeval.stats.resampling.paired import paired_test
from metaeval.trust.bias.bias import (
    ASPECT,
    JUDGE,
    UNITS,
    Bias,
    BiasData,
    BiasQuestion,
    JudgedUnits,
    Measured,
    TestedNumber,
    measured,
    number,
    part,
)

LENIENCY = BiasQuestion(
    "leniency", "mean of score − truth", "scores higher than people", "scores lower than people"
)
CENTRAL = BiasQuestion(
    "central tendency",
    "spread of scores / truth",
    "spreads scores wider than people",
    "keeps scores closer together than people",
    1.0,
)
RANGE = BiasQuestion(
    "range use", "entropy of scores / truth", "uses more of the scale", "uses less of the scale", 1.0
)


@dataclass(frozen=True, slots=True, eq=False)
class ScaleUse:
    """How a judge's scores lie on the scale, against the truth's."""

    judge: str
    difference: Measured
    """The mean of score − truth, in points; tested."""
    spread: Measured
    """Standard deviation of the scores / the truth; tested against 1 (Pitman 1939, Morgan 1939)."""
    entropy: Measured
    """Entropy over the levels, of the scores / the truth; tested against 1."""
    levels: Ints
    """Shape (A,): levels used at least once."""
    levels_of_truth: Ints
    middle: Measured
    """The share of scores in the middle of the scale."""
    middle_of_truth: Measured
    n_units: Ints
    """Shape (A,)."""


def scale_use(data: JudgedUnits, judge: str, resampler: Resampler) -> ScaleUse | None:
    """Measure leniency, spread and range use; None if the scores are not ratings on the truth's scale.

    The permutation test of the entropy swaps the scores and the truth of whole clusters.
    """
    if judge not in data.rates or data.scale is None:
        return None
    use = data.rated(judge)
    level = _level(data, judge, use, resampler)
    edges = []
    for aspect, scores, used in zip(data.aspects, data.of(judge), use, strict=True):
        # A judge that was asked for whole points is not compared on the half points of people.
        whole = bool(used.any() and (scores[used] % 1 == 0).all())
        scale = data.scale.of(aspect)
        edges.append(edges_of(replace(scale, integer=scale.integer or (whole and scale.min % 1 == 0))))
    n = np.array([len(e) - 1 for e in edges])[:, None]

    def levels(values: Floats) -> Floats:
        """Count by aspect, level and cluster, shape (A, levels, n_clusters); half-way is the level above."""
        places = [np.searchsorted(e, v, side="right") for e, v in zip(edges, values, strict=True)]
        level = np.clip(np.where(use, places, 1) - 1, 0, n - 1)
        counts = [data.by_cluster(np.where(level == k, 1.0, 0.0), use) for k in range(n.max())]
        return np.stack(counts, axis=1)

    of_judge, of_truth = levels(data.of(judge)), levels(data.truth)
    units = of_judge.sum(axis=1)

    def share(counts: Floats) -> Measured:
        return measured(mean_of(counts, units), resampler, bounds=(0.0, 1.0))

    ladder = np.arange(n.max())
    # The middle level of each aspect's scale, or the two of them.
    middle = ((ladder >= (n - 1) // 2) & (ladder <= n // 2))[:, :, None]
    both = ClusterSums(np.stack([of_judge, of_truth]), lambda s: ratio(_entropy(s[0]), _entropy(s[1])))
    entropy = measured(both, resampler, bounds=(0.0, np.inf))
    return ScaleUse(
        judge,
        *level,
        replace(entropy, p=_swapped(of_judge, of_truth, resampler)),
        (of_judge.sum(axis=2) > 0).sum(axis=1),
        (of_truth.sum(axis=2) > 0).sum(axis=1),
        share((of_judge * middle).sum(axis=1)),
        share((of_truth * middle).sum(axis=1)),
        use.sum(axis=1),
    )


def _level(data: JudgedUnits, judge: str, use: Bools, resampler: Resampler) -> tuple[Measured, Measured]:
    """Return the mean difference of the scores and the truth, and the ratio of their spreads."""
    x = np.where(use, data.of(judge), 0.0)
    y = np.where(use, data.truth, 0.0)
    n = np.maximum(use.sum(axis=1, keepdims=True), 1)
    # Centred first, so that the difference of squares keeps its digits.
    dx, dy = (np.where(use, v - v.sum(axis=1, keepdims=True) / n, 0.0) for v in (x, y))

    def spread(sums: Floats) -> Floats:
        first, square, of_truth, square_of_truth = ratio(sums[1:], sums[0])
        return np.sqrt(ratio(np.maximum(square - first**2, 0.0), square_of_truth - of_truth**2))

    units, difference, *moments = (
        data.by_cluster(v, use) for v in (use.astype(np.float64), x - y, dx, dx**2, dy, dy**2)
    )
    sums = np.stack([units, *moments])
    total = np.maximum(sums[4].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    empty = np.where(use.any(axis=1, keepdims=True), 0.0, np.nan)
    apart = (sums[2] - sums[4]) / (2 * total) + empty
    return (
        measured(mean_of(difference, units), resampler, difference / n + empty),
        measured(ClusterSums(sums, spread), resampler, apart, bounds=(0.0, np.inf)),
    )


def _entropy(counts: Floats) -> Floats:
    """Return the entropy in bits, shape (A, columns), of counts of shape (A, levels, columns)."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logarithm = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(np.abs((share * logarithm).sum(axis=1)))  # 0, not -0


def _swapped(one: Floats, other: Floats, resampler: Resampler) -> Floats:
    """Return p-values of the difference of two entropies when clusters swap their counts."""
    of_aspects = [[ClusterSums(c[a : a + 1], _entropy) for c in (one, other)] for a in range(len(one))]
    rows = [[aspect] for aspect in of_aspects] + ([of_aspects] if len(of_aspects) > 1 else [])
    return np.array([paired_test(aspects, resampler.swaps).p[0, 1] for aspects in rows])


def _measure(data: BiasData) -> Iterator[ScaleUse]:
    for units, judge, resampler in data.judges:
        if result := scale_use(units, judge, resampler):
            yield result


def _numbers(result: ScaleUse) -> Iterator[tuple[BiasQuestion, Measured]]:
    yield from zip(
        (LENIENCY, CENTRAL, RANGE), (result.difference, result.spread, result.entropy), strict=True
    )


def _tested(results: Sequence[ScaleUse]) -> Iterator[TestedNumber]:
    for at in range(3):
        yield from (TestedNumber(r.judge, "", *[*_numbers(r)][at]) for r in results)


SCALE_USE = Bias(
    "scale",
    "Leniency, range use and central tendency",
    _measure,
    _tested,
    (
        JUDGE,
        ASPECT,
        number("difference", "Mean of score − truth"),
        number("spread", "Spread / truth"),
        number("entropy", "Entropy / truth"),
        part("levels", "Levels", "count"),
        part("levels_of_truth", "Levels of the truth", "count"),
        number("middle", "In the middle", "share"),
        number("middle_of_truth", "Truth in the middle", "share"),
        UNITS,
    ),
    lambda _found, _results: (
        (
            "Of judges whose scores are ratings on the truth's scale. Spread: standard deviation of the "
            "scores by that of the truth; below 1 the judge keeps to the middle; the judge's noise "
            "increases it."
        ),
        (
            "Entropy over the levels of the scale by the truth's: below 1 the judge uses less of the scale. "
            "If its scores are all whole, the levels are the whole points, for the truth too. "
            "In the middle: share of scores on the middle level, or on the two of them."
        ),
    ),
    lambda result: ((result.judge, question.bias, value) for question, value in _numbers(result)),
)
