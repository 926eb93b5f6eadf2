"""Distances between distributions: as scipy has them of one pair, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy, wasserstein_distance

from metaeval.stats.agreement import distributions as d
from metaeval.stats.coefficients.tables import Floats

PAIRS = arrays(float, (2, 4, 5), elements=st.floats(0, 1)).map(
    lambda w: w + 1e-6 * (w.sum(-1) == 0)[..., None]
)


@given(PAIRS)
def test_each_is_what_scipy_has_of_a_pair(weights: Floats) -> None:
    one, other = weights / weights.sum(axis=-1, keepdims=True)
    pairs = list(zip(one, other, strict=True))
    steps = np.arange(5)
    assert d.wasserstein(one, other) == pytest.approx(
        [wasserstein_distance(steps, steps, q, p) for q, p in pairs], abs=1e-9
    )
    assert d.jensen_shannon(one, other) == pytest.approx(
        [jensenshannon(q, p, base=2) ** 2 for q, p in pairs], abs=1e-7
    )
    clipped = np.maximum(one, d.LEAST)
    surprise = [
        entropy(p) + (p * np.log(np.where(p > 0, p / q, 1))).sum()
        for q, p in zip(clipped, other, strict=True)
    ]
    assert d.cross_entropy(one, other) == pytest.approx(surprise, abs=1e-9)
    assert (d.manhattan(one, other) <= 2 * d.wasserstein(one, other) + 1e-9).all()  # a step moves both shares


def test_values_by_hand() -> None:
    judged, people = (
        np.array([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]),
        np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    )
    assert d.manhattan(judged, people).tolist() == [2, 2]
    assert d.wasserstein(judged, people).tolist() == [1, 2]
    assert d.jensen_shannon(judged, people) == pytest.approx([1, 1])
    assert d.squared_error(judged, people) == pytest.approx([1.5 / 3, 2 / 3])
    assert d.cross_entropy(judged, people) == pytest.approx([-np.log(d.LEAST)] * 2)
    assert d.covered(judged, people).tolist() == [0, 0]
    assert d.covered(people, np.array([[0.0, 0.3, 0.7], [0.9, 0.0, 0.1]]), least=0.2).tolist() == [1, 0]


def test_what_the_others_said_leaves_one_rating_or_one_cluster_out() -> None:
    counts = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    others = d.of_others(counts, np.array([0, 1, 0]))
    np.testing.assert_allclose(others, [[0.5, 0.5], [np.nan] * 2, [np.nan] * 2])
    np.testing.assert_allclose(d.of_other_clusters(counts, np.array([0, 0, 1])), [[1, 0], [1, 0], [0.5, 0.5]])


def test_a_unit_without_a_distribution_has_no_number() -> None:
    none, some = np.full((1, 2), np.nan), np.array([[0.5, 0.5]])
    for measure in (
        d.manhattan,
        d.wasserstein,
        d.cross_entropy,
        d.jensen_shannon,
        d.squared_error,
        d.covered,
    ):
        assert np.isnan(measure(none, some)).all()
    assert d.likeliest(none).tolist() == [-1]
