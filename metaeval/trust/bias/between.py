"""How far judges are apart that differ in one thing alone: the wording of the prompt, or the repetition."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.stats.coefficients.grouped import kendall
from metaeval.trust.bias.clustered import Numbers, ratio, sums, with_average

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.engine.alignment import Bools
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.trust.bias.arrays import Judged
    from metaeval.trust.bias.clustered import Draws

_OUTCOME = ("spec", "models", "fingerprints", "without_example", "outcome")
"""What a signature says beside what was asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """How far K judges are apart on the units that all of them scored."""

    judges: tuple[str, ...]
    identical: Numbers
    """The share of units on which all give the same score."""
    distance: Numbers
    """The mean absolute difference of two of them, in points."""
    shift: Numbers
    """The second's mean less the first's, in points; of more than two, the largest difference of two means
    with its sign, p of it, and no interval. Tested."""
    correlation: Numbers
    """Pearson's r of two of them, the mean over pairs."""
    icc: Numbers
    """ICC(2, 1), absolute agreement (Shrout & Fleiss 1979)."""
    tau: Floats
    """Kendall's τ-b of the generators' mean scores, the mean over pairs; shape (A + 1,)."""
    n_units: Ints
    """Shape (A,)."""


def differing_in(
    what: str, signatures: Mapping[str, Mapping[str, Any]], judges: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return groups of judges whose signatures differ in one part alone, such as ``prompt``."""
    groups: dict[str, dict[str, str]] = {}
    for name in judges:
        signature = {k: v for k, v in signatures.get(name, {}).items() if k not in _OUTCOME}
        if what in signature:
            value = json.dumps(signature.pop(what), sort_keys=True, default=str)
            rest = json.dumps(signature, sort_keys=True, default=str)
            # Of two that do not differ in it either, the first is enough.
            groups.setdefault(rest, {}).setdefault(value, name)
    return [tuple(names.values()) for names in groups.values() if len(names) > 1]


def between(data: Judged, judges: Sequence[str], draws: Draws) -> Between:
    """Measure how far judges are apart.

    Units need no rating of the truth. The test turns the signs of the differences of whole clusters.
    """
    scores = data.scores[[data.place(j) for j in judges]]
    use: Bools = np.asarray(~np.isnan(scores).any(axis=0))
    # Centred together, so that squares of large numbers are not taken off each other.
    n = np.maximum(use.sum(axis=1, keepdims=True), 1)
    centre = np.where(use, scores.mean(axis=0), 0.0).sum(axis=1, keepdims=True) / n
    cube = np.where(use, scores - centre, 0.0)
    pairs = list(combinations(range(len(judges)), 2))

    def total(values: Floats) -> Floats:
        return sums(values, use, data.cluster, data.n_clusters)

    units = total(use.astype(np.float64))
    same = total(np.asarray((cube == cube[0]).all(axis=0), dtype=np.float64))
    apart = total(np.asarray(np.mean([np.abs(cube[i] - cube[j]) for i, j in pairs], axis=0)))
    of_judge = [total(x) for x in cube]
    squares = [total(x**2) for x in cube]
    products = {(i, j): total(cube[i] * cube[j]) for i, j in pairs}
    mean_square = total(cube.mean(axis=0) ** 2)

    def correlation_at(weights: Floats) -> Floats:
        count = units @ weights
        first, second = ([ratio(s @ weights, count) for s in part] for part in (of_judge, squares))
        spread = [np.maximum(b - a**2, 0.0) for a, b in zip(first, second, strict=True)]
        found = [
            ratio(
                ratio(products[i, j] @ weights, count) - first[i] * first[j], np.sqrt(spread[i] * spread[j])
            )
            for i, j in pairs
        ]
        return np.asarray(np.clip(np.mean(found, axis=0), -1.0, 1.0))

    def icc_at(weights: Floats) -> Floats:
        return _icc(
            units @ weights,
            np.stack([s @ weights for s in of_judge]),
            np.sum([s @ weights for s in squares], axis=0),
            mean_square @ weights,
        )

    shifts = np.stack([of_judge[j] - of_judge[i] for i, j in pairs])
    return Between(
        tuple(judges),
        draws.numbers(lambda w: ratio(same @ w, units @ w), bounds=(0.0, 1.0)),
        draws.numbers(lambda w: ratio(apart @ w, units @ w), bounds=(0.0, np.inf)),
        _shift(shifts, units, draws),
        draws.numbers(correlation_at, bounds=(-1.0, 1.0)),
        draws.numbers(icc_at, bounds=(-1.0, 1.0)),
        _tau(scores, use, data),
        use.sum(axis=1),
    )


def _shift(shifts: Floats, units: Floats, draws: Draws) -> Numbers:
    """Return the difference of the means of two judges, or the largest of several, by aspect.

    ``shifts`` has the shape (pairs, A, n_clusters).
    """
    n = np.where(units.any(axis=1, keepdims=True), units.sum(axis=1, keepdims=True), np.nan)
    if len(shifts) == 1:
        (shift,) = shifts
        return draws.numbers(lambda w: ratio(shift @ w, units @ w), shift / n)
    rows = np.stack([with_average(s / n) for s in shifts])
    means = rows.sum(axis=2)
    most = np.abs(np.nan_to_num(means)).argmax(axis=0)
    estimate = np.take_along_axis(means, most[None], axis=0)[0]
    p = np.array([draws.test_largest(rows[:, a]) for a in range(rows.shape[1])])
    nothing = np.full(len(estimate), np.nan)
    return Numbers(estimate, nothing, nothing, p)


def _icc(n: Floats, of_judge: Floats, square: Floats, mean_square: Floats) -> Floats:
    """Return ICC(2, 1) from sums: units n, scores by judge, squares, and squares of the units' means."""
    k = len(of_judge)
    everything = of_judge.sum(axis=0)
    correction = ratio(everything**2, k * n)
    between_units = k * mean_square - correction
    between_judges = ratio((of_judge**2).sum(axis=0), n) - correction
    rest = square - correction - between_units - between_judges
    freedom = np.where(n > 1, n - 1, np.nan)
    units, judges = between_units / freedom, between_judges / (k - 1)
    error = np.maximum(rest, 0.0) / (freedom * (k - 1))
    return ratio(units - error, units + (k - 1) * error + k * (judges - error) / np.maximum(n, 1))


def _tau(scores: Floats, use: Bools, data: Judged) -> Floats:
    """Return the agreement of the judges' rankings of the generators, shape (A + 1,)."""
    n = len(data.generators)
    found = np.full((len(data.aspects), 1), np.nan)
    for a, there in enumerate(use):
        counts = np.bincount(data.generator[there], minlength=n)
        seen = counts > 0
        means = [np.bincount(data.generator[there], x[a, there], n)[seen] / counts[seen] for x in scores]
        if seen.sum() > 1:
            found[a] = np.mean([kendall(x, y) for x, y in combinations(means, 2)])
    return with_average(found)[:, 0]
