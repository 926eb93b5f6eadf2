import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.regression import variance as effects
from metaeval.stats.regression.variance import UserAdjusted, top_agreement
from metaeval.stats.weighted.sums import Clusters
from tests.examples import examples


@st.composite
def ratings(draw, max_size=20):
    n = draw(st.integers(1, max_size))
    n_generators, n_users = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    values = np.array(draw(st.lists(st.integers(1, 5).map(float), min_size=n, max_size=n)))
    generator = np.array(draw(st.lists(st.integers(0, n_generators - 1), min_size=n, max_size=n)))
    user = np.array(draw(st.lists(st.integers(0, n_users - 1), min_size=n, max_size=n)))
    return values, generator, n_generators, Clusters(user, n_users)


def drawn(columns, cluster, weights):
    """Rows of the resample, every unit of a cluster as often as its weight, and which copy each row is of."""
    rows = [(i, copy) for i in range(len(cluster)) for copy in range(weights[cluster[i]])]
    at = np.array([i for i, _ in rows], dtype=int)
    return [c[at] for c in columns], np.array([copy for _, copy in rows], dtype=int)


def naive_means(values, generator, n_generators, user):
    """Least squares on dummies of generators and users."""
    found = np.full(n_generators, np.nan)
    present, users = np.unique(generator), np.unique(user)
    design = np.hstack([generator[:, None] == present, user[:, None] == users]).astype(float)
    if not present.size or np.linalg.matrix_rank(design) < present.size + users.size - 1:
        return found
    of_generators = np.linalg.lstsq(design, values)[0][: present.size]
    found[present] = of_generators - of_generators.mean() + values.mean()
    return found


@given(ratings(), st.data(), st.sampled_from([1, 2**20]))
@settings(max_examples=examples(150))
def test_a_resample_equals_least_squares_on_its_users(study, data, block):
    values, generator, n_generators, clusters = study
    rows = st.lists(st.integers(0, 3), min_size=clusters.n, max_size=clusters.n)
    weights = data.draw(st.lists(rows, min_size=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effects, "_BLOCK", block)
        found = UserAdjusted.of(*study).at(np.transpose(weights)).T
    for row, w in zip(found, weights, strict=True):
        (v, g, u), copy = drawn([values, generator, clusters.of_unit], clusters.of_unit, w)
        np.testing.assert_allclose(row, naive_means(v, g, n_generators, u * 3 + copy), atol=1e-9)


@given(ratings(), st.data())
@settings(max_examples=examples(100))
def test_without_users_means_are_plain(study, data):
    values, generator, n_generators, clusters = study
    weights = data.draw(st.lists(st.integers(0, 3), min_size=clusters.n, max_size=clusters.n))
    (v, g), _ = drawn([values, generator], clusters.of_unit, weights)
    plain = UserAdjusted.of(*study, users=False)
    expected = [v[g == k].mean() if (g == k).any() else np.nan for k in range(n_generators)]
    np.testing.assert_allclose(plain.at(np.array([weights]).T)[:, 0], expected, atol=1e-12)


def unbalanced(seed=0, n=400, n_generators=6, n_users=25):
    """Users who rate high see other generators than users who rate low."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, n_users, n)
    generator = np.minimum(rng.poisson(user / 8), n_generators - 1)
    values = 3 + 0.2 * user - 0.5 * generator + rng.normal(size=n)
    return values, generator, n_generators, Clusters(user, n_users)


def test_takes_the_users_out_of_the_means():
    study = unbalanced(n=20_000)
    slopes = []
    for users in (True, False):
        means = UserAdjusted.of(*study, users=users).at(np.ones((25, 1)))[:, 0]
        slopes.append(np.polyfit(np.arange(6), means, 1)[0])
    assert slopes[0] == pytest.approx(-0.5, abs=0.03)
    assert slopes[1] > 0  # plain means turn the order around


def test_generators_that_no_user_links_are_not_compared():
    values, user = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 0, 1, 1, 2])
    generator = np.array([0, 1, 2, 3, 0])
    apart = UserAdjusted.of(values, generator, 4, Clusters(user, 3))
    found = apart.at(np.transpose([[1, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0]])).T
    assert np.isnan(found[0]).all()
    assert np.isnan(found).tolist()[1:] == [[False, False, True, True], [False] + [True] * 3, [True] * 4]
    assert found[1, 1] - found[1, 0] == pytest.approx(1.0)
    assert found[2, 0] == pytest.approx(5.0)


def test_weights_may_be_any_positive_numbers():
    adjusted = UserAdjusted.of(*unbalanced())
    weights = np.random.default_rng(2).exponential(size=(25, 50))
    np.testing.assert_allclose(adjusted.at(weights), adjusted.at(weights * 1e-6), rtol=1e-9)
    assert adjusted.at(np.zeros((25, 0))).shape == (6, 0)


def test_top_agreement():
    a = [[1.0, 2.0], [np.nan, 0.0], [3.0, 1.0], [np.nan, np.nan], [2.0, 2.0]]
    b = [[5.0, 9.0], [7.0, np.nan], [1.0, 0.0], [1.0, 2.0], [1.0, 2.0]]
    assert top_agreement(a, b) == 2 / 4
    assert np.isnan(top_agreement(a[3:4], b[3:4]))
