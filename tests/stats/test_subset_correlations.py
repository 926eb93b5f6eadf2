"""Every subset from covariances, against the averaged scores in the engine; contributions by definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import subset_correlations as subsets
from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.subset_correlations import (
    effective_number,
    error_correlation,
    every_subset,
    joining,
    shapley,
    subset_statistic,
)
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters
from tests.examples import examples

LEVELS = ("dataset", "user", "pair", "item", "generator")


def groupings(rng: np.random.Generator, n: int) -> dict[str, Grouping]:
    pair = rng.integers(0, max(1, n // 3), n)
    user, item, generator = pair // 2, rng.integers(0, 3, n), rng.integers(0, 4, n)
    of = {"dataset": pair * 0, "user": user, "pair": pair, "item": item, "generator": generator}
    return {level: Grouping(of[level], int(of[level].max()) + 2, level == "generator") for level in LEVELS}


@st.composite
def studies(draw):
    """Scores with ties and constants, judges that cancel each other, or continuous scores of any size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, k = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    y = rng.integers(1, draw(st.integers(2, 6)), n).astype(float)
    kind = draw(st.sampled_from(["likert", "opposed", "offset", "continuous"]))
    x = rng.integers(1, draw(st.integers(2, 6)), (k, n)).astype(float)
    if kind == "opposed":
        x[-1] = 6 - x[0]  # their mean is constant
    elif kind == "offset":
        x = x / 4 + 1000.0
    elif kind == "continuous":
        x = rng.normal(size=(k, n)) * 10.0 ** draw(st.integers(-3, 3))
    return x, y, groupings(rng, n), rng


def averaged(x: np.ndarray) -> np.ndarray:
    """Return the mean score of every subset; sums of the values above are exact."""
    return np.stack([x[list(m)].sum(axis=0) / len(m) for m in members_of(len(x))])


def members_of(k: int) -> list[tuple[int, ...]]:
    every = [c for size in range(1, k + 1) for c in itertools.combinations(range(k), size)]
    return sorted(every, key=lambda c: sum(2**j for j in c))


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8, equal_nan=True)


def test_the_rows_are_all_subsets() -> None:
    assert [tuple(np.flatnonzero(row)) for row in every_subset(5)] == members_of(5)
    assert every_subset(16).shape == (65535, 16)


@settings(max_examples=examples(120))
@given(studies(), st.sampled_from(["skip", "zero"]), st.sampled_from(["user", "item", "unit"]))
def test_it_is_the_estimate_of_the_averaged_scores(study, undefined, cluster) -> None:
    x, y, of_level, _ = study
    means = averaged(x)
    expected = estimate(
        means, y[None], of_level, ["pearson"], y_row=np.zeros(len(means), dtype=int), undefined=undefined
    )
    code = np.arange(len(y)) if cluster == "unit" else of_level[cluster].group
    clusters = Clusters(code, int(code.max()) + 1)
    for level, g in of_level.items():
        found = subset_statistic(x, y, g, clusters, undefined=undefined).at(np.ones((clusters.n, 1)))
        assert_close(found[:, 0], expected[level, "pearson"].estimate)


@settings(max_examples=examples(80))
@given(studies(), st.sampled_from(["skip", "zero"]), st.sampled_from(["user", "item"]))
def test_weights_of_clusters_are_those_of_the_engine(study, undefined, cluster) -> None:
    x, y, of_level, rng = study
    clusters = Clusters(of_level[cluster].group, of_level[cluster].n_groups)
    weights = rng.integers(0, 3, (clusters.n, 4)).astype(float)
    weights[clusters.of_unit[0]] += 1  # some unit is there
    for g in of_level.values():
        expected = [
            statistic(m, y, g, clusters, ["pearson"], undefined=undefined).at(weights)[0] for m in averaged(x)
        ]
        found = subset_statistic(x, y, g, clusters, undefined=undefined)
        assert_close(found.at(weights), np.stack(expected))
        some = rng.permutation(len(expected))[:3]
        assert_close(found.at(weights, some), np.stack(expected)[some])


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    of_level = groupings(rng, 60)
    x, y = rng.normal(size=(4, 60)), rng.normal(size=60)
    clusters = Clusters(of_level["user"].group, of_level["user"].n_groups)
    weights = rng.integers(0, 3, (clusters.n, 9)).astype(float)
    whole = [subset_statistic(x, y, g, clusters).at(weights) for g in of_level.values()]
    monkeypatch.setattr(subsets, "BLOCK", 10)
    for g, expected in zip(of_level.values(), whole, strict=True):
        assert_close(subset_statistic(x, y, g, clusters).at(weights), expected)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_scores_of_any_size(factor: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 30)), rng.normal(size=30)
    one, clusters = Grouping(np.zeros(30, dtype=int), 1), Clusters(np.arange(30), 30)
    ones = np.ones((30, 1))
    assert_close(
        subset_statistic(x * factor, y, one, clusters).at(ones),
        subset_statistic(x, y, one, clusters).at(ones),
    )


def test_shapley_values_are_the_mean_over_all_orders() -> None:
    values = np.random.default_rng(0).normal(size=15)
    of_subset = {(): 0.0, **dict(zip(members_of(4), values, strict=True))}
    gains = np.zeros(4)
    orders = list(itertools.permutations(range(4)))
    for order in orders:
        for i, j in enumerate(order):
            before = tuple(sorted(order[:i]))
            gains[j] += of_subset[tuple(sorted((*before, j)))] - of_subset[before]
    np.testing.assert_allclose(shapley(values), gains / len(orders))
    assert shapley(values).sum() == pytest.approx(values[-1])
    of_first = [of_subset[tuple(sorted((0, *c)))] - of_subset[c] for c in of_subset if c and 0 not in c]
    assert joining(values)[0] == pytest.approx(np.mean(of_first))
    assert shapley(np.array([0.3])).tolist() == [0.3]
    assert np.isnan(joining(np.array([0.3]))).all()


def test_correlation_of_errors() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    x = np.stack([y + rng.normal(size=200) for _ in range(3)])

    def z(v: np.ndarray) -> np.ndarray:
        return (v - v.mean()) / v.std()

    r = np.corrcoef([z(v) - z(y) for v in x])
    expected = (r[0, 1] + r[0, 2] + r[1, 2]) / 3
    assert error_correlation(x, y) == pytest.approx(expected)
    # A constant judge, and one that is the truth itself, have no errors that could be correlated.
    assert error_correlation(np.vstack([x, np.full(200, 3.0), 2 * y + 1]), y) == pytest.approx(expected)
    assert math.isnan(error_correlation(x[:1], y))
    assert math.isnan(error_correlation(x, np.ones(200)))


def test_effective_number() -> None:
    assert effective_number(5, 0.0) == 5
    assert effective_number(5, 1.0) == pytest.approx(1)
    assert effective_number(4, 0.5) == pytest.approx(1.6)
    assert math.isnan(effective_number(2, -1.0))
    assert math.isnan(effective_number(3, math.nan))
