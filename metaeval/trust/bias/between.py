"""How far the scores of judges differ that differ in the prompt alone, or in the replicate alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from metaeval.engine.alignment.aligned import Bools
from metaeval.stats.coefficients.grouped import kendall
from metaeval.stats.coefficients.tables import Floats, GroupSums, Ints
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio, with_average
from metaeval.stats.resampling.paired import sign_test
from metaeval.trust.bias.bias import (
    ASPECT,
    FIRST_JUDGE,
    UNITS,
    Bias,
    BiasData,
    BiasQuestion,
    JudgedUnits,
    Measured,
    Part,
    TestedNumber,
    measured,
    number,
    part,
)

PROMPT, REPLICATE = "prompt", "replicate"
_OUTCOME = ("spec", "models", "fingerprints", "sent", "without_example", "outcome")
"""Parts of a signature that are no part of the question."""
_WORDING = BiasQuestion(
    "wording", "points that the wording moves scores", *2 * ("the wording moves its scores",)
)
_REPEATABILITY = BiasQuestion(
    "repeatability", "points between repetitions", *2 * ("a repetition moves its scores",)
)


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """How far K judges differ on the units that all of them scored."""

    judges: tuple[str, ...]
    identical: Measured
    """The share of units on which all give the same score."""
    distance: Measured
    """The mean absolute difference, in points; mean over pairs of judges."""
    shift: Measured
    """The second's mean minus the first's, in points; tested. For more than two judges, the largest
    difference of two means, without an interval."""
    correlation: Measured
    """Pearson's r; mean over pairs of judges."""
    icc: Measured
    """ICC(2, 1), absolute agreement (Shrout & Fleiss 1979)."""
    tau: Floats
    """Kendall's τ-b of the generators' mean scores; mean over pairs of judges; shape (A + 1,)."""
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
            # Of several judges with the same value, the first stands for all.
            groups.setdefault(rest, {}).setdefault(value, name)
    return [tuple(names.values()) for names in groups.values() if len(names) > 1]


def between(data: JudgedUnits, judges: Sequence[str], resampler: Resampler) -> Between:
    """Measure how far judges differ.

    Units need no rating of the truth. The test flips the signs of the differences of whole clusters.
    """
    scores = np.stack([data.of(j) for j in judges])
    use: Bools = np.asarray(~np.isnan(scores).any(axis=0))
    # Centred together first, so that the difference of squares keeps its digits.
    n = np.maximum(use.sum(axis=1, keepdims=True), 1)
    centre = np.where(use, scores.mean(axis=0), 0.0).sum(axis=1, keepdims=True) / n
    cube = np.where(use, scores - centre, 0.0)
    pairs = list(combinations(range(len(judges)), 2))

    def total(values: Floats) -> Floats:
        return data.by_cluster(values, use)

    units = total(use.astype(np.float64))
    same = total(np.asarray((cube == cube[0]).all(axis=0), dtype=np.float64))
    apart = total(np.asarray(np.mean([np.abs(cube[i] - cube[j]) for i, j in pairs], axis=0)))
    of_judge, squares = ([total(v) for v in values] for values in (cube, cube**2))
    products = [total(cube[i] * cube[j]) for i, j in pairs]

    def correlation(sums: Floats) -> Floats:
        first, second, product = np.split(ratio(sums[1:], sums[0]), [len(cube), 2 * len(cube)])
        spread = np.maximum(second - first**2, 0.0)
        found = [
            ratio(p - first[i] * first[j], np.sqrt(spread[i] * spread[j]))
            for (i, j), p in zip(pairs, product, strict=True)
        ]
        return np.asarray(np.clip(np.mean(found, axis=0), -1.0, 1.0))

    correlations = ClusterSums(np.stack([units, *of_judge, *squares, *products]), correlation)
    icc = ClusterSums(
        np.stack([units, np.sum(squares, axis=0), total(cube.mean(axis=0) ** 2), *of_judge]), _icc
    )
    return Between(
        tuple(judges),
        measured(mean_of(same, units), resampler, bounds=(0.0, 1.0)),
        measured(mean_of(apart, units), resampler, bounds=(0.0, np.inf)),
        _shift(np.stack([of_judge[j] - of_judge[i] for i, j in pairs]), units, resampler),
        measured(correlations, resampler, bounds=(-1.0, 1.0)),
        measured(icc, resampler, bounds=(-1.0, 1.0)),
        _tau(scores, use, data),
        use.sum(axis=1),
    )


