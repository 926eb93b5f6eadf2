from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metaeval.stats.agreement.raters import intraclass
from metaeval.stats.coefficients.grouped import kendall, pearson
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.between import between, differing_in
from tests.trust.simulated_studies import drawn


@pytest.fixture
def three():
    """Three judges, each on most of 360 units."""
    data = drawn(1)
    rng = np.random.default_rng(1)
    scores = data.scores + rng.integers(-1, 2, (3, *data.truth.shape))
    scores[1, 0, ::7] = np.nan
    return replace(data, judges=("a", "b", "c"), scores=scores)


def test_two_judges_are_compared_by_plain_formulas(three) -> None:
    found = between(three, ["a", "b"], Resampler(30, resamples=200))
    there = ~np.isnan(three.scores[1, 0])
    x, y = three.scores[0, 0, there], three.scores[1, 0, there]
    assert found.n_units[0] == there.sum()
    assert found.identical.value[0] == pytest.approx((x == y).mean())
    assert found.distance.value[0] == pytest.approx(np.abs(x - y).mean())
    assert found.shift.value[0] == pytest.approx((y - x).mean())
    assert found.correlation.value[0] == pytest.approx(pearson(x, y))
    assert found.icc.value[0] == pytest.approx(intraclass(np.stack([x, y], axis=1)).icc2)
    assert found.correlation.low[0] < found.correlation.value[0] < found.correlation.high[0]
    means = [[v[three.generator[there] == g].mean() for g in range(4)] for v in (x, y)]
    assert found.tau[0] == pytest.approx(kendall(*means))


def test_three_judges_are_compared_together(three) -> None:
    found = between(three, ["a", "b", "c"], Resampler(30, resamples=200))
    table = three.scores[:, 1].T
    assert found.icc.value[1] == pytest.approx(intraclass(table).icc2)
    assert found.identical.value[1] == pytest.approx((np.ptp(table, axis=1) == 0).mean())
    apart = np.array([table.mean(axis=0)[j] - table.mean(axis=0)[i] for i, j in ((0, 1), (0, 2), (1, 2))])
    assert found.shift.value[1] == pytest.approx(apart[np.abs(apart).argmax()])
    assert 0.05 < found.shift.p[-1] <= 1


def test_judges_without_a_unit_in_common() -> None:
    data = drawn(3)
    scores = np.concatenate([data.scores, data.scores])
    scores[0, :, ::2], scores[1, :, 1::2] = np.nan, np.nan
    found = between(replace(data, judges=("a", "b"), scores=scores), ["a", "b"], Resampler(30, resamples=20))
    numbers = (found.identical, found.distance, found.shift, found.correlation, found.icc)
    assert np.isnan([n.value for n in numbers]).all()
    assert np.isnan(found.shift.p).all()


def test_signatures_that_differ_in_one_thing_alone() -> None:
    base = {"spec": "x", "model": "m", "prompt": {"sha256": "1"}, "replicate": 0}
    signatures = {
        "a": base,
        "worded": {**base, "spec": "y", "prompt": {"sha256": "2"}, "models": ["seen"]},
        "again": {**base, "replicate": 1},
        "both": {**base, "replicate": 1, "prompt": {"sha256": "2"}},
        "other": {**base, "model": "n", "prompt": {"sha256": "3"}},
        "twin": base,
        "length": {"counted": "characters"},
    }
    assert differing_in("prompt", signatures, list(signatures)) == [("a", "worded"), ("again", "both")]
    assert differing_in("replicate", signatures, list(signatures)) == [("a", "again"), ("worded", "both")]
    assert differing_in("prompt", signatures, ["a", "other", "length", "unknown"]) == []
