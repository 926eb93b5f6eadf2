"""Maps to people's scale: against scikit-learn, against matrices, and blind to whom they are tried on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from metaeval.stats.regression.isotonic import Spread, cross_fitted, isotonic, shifts
from metaeval.stats.weighted.sums import Clusters

numbers = st.integers(-20, 20).map(float)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40))
def test_the_isotonic_map_is_that_of_scikit_learn(pairs) -> None:
    x, y = (np.array(v) for v in zip(*pairs, strict=True))
    other = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    asked = np.linspace(-25, 25, 101)
    assert isotonic(x, y)(asked) == pytest.approx(other.predict(asked), abs=1e-9)


def study(n_users=12, n_items=6, seed=0, shift=1.0, slope=0.0, noise=0.4):
    """Users with shifts and slopes of their own about a common rising map."""
    rng = np.random.default_rng(seed)
    user, item = (v.ravel() for v in np.indices((n_users, n_items)))
    x = rng.normal(0, 1, user.size)
    own = rng.normal(0, 1, (2, n_users))
    y = 3 + x + shift * own[0][user] + slope * own[1][user] * x + rng.normal(0, noise, user.size)
    return x, y, user, item


def test_no_map_has_seen_the_user_that_it_is_tried_on() -> None:
    x, y, user, item = study()
    clusters = Clusters(user, 12)
    before = cross_fitted(x, y, clusters, block=item, n_folds=4)
    for held in range(12):
        planted = np.where(user == held, 1000.0 * (1 + item), y)  # whoever sees these is far off
        after = cross_fitted(x, planted, clusters, block=item, n_folds=4)
        same_fold = before.fold == before.fold[user == held][0]
        mine = user == held
        for name in ("mean", "common"):
            assert (getattr(after, name)[same_fold] == getattr(before, name)[same_fold]).all(), name
            assert (getattr(after, name)[~same_fold] != getattr(before, name)[~same_fold]).any(), name
        # Others of the fold do not see it in their own maps either; the user does.
        others = same_fold & ~mine
        assert after.own[others] == pytest.approx(before.own[others], abs=1e-9)
        assert (after.own[mine] > 100).all()


def test_a_users_own_map_has_not_seen_the_item_that_it_is_tried_on() -> None:
    x, y, user, item = study()
    clusters = Clusters(user, 12)
    before = cross_fitted(x, y, clusters, block=item)
    at = (user == 5) & (item == 2)
    after = cross_fitted(x, np.where(at, 1000.0, y), clusters, block=item)
    assert after.own[at] == pytest.approx(before.own[at], abs=1e-9)
    assert (after.own[(user == 5) & (item != 2)] != before.own[(user == 5) & (item != 2)]).all()


def test_shifts_are_the_predictions_of_the_mixed_model() -> None:
    x, y, user, item = study(n_users=4, slope=0.5)
    spread, r = Spread(0.8, 0.3, 0.5), y - 3 - x
    found = shifts(x, r, user, item, spread)
    for i in range(len(x)):
        rows = (user == user[i]) & (item != item[i])
        z = np.stack([np.ones(rows.sum()), x[rows]], axis=1)
        prior = np.diag([spread.shift, spread.slope])
        # D Z' (Z D Z' + s² I)⁻¹ r: the same predictor, written the other way round.
        inner = z @ prior @ z.T + spread.noise * np.eye(len(z))
        effects = prior @ z.T @ np.linalg.solve(inner, r[rows])
        assert found[i] == pytest.approx(effects @ [1, x[i]], abs=1e-9)


def test_a_user_without_further_labels_has_the_common_map() -> None:
    alone = shifts(np.array([0.5]), np.array([2.0]), np.array([0]), np.array([0]), Spread(1.0, 1.0, 1.0))
    assert alone.tolist() == [0.0]


def test_variances_come_back() -> None:
    x, y, user, _ = study(n_users=2000, n_items=8, shift=0.7, slope=0.5, noise=0.6)
    found = Spread.of(x, y - 3 - x, user, 2000)
    assert found.shift == pytest.approx(0.49, rel=0.1)
    assert found.slope == pytest.approx(0.25, rel=0.1)
    assert found.noise == pytest.approx(0.36, rel=0.05)


def test_users_that_do_not_differ_have_no_maps_of_their_own() -> None:
    found = Spread.of(np.zeros(6), np.array([1.0, -1.0] * 3), np.array([0, 0, 1, 1, 2, 2]), 3)
    assert (found.shift, found.slope) == (0.0, 0.0)
    assert Spread.of(np.zeros(2), np.ones(2), np.array([0, 1]), 2) == Spread(0.0, 0.0, 0.0)


def test_own_maps_help_where_users_differ_and_do_no_harm_where_they_do_not() -> None:
    def errors(shift, slope):
        x, y, user, item = study(n_users=60, shift=shift, slope=slope)
        found = cross_fitted(x, y, Clusters(user, 60), block=item)
        return {n: float(np.abs(getattr(found, n) - y).mean()) for n in ("mean", "common", "own_mean", "own")}

    differ, alike = errors(1.0, 0.4), errors(0.0, 0.0)
    assert differ["own"] < 0.75 * differ["common"] < differ["mean"]
    assert differ["own"] < differ["own_mean"] < differ["mean"]
    assert alike["own"] == pytest.approx(alike["common"], rel=0.02)


def test_own_maps_keep_to_the_scale() -> None:
    x, y, user, item = study(shift=3.0)
    found = cross_fitted(x, np.clip(y, 1, 5), Clusters(user, 12), block=item, bounds=(1, 5))
    assert found.own.min() >= 1
    assert found.own.max() <= 5
