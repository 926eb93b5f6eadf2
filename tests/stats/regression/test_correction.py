import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.regression.correction import LabelledSample, RoganGladen
from metaeval.stats.weighted.sums import Clusters
from tests.examples import examples

ONE = np.ones((1, 1))


def sample(rng, users=60, per=5, share=0.3, r=0.7, judges=1, groups=1):
    of_unit = np.repeat(np.arange(users), per)
    n = users * per
    y = rng.normal(size=users)[of_unit] + rng.normal(size=n)
    f = r * y + math.sqrt(1 - r * r) * rng.normal(size=(judges, n)) + 3
    rated = np.isin(of_unit, rng.choice(users, round(users * share), replace=False))
    group = np.arange(n) % groups
    return LabelledSample(np.where(rated, y, np.nan), f, group, groups, Clusters(of_unit, users)), y


def naive(s, contrast):
    """Prediction-powered sums with one lambda per judge: cluster by cluster, group by group, by lstsq."""
    users = s.clusters.n
    y_of, f_of = np.zeros(users), np.zeros((users, len(s.scores)))
    value, shift = 0.0, np.zeros(len(s.scores))
    for g, w in enumerate(contrast):
        here = s.group == g
        rated = here & s.rated
        value += w * s.ratings[rated].mean()
        shift += w * (s.scores[:, here].mean(axis=1) - s.scores[:, rated].mean(axis=1))
        for u in range(users):
            mine = s.clusters.of_unit == u
            y_of[u] += w * (s.ratings[rated & mine] - s.ratings[rated].mean()).sum() / rated.sum()
            for k, f in enumerate(s.scores):
                f_of[u, k] += w * (f[here & mine] - f[here].mean()).sum() / here.sum()
                f_of[u, k] -= w * (f[rated & mine] - f[rated].mean()).sum() / rated.sum()
    weight = np.linalg.lstsq(-f_of, y_of)[0]
    held_out = []
    for u in range(users):
        others = np.arange(users) != u
        held_out.append(y_of[u] + f_of[u] @ np.linalg.lstsq(-f_of[others], y_of[others])[0])
    n = len(np.unique(s.clusters.of_unit[s.rated]))
    return value + weight @ shift, math.sqrt(n / (n - 1) * np.square(held_out).sum())


@pytest.mark.parametrize("judges", [1, 2, 3])
@pytest.mark.parametrize("contrast", [[1.0, 0.0], [-1.0, 1.0], [0.5, 0.5]])
def test_sums_of_means_equal_the_naive_path(judges, contrast):
    s, _ = sample(np.random.default_rng(judges), judges=judges, groups=2)
    found = s.powered(np.array([contrast]))
    expected = naive(s, contrast)
    assert (found.estimate[0], found.standard_error[0]) == pytest.approx(expected, rel=1e-9)


def test_a_judge_that_is_off_by_a_point_is_corrected():
    s, y = sample(np.random.default_rng(0), users=200)
    found = s.powered(ONE)
    low, high = found.interval()
    assert low[0] < y.mean() < high[0]
    assert abs(s.judge_alone(ONE).estimate[0] - y.mean()) > 2
    assert found.standard_error[0] < 0.9 * s.labels_alone(ONE).standard_error[0]


def test_known_probabilities_undo_the_choice_of_easy_units():
    rng = np.random.default_rng(1)
    found, plain = [], []
    for _ in range(200):
        s, y = sample(rng, users=80)
        p = np.where(s.scores[0] > 3, 0.6, 0.1)
        ratings = np.where(rng.random(len(y)) < p, y, np.nan)
        drawn = LabelledSample(ratings, s.scores, s.group, 1, s.clusters, p)
        found.append(drawn.labels_alone(ONE).estimate[0] - y.mean())
        plain.append(np.nanmean(ratings) - y.mean())
    assert abs(np.mean(found)) < 4 * np.std(found) / math.sqrt(len(found))
    assert np.mean(plain) > 0.3


def test_strata_add_up_to_the_mean_where_all_are_rated_alike():
    s, y = sample(np.random.default_rng(2), share=1.0)
    assert s.by_strata(ONE).estimate[0] == pytest.approx(y.mean())
    assert s.by_strata(ONE).standard_error[0] == pytest.approx(
        s.labels_alone(ONE).standard_error[0], rel=1e-9
    )


def test_no_unit_is_predicted_by_a_map_that_saw_its_cluster():
    s, _ = sample(np.random.default_rng(3), users=20, share=0.5)
    before = s.mapped(0)[0]
    user = s.clusters.of_unit[s.rated][0]
    mine = s.clusters.of_unit == user
    moved = LabelledSample(np.where(mine, s.ratings + 50, s.ratings), s.scores, s.group, 1, s.clusters)
    after = moved.mapped(0)[0]
    np.testing.assert_array_equal(after[mine], before[mine])
    assert np.abs(after[~mine] - before[~mine]).max() > 1