def _shift(shifts: Floats, units: Floats, resampler: Resampler) -> Measured:
    """Return the difference of two means, or the largest of several, from shape (pairs, A, n_clusters)."""
    n = np.where(units.any(axis=1, keepdims=True), units.sum(axis=1, keepdims=True), np.nan)
    if len(shifts) == 1:
        (shift,) = shifts
        return measured(mean_of(shift, units), resampler, shift / n)
    rows = np.stack([with_average(s / n) for s in shifts])
    means = rows.sum(axis=2)
    most = np.abs(np.nan_to_num(means)).argmax(axis=0)
    estimate = np.take_along_axis(means, most[None], axis=0)[0]
    p = np.array([sign_test(rows[:, a], resampler.swaps, largest=True) for a in range(rows.shape[1])])
    nothing = np.full(len(estimate), np.nan)
    return Measured(estimate, nothing, nothing, resampler.n_clusters, p)


def _icc(sums: Floats) -> Floats:
    """Return ICC(2, 1) from the number of units, Σ squares, Σ squared unit means, and each judge's sum."""
    n, square, mean_square = sums[:3]
    of_judge = sums[3:]
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


def _tau(scores: Floats, use: Bools, data: JudgedUnits) -> Floats:
    """Return Kendall's τ-b of the generators' mean scores, shape (A + 1,)."""
    n = max(len(data.generators), 1)
    found = np.full((len(data.aspects), 1), np.nan)
    for a, there in enumerate(use):
        means = [GroupSums.of(x[a, there], data.generator[there], n).means() for x in scores]
        means = [mean[~np.isnan(mean)] for mean in means]
        if len(means[0]) > 1:
            found[a] = np.mean([kendall(x, y) for x, y in combinations(means, 2)])
    return with_average(found)[:, 0]


def prompts(data: BiasData, judges: Sequence[str]) -> str:
    """Return the names and versions of the prompts of judges."""
    named = [data.signatures.get(judge, {}).get(PROMPT, {}) for judge in judges]
    return " / ".join(" ".join(str(p[k]) for k in ("name", "version") if k in p) for p in named)


def _wordings(data: BiasData) -> Iterator[Between]:
    for units, resampler in data.scored:
        for group in differing_in(PROMPT, data.signatures, units.judges):
            yield from (between(units, two, resampler) for two in combinations(group, 2))


def _parts(data: BiasData) -> tuple[Part, ...]:
    def ranks(result: Between) -> str | None:
        if not data.ranks:
            return None
        return " → ".join(str(data.ranks.get(judge, "–")) for judge in result.judges)

    return (
        FIRST_JUDGE,
        part("other", "", source=lambda result: result.judges[1]),
        part("prompts", "Prompts", source=lambda result: prompts(data, result.judges)),
        ASPECT,
        number("distance", "Mean absolute difference"),
        number("shift", "Second − first"),
        number("correlation", "Pearson's r", "hundred"),
        part("tau", "τ of generators", "hundred"),
        part("ranks", "Rank", source=ranks),
        UNITS,
    )


WORDING = Bias(
    "wording",
    "Sensitivity to the wording of the prompt",
    _wordings,
    lambda results: (TestedNumber(" / ".join(r.judges), "", _WORDING, r.shift) for r in results),
    _parts,
    lambda _found, _results: (
        (
            "Pairs of evaluators whose signatures differ only in the prompt, on the units that both scored; "
            "coefficients × 100. τ: Kendall's τ-b of the generators' mean scores. Rank: on the leaderboard."
        ),
    ),
    lambda result: ((judge, "wording", result.distance) for judge in result.judges),
)


def _repetitions(data: BiasData) -> Iterator[Between]:
    for units, resampler in data.scored:
        for group in differing_in(REPLICATE, data.signatures, units.judges):
            yield between(units, group, resampler)


REPEATABILITY = Bias(
    "repeatability",
    "Repeatability",
    _repetitions,
    lambda results: (TestedNumber(" / ".join(r.judges), "", _REPEATABILITY, r.shift) for r in results),
    (
        part("judge", "Judge", source=lambda result: " / ".join(result.judges)),
        part("n_replicates", "Repetitions", "count", lambda result: len(result.judges)),
        ASPECT,
        number("identical", "Identical", "share"),
        number("distance", "Mean absolute difference"),
        number("icc", "ICC(2, 1)", "hundred"),
        number("shift", "Largest shift"),
        UNITS,
    ),
    lambda _found, _results: (
        (
            "Evaluators whose signatures differ only in the replicate, on the units that all of them "
            "scored. Identical: units on which all give the same score. ICC(2, 1): absolute agreement, × "
            "100. Shift: the difference between two repetitions' means; with several, the largest."
        ),
    ),
    lambda result: ((judge, "repeatability", result.identical) for judge in result.judges),
)
