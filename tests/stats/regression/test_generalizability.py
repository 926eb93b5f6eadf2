"""Orders that users share: closed forms, refusals, the study of recommendation explanations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.generalizability import OWN, SHARED, covered
from metaeval.stats.regression.generalizability import NoOrder, OwnEffects, difference_p, shared_order

RECEXP = {
    "persuasiveness": (0.74, 0.65, 0.81),
    "transparency": (0.68, 0.55, 0.78),
    "interest_accuracy": (0.68, 0.56, 0.77),
    "satisfaction": (0.57, 0.45, 0.67),
}


def table(rng, users, items, generators, *, common=0.5, own=0.5, noise=1.0):
    """Return values and codes of complete tables, users × items × generators."""
    shape = (users, items, generators)
    values = common * np.linspace(-1, 1, generators) + own * rng.normal(size=(users, 1, generators))
    values = values + rng.normal(size=(users, items, 1)) + noise * rng.normal(size=shape)
    user, item, generator = (c.ravel() for c in np.indices(shape))
    return values.ravel(), generator, item, user, (users, generators)


@given(seed=st.integers(0, 10_000), users=st.integers(1, 4), items=st.integers(2, 4), g=st.integers(2, 5))
def test_effects_of_complete_tables_are_differences_of_means(seed, users, items, g):
    values, *codes = table(np.random.default_rng(seed), users, items, g)
    found = OwnEffects.of(values, *codes)
    cube = values.reshape(users, items, g)
    means = cube.mean(axis=1)
    assert found.effects == pytest.approx(means - means.mean(axis=1, keepdims=True))
    left = cube - cube.mean(axis=2, keepdims=True) - found.effects[:, None]
    variance = (left**2).sum(axis=(1, 2)) / ((items - 1) * (g - 1))
    assert found.noise == pytest.approx(variance / items)


@given(seed=st.integers(0, 10_000))
def test_effects_are_least_squares_with_dummies_and_levels_of_items_do_not_count(seed):
    rng = np.random.default_rng(seed)
    values, generator, item, user, n = table(rng, 1, 4, 4)
    shown = rng.random(len(values)) < 0.7
    values, generator, item, user = (v[shown] for v in (values, generator, item, user))
    found = OwnEffects.of(values, generator, item, user, n)
    items = np.unique(item)
    design = np.hstack([generator[:, None] == np.arange(4), item[:, None] == items]).astype(float)
    if np.linalg.matrix_rank(design) < 3 + len(items):
        assert np.isnan(found.effects).all()
        return
    wanted = np.linalg.lstsq(design, values)[0][:4]
    assert found.effects[0] == pytest.approx(wanted - wanted.mean())
    moved = OwnEffects.of(values + 10 * rng.normal(size=4)[item], generator, item, user, n)
    assert moved.effects == pytest.approx(found.effects)
    assert moved.noise == pytest.approx(found.noise, nan_ok=True, abs=1e-9)


def test_a_user_who_saw_each_item_once_tells_nothing():
    found = OwnEffects.of(np.arange(4.0), *(np.array([0, 1, 0, 1]), np.arange(4), np.zeros(4, int)), (1, 2))
    assert np.isnan(found.effects).all()


def test_what_is_refused():
    rng = np.random.default_rng(1)
    reasons = [
        shared_order(OwnEffects.of(*table(rng, *size, **how))).reason
        for size, how in (
            ((19, 4, 5), {}),
            ((40, 4, 5), {"own": 0.0}),
            ((40, 4, 5), {}),
        )
    ]
    assert reasons == [NoOrder.FEW_USERS, NoOrder.NOISE, None]
    own = OwnEffects.of(*table(rng, 40, 4, 5))
    alike = OwnEffects(own.effects - own.effects.mean(axis=0), own.noise)
    assert shared_order(alike).reason == NoOrder.NO_COMMON


def test_the_jackknife_leaves_users_out():
    values, generator, item, user, (n, g) = table(np.random.default_rng(2), 25, 4, 5)
    whole = shared_order(OwnEffects.of(values, generator, item, user, (n, g)))

    def without(u):
        rest = user != u
        own = OwnEffects.of(values[rest], generator[rest], item[rest], user[rest], (n, g))
        return shared_order(own).z

    z = np.array([without(u) for u in range(n)])
    assert whole.deviations == pytest.approx(np.sqrt((n - 1) / n) * (z - z.mean()))
    assert whole.low < whole.rho < whole.high


def test_recommendation_explanations(real_data: Path):
    frame = pd.read_csv(real_data / "recexp" / "df_explanation_selected.csv")
    frame = frame[frame["explanation_type"] != "item_peer"]
    codes = [pd.factorize(frame[k])[0] for k in ("explanation_type", "movie_id", "user_id")]
    found = {a: shared_order(OwnEffects.of(frame[a].to_numpy(float), *codes, (39, 8))) for a in RECEXP}
    for aspect, published in RECEXP.items():
        order = found[aspect]
        assert (order.rho, order.low, order.high) == pytest.approx(published, abs=0.006)
    assert difference_p(found["persuasiveness"], found["satisfaction"]) == pytest.approx(0.0001, abs=0.00005)


@pytest.mark.slow
@pytest.mark.parametrize("how", [SHARED, OWN])
def test_intervals_hold_the_correlation(how):
    row = covered(200, 40, how)
    assert row["held"]
    assert row["refused"] == 0
    assert abs(row["bias_rho"]) <= 0.025
