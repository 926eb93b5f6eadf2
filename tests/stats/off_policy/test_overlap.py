"""Overlap of a log, bin by bin, against what the words say of a bin's rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.off_policy.overlap import QUANTILES, THRESHOLDS, balance, overlap_of

logs = st.lists(
    st.tuples(st.floats(1e-6, 1), st.floats(1e-3, 1e3), st.integers(0, 2)), min_size=1, max_size=30
)


@given(logs)
def test_each_bin_is_described_as_if_it_were_alone(log) -> None:
    p, w, of = (np.array(column) for column in zip(*log, strict=True))
    found = overlap_of(p, w, of, np.array([4.0, 5.0, 6.0]))
    for b in range(3):
        own, weights = p[of == b], w[of == b]
        if not len(own):
            assert np.isnan(found.minimum[b])
            assert found.weights[b].effective == found.weights[b].largest_share == 0
            continue
        assert (found.n[b], found.minimum[b]) == (len(own), own.min())
        np.testing.assert_allclose(found.quantiles[b], np.quantile(own, QUANTILES))
        np.testing.assert_allclose(found.below[b], [(own < t).mean() for t in THRESHOLDS])
        np.testing.assert_allclose(found.weights[b].effective, weights.sum() ** 2 / (weights**2).sum())
        np.testing.assert_allclose(found.weights[b].mean, weights.sum() / (4 + b))
        np.testing.assert_allclose(found.weights[b].largest_share, weights.max() / weights.sum())


@given(logs)
def test_as_many_rows_as_the_effective_size_says_would_do_if_they_weighed_alike(log) -> None:
    p, w, _ = (np.array(column) for column in zip(*log, strict=True))
    one = np.zeros(len(p), dtype=int)
    size = overlap_of(p, w, one, np.ones(1)).weights[0].effective
    assert 1 - 1e-9 <= size <= len(p) + 1e-9
    np.testing.assert_allclose(overlap_of(p, 0 * w + 3, one, np.ones(1)).weights[0].effective, len(p))


def test_weights_by_the_true_propensities_balance_what_exposure_made_uneven() -> None:
    draw = np.random.default_rng(0)
    quality = draw.normal(size=200)
    p = 1 / (1 + np.exp(1 - quality))
    rows = draw.binomial(400, p).astype(float)
    found = balance(np.stack([quality, quality * 0], axis=1), rows, rows / p, np.ones(200))
    assert found.before[0] > 0.3
    assert abs(found.after[0]) < 0.02
    assert np.isnan(found.before[1])
