"""Orders that users share and errors of families: closed forms, refusals, published studies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.generalizability import OWN, SHARED, covered, family
from metaeval.stats.regression.generalizability import (
    NoOrder,
    OwnEffects,
    components,
    crossed_variance,
    difference_p,
    shared_order,
    total_interval,
    variance_of_mean,
)

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
    assert whole.deviations == pytest.approx(-np.sqrt((n - 1) / n) * (z - z.mean()))
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


def members(seed, p=4, n=12):
    table = np.random.default_rng(seed).normal(size=(p, n))
    return table.mean(axis=1), table - table.mean(axis=1, keepdims=True)


@given(seed=st.integers(0, 1000), p=st.integers(3, 6), n=st.integers(3, 12))
def test_the_total_error_is_that_of_clusters_and_of_members(seed, p, n):
    values, contributed = members(seed, p, n)
    alone = variance_of_mean(contributed)
    assert alone == pytest.approx((contributed.mean(axis=0) ** 2).sum() / (n - 1) / n)
    found = total_interval(values.mean(), alone, n - 1, [values])
    of_members = values.var(ddof=1) / p
    assert found.df == pytest.approx(
        (alone + of_members) ** 2 / (alone**2 / (n - 1) + of_members**2 / (p - 1))
    )
    assert min(p, n) - 1 <= found.df <= p + n - 2
    half = scipy.stats.t.ppf(0.975, found.df) * np.sqrt(alone + of_members)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    judges = np.array([values.mean() - 0.1, values.mean(), values.mean() + 0.1])
    both = total_interval(values.mean(), alone, n - 1, [values, judges])
    spread = alone + of_members + judges.var(ddof=1) / 3
    half = scipy.stats.t.ppf(0.975, both.df) * np.sqrt(spread)
    assert both.high - both.value == pytest.approx(half)
    plain = total_interval(values.mean(), alone, n - 1)
    assert plain.high - plain.value == pytest.approx(scipy.stats.t.ppf(0.975, n - 1) * np.sqrt(alone))


def test_a_family_of_two_is_refused():
    values, contributed = members(1, p=2)
    found = total_interval(values.mean(), variance_of_mean(contributed), 11, [values])
    assert np.isnan([found.low, found.high]).all()
    assert found.value == values.mean()


@given(seed=st.integers(0, 1000))
def test_the_error_of_the_design_that_was_studied_is_what_was_seen(seed):
    values, contributed = members(seed)
    whole = contributed + values[:, None]
    found = components(values, contributed)
    squares = [n * whole.mean(axis=a).var(ddof=1) for a, n in ((1, 12), (0, 4))]  # of members, of clusters
    if min(squares) >= found.both:  # else a component was cut at 0
        expected = squares[1] / 48 + squares[0] / 48 - found.both / 48
        assert found.error(12, 4) ** 2 == pytest.approx(expected)
    assert found.error(24, 4) <= found.error(12, 4)


def test_users_and_items():
    assert crossed_variance(3.0, 2.0, 1.0) == 4.0
    assert crossed_variance(3.0, 1.0, 2.0) == 3.0
    assert crossed_variance(1.0, 3.0, 2.5) == 3.0


def test_gpt_4_on_llmbar(real_data: Path):
    verdicts = pd.read_csv(real_data / "llmbar" / "verdicts.csv")
    gold = pd.read_json(real_data / "llmbar" / "pairs.jsonl", lines=True)[["subset", "pair_id", "gold"]]
    verdicts = verdicts[verdicts["judge"] == "GPT-4"].merge(gold, on=["subset", "pair_id"])
    right = verdicts.assign(right=verdicts["winner"] == verdicts["gold"])
    table = right.pivot_table("right", "prompt", ["subset", "pair_id"]).to_numpy()
    values = table.mean(axis=1)
    contributed = table - values[:, None]
    alone = variance_of_mean(contributed)
    by_pairs = values.mean() + scipy.stats.t.ppf([0.025, 0.975], 418) * np.sqrt(alone)
    assert by_pairs == pytest.approx([0.797, 0.856], abs=0.001)
    ends = total_interval(values.mean(), alone, 418, [values])[1:3]
    assert ends == pytest.approx((0.775, 0.878), abs=0.001)
    split = components(values, contributed)
    designs = [split.error(*design) for design in ((419, 1), (419, 5), (1000, 1))]
    assert designs == pytest.approx([0.043, 0.023, 0.041], abs=0.0005)


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [3, 5])
def test_total_intervals_hold_the_mean_of_all_prompts(prompts):
    row = family(2000, 40, prompts, 0.1)
    assert row["held"]
    assert row["clusters only"] < 0.93