def published(p, q0, q1, n, m0, m1, z=1.959963984540054):
    """The interval of Lee et al. (2025), section 4, for independent units."""
    p, q0, q1 = (n * p + z * z / 2) / (n + z * z), (m0 * q0 + 1) / (m0 + 2), (m1 * q1 + 1) / (m1 + 2)
    n, m0, m1 = n + z * z, m0 + 2, m1 + 2
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    shift = 2 * z * z * (-(1 - theta) * q0 * (1 - q0) / m0 + theta * q1 * (1 - q1) / m1)
    variance = p * (1 - p) / n + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    error = math.sqrt(variance) / (q0 + q1 - 1)
    return [min(1.0, max(0.0, theta + shift + s * z * error)) for s in (-1, 1)]


@given(st.integers(0, 2**31), st.floats(0.1, 0.9), st.floats(0.6, 0.95), st.floats(0.6, 0.95))
@settings(max_examples=examples(100))
def test_shares_of_independent_units_have_the_published_interval(seed, share, sensitivity, specificity):
    rng = np.random.default_rng(seed)
    y = (rng.random(400) < share).astype(float)
    f = np.where(y == 1, rng.random(400) < sensitivity, rng.random(400) > specificity).astype(float)
    ratings = np.where(np.arange(400) < 100, y, np.nan)
    found = RoganGladen.of(ratings, f, Clusters(np.zeros(400, dtype=int), 1))
    ones, zeros = ratings == 1, ratings == 0
    if not ones.any() or not zeros.any():
        assert math.isnan(found.estimate)
        return
    q1, q0 = f[ones].mean(), 1 - f[zeros].mean()
    assert found.youden == pytest.approx(q0 + q1 - 1)
    if q0 + q1 <= 1:
        assert math.isnan(found.estimate)
        return
    plain = (f.mean() + q0 - 1) / (q0 + q1 - 1)
    assert found.estimate == pytest.approx(min(1.0, max(0.0, plain)))
    ends = published(f.mean(), q0, q1, 400, zeros.sum(), ones.sum())
    assert [found.low, found.high] == pytest.approx(ends)


def test_clusters_widen_the_interval_of_a_share():
    rng = np.random.default_rng(4)
    user = np.repeat(np.arange(40), 10)
    y = np.repeat(rng.random(40) < 0.5, 10).astype(float)
    f = np.where(rng.random(400) < 0.9, y, 1 - y)
    ratings = np.where(user < 20, y, np.nan)
    alone, own = (RoganGladen.of(ratings, f, Clusters(c, int(c.max()) + 1)) for c in (np.arange(400), user))
    assert own.estimate == alone.estimate
    assert own.high - own.low > 1.5 * (alone.high - alone.low)


def test_noise_tells_nothing_and_a_judge_does():
    s, _ = sample(np.random.default_rng(5), judges=2, users=100)
    noise = np.random.default_rng(6).normal(size=s.scores.shape[1])
    r, low = LabelledSample(s.ratings, np.stack([s.scores[0], noise]), s.group, 1, s.clusters).informative()
    assert r[0] == pytest.approx(np.corrcoef(s.scores[0, s.rated], s.ratings[s.rated])[0, 1])
    assert low[0] > 0.5
    assert low[1] < 0 < abs(r[1]) < 0.2


def test_labels_of_easy_units_are_unlike_the_rest():
    s, y = sample(np.random.default_rng(7), users=100)
    assert s.unlike() > 0.01
    easy = LabelledSample(np.where(s.scores[0] > 3.5, y, np.nan), s.scores, s.group, 1, s.clusters)
    assert easy.unlike() < 0.001
    assert LabelledSample(y, s.scores, s.group, 1, s.clusters).unlike() == 1
    constant = LabelledSample(s.ratings, s.scores * 0, np.arange(len(y)) % 5, 5, s.clusters)
    assert constant.unlike() == 1  # every user has a unit of each generator


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "groups"), [(False, 9), (True, 1)])
def test_few_labels_drawn_at_random_are_seldom_unlike(whole, groups):
    rng, found = np.random.default_rng(8), []
    for k in range(300):
        s, y = sample(rng, users=40, per=6, share=0.1, groups=groups)
        if not whole:
            rated = np.isin(np.arange(len(y)), rng.choice(len(y), 30, replace=False))
            s = LabelledSample(np.where(rated, y, np.nan), s.scores, s.group, groups, s.clusters)
        found.append(s.unlike(k))
    assert np.mean(np.array(found) < 0.05) < 0.1  # of 300 studies, in all but 1 of 10,000
    assert np.mean(np.array(found) < 0.001) < 0.015
