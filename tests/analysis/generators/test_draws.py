"""Means of generators are rounded to decimal digits: what is a short decimal is printed as one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from metaeval.analysis.generator_estimates import _rounded
from metaeval.analysis.generator_ranking import rank_generators
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.intervals import Bootstrap


@given(
    st.integers(-10_000, 10_000),
    st.sampled_from([1, 2, 4, 5, 8, 10, 16, 20, 25, 40]),
    st.floats(1, 100),
    st.integers(-200, 200),
)
def test_rounding_leaves_decimals_and_takes_noise(k: int, parts: int, widest: float, power: int) -> None:
    exact = float(f"{k / parts!r}e{power}")
    scale = np.array(max(abs(exact), 1e-300) * widest)
    noisy = np.array([exact, exact * (1 + 2e-16), exact * (1 - 2e-16)])
    found = _rounded(noisy, scale)
    assert (found == found[0]).all()
    np.testing.assert_allclose(found, exact, rtol=1e-9)
    if abs(power) < 5:
        assert repr(float(found[0])) == repr(exact)


def test_a_mean_of_17_over_8_is_2_125() -> None:
    rng = np.random.default_rng(3)
    units = pd.DataFrame([(f"u{u}", "i", g) for u in range(96) for g in "abc"])
    units.columns = ["user_id", "item_id", "generator"]
    rating = rng.integers(1, 6, len(units)).astype(float)
    of_a = (units["generator"] == "a").to_numpy()
    rating[of_a] = rng.permutation([2.0] * 84 + [3.0] * 12)  # 204 in all
    truth = units.assign(aspect="x", rating=rating)
    scores = units.assign(evaluator="e", aspect="x", score=rating)
    data = prepare(
        scores, truth, Policy.of(["dataset"], ["pearson"], {"truth": "drop", "score": "drop"}, "skip", "own")
    )
    options = Bootstrap.read({"resamples": 20})
    assert options is not None
    found = rank_generators(data, aspects=["x"], bootstrap=options)
    assert repr(float(found.ratings.mean[0][0])) == repr(204 / 96)
