"""Choosing the best of several: against the definition, published figures, and many simulated studies."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.choosing import BIAS, chosen
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.resampling.choice import best_of, picked
from metaeval.stats.resampling.cluster_sums import Stack, WithAverage
from metaeval.stats.resampling.rank_ranges import contributions
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters


def candidates(k, n, seed=0, apart=0.0):
    """Return contributions of n clusters to k means, of which the first is the best."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(k, n)) + rng.normal(size=n)
    x[0] += apart
    return x.mean(axis=1), x


@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(6, 30), st.floats(0, 2))
def test_what_is_expected_of_a_choice(seed, k, n, apart):
    theta, psi = candidates(k, n, seed, apart)
    found = best_of(theta, psi, seed=seed)
    assert found.chosen == theta.argmax()
    assert found.contenders[found.chosen]
    assert found.chance.sum() == pytest.approx(1)
    assert (found.chance[~found.contenders] == 0).all()
    assert 0 <= found.loss <= found.most + 1
    assert found.low < found.fresh < found.high
    if found.contenders.sum() == 1:
        assert (found.chance[found.chosen], found.loss, found.most) == (1, 0, 0)
    # Scale, level and the order of candidates do not matter.
    order = np.random.default_rng(seed).permutation(k)
    other = best_of(5 + 3 * theta[order], 3 * psi[order], seed=seed)
    assert order[other.chosen] == found.chosen
    assert other.fresh == pytest.approx(5 + 3 * found.fresh)
    assert other.most == pytest.approx(3 * found.most, abs=1e-9)


def test_the_fresh_value_is_its_definition():
    theta, psi = candidates(4, 8)
    weights = np.concatenate([*_resamples(8)], axis=1)
    out = []
    for w in weights.T:
        if (w > 0).all():
            continue
        best = (psi @ w / 8).argmax()
        out.append(psi[best, w == 0].mean())
    expected = 0.368 * theta.max() + 0.632 * np.mean(out[:1000])
    assert best_of(theta, psi).fresh == pytest.approx(expected)


def _resamples(n):
    from metaeval.stats.resampling.weights import Resamples

    return Resamples(n, 2_000, 0).blocks()


def test_of_equals_the_cheaper_is_chosen_and_one_that_is_clearly_better_is_sure():
    theta, psi = candidates(3, 20)
    theta, psi = np.append(theta, theta.max()), np.vstack([psi, psi[theta.argmax()]])
    found = best_of(theta, psi, np.array([3.0, 3.0, 3.0, 1.0]))
    assert found.chosen == 3
    assert found.alike.tolist() == (theta == theta.max()).tolist()
    assert found.chance[3] == found.chance[theta.argmax()], "equals share it"
    theta, psi = candidates(5, 20, apart=4.0)
    sure = best_of(theta, psi)
    assert (sure.chosen, sure.contenders.sum(), sure.loss, sure.most) == (0, 1, 0, 0)
    assert sure.labels(0.01, 20) == 20
    with pytest.raises(ValueError, match="5 clusters"):
        best_of(theta, psi[:, :5])


def test_the_cheapest_within_a_slack():
    values = np.array([[0.5, 0.5], [0.45, 0.3], [0.1, 0.49]])
    assert picked(values, np.array([3.0, 2.0, np.nan]), 0.1).tolist() == [1, 0]
    assert picked(values, np.full(3, np.nan), 0.1).tolist() == [0, 0], "without any price: the highest"


def test_shares_near_one_have_an_interval():
    psi = np.ones((2, 12))
    found = best_of(np.ones(2), psi, share=True)
    assert found.high - found.low > 0.2
    assert best_of(np.ones(2), psi).high == 1


def test_hanna(real_data: Path):
    """The cell: dataset level, Pearson, mean of six aspects, a missing score at the evaluator's median."""
    frame = pd.read_csv(real_data / "hanna" / "hanna_wide.csv")
    items = np.random.default_rng(1).permutation(96)[:20]
    frame = frame[frame["item_id"].isin(items) & frame["generator"].ne("Human")]
    aspects = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
    codes = dict(zip(("RE", "CH", "EM", "SU", "EG", "CX"), aspects, strict=True))
    clusters = Clusters(pd.factorize(frame["item_id"])[0], 20)
    group = Grouping(np.zeros(len(frame), dtype=np.int64), 1)
    names = sorted(c.replace(" AVG", "") for c in frame.columns if " AVG " in c)
    theta, psi = [], []
    for name in names:
        judge, prompt = name.rsplit(" ", 1)
        scores = [frame[f"{judge} {code} {prompt}"].astype(float) for code in codes]
        filled = [x.fillna(x.median()).to_numpy() for x in scores]
        each = [
            statistic(x, frame[aspect].to_numpy(float), group, clusters, ["pearson"])
            for x, aspect in zip(filled, aspects, strict=True)
        ]
        mean = WithAverage(Stack(each))
        theta.append(mean.at(np.ones((20, 1)))[-1, 0])
        psi.append(contributions(mean, 20)[-1])
    found = best_of(np.array(theta), np.stack(psi))
    assert (names[found.chosen], round(max(theta), 3)) == ("Beluga-13B 1", 0.339)
    assert found.fresh == pytest.approx(0.309, abs=0.003)
    assert (found.low, found.high) == pytest.approx((0.206, 0.412), abs=0.004)
    assert (len(names), found.contenders.sum()) == (20, 14)
    assert found.chance[found.chosen] == pytest.approx(0.32, abs=0.01)
    assert (found.loss, found.most) == pytest.approx((0.015, 0.095), abs=0.003)
    assert found.labels(0.005, 20) == pytest.approx(62, abs=2)


@pytest.mark.slow
@pytest.mark.parametrize("ends", [(0.3, 0.3), (0.2, 0.35)])
def test_simulated_studies(ends):
    fresh, _, lost = chosen(100, 20, *ends, design="")
    assert fresh["held"], fresh
    assert abs(fresh["bias_fresh"]) < min(BIAS, fresh["bias_shown"])
    assert lost["held"], lost
