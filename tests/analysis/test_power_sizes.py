"""Simulated studies against studies put together by hand, and power against what fresh studies find."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.analysis.power_sizes import Power, power, power_sheet
from metaeval.analysis.substudies import Pair, substudies
from metaeval.base.errors import MetaevalError
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared, prepare
from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.weights import Resamples
from tests.examples import examples


def frames(
    n_users: int,
    n_units: int,
    *,
    noise: tuple[float, float] = (1.0, 1.0),
    seed: int = 0,
    aspects: tuple[str, ...] = ("fit",),
    missing: float = 0.0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make scores of two evaluators that are the truth with noise; users differ in how well they are met."""
    rng = np.random.default_rng(seed)
    users, units = (v.ravel() for v in np.indices((n_users, n_units)))
    keys = {
        "user_id": users.astype(str),
        "item_id": (units // 3 + 5 * (users % 4)).astype(str),
        "generator": units % 3,
    }
    keys["generator"] = keys["generator"].astype(str)
    truths, scores = [], []
    for aspect in aspects:
        met = rng.normal(1, 0.5, n_users)[users]
        truth = rng.normal(size=len(users))
        truths.append(pd.DataFrame({**keys, "aspect": aspect, "rating": np.round(2 * truth)}))
        for name, sd in zip("ab", noise, strict=True):
            score = met * truth + sd * rng.normal(size=len(users))
            score[rng.random(len(users)) < missing] = np.nan
            scores.append(
                pd.DataFrame({**keys, "evaluator": name, "aspect": aspect, "score": score.round(1)})
            )
    return pd.concat(scores, ignore_index=True), pd.concat(truths, ignore_index=True)


def prepared(
    scores: pd.DataFrame,
    truth: pd.DataFrame,
    level: str = "dataset",
    coefficient: str = "pearson",
    undefined: Literal["skip", "zero"] = "skip",
) -> Prepared:
    return prepare(scores, truth, Policy.of([level], [coefficient], None, undefined, "own"))


def by_hand(data: Prepared, units: list[Ints], level: str, evaluator: int) -> float:
    """Put a study together of drawn users, each a user of its own, and correlate; mean over aspects."""
    index = np.concatenate(units)
    copy = np.repeat(np.arange(len(units)), [len(u) for u in units])
    g = data.groupings[level]
    group = g.group[index]
    if level in ("user", "pair"):
        group = np.unique(group + copy * g.n_groups, return_inverse=True)[1]
    of_study = Grouping(group, int(group.max()) + 1, g.between)
    mask = None if data.mask is None else data.mask[evaluator][:, index]
    found = estimate(
        data.scores[evaluator][:, index],
        data.truth[:, index],
        {level: of_study},
        data.policy.coefficients,
        mask=mask,
        undefined=data.policy.undefined,
    )
    return float(found[level, data.policy.coefficients[0]].estimate.mean())


@settings(max_examples=examples(25))
@given(
    st.integers(5, 8),  # users 0 and 4 have the same items
    st.integers(4, 9),
    st.sampled_from(["dataset", "user", "pair", "item", "generator"]),
    st.sampled_from(["pearson", "spearman", "kendall"]),
    st.sampled_from(["skip", "zero"]),
    st.sampled_from([0.0, 0.3]),
    st.integers(1, 15),
)
def test_whole_users_as_by_hand(
    n_users: int,
    n_units: int,
    level: str,
    coefficient: str,
    undefined: Literal["skip", "zero"],
    missing: float,
    m: int,
) -> None:
    made = frames(n_users, n_units, aspects=("fit", "clear"), missing=missing, seed=n_users)
    data = prepared(*made, level, coefficient, undefined)
    pair = Pair.of(data, (0, 1), [0, 1], "user")
    found = substudies(pair, None, 0).replicates(m, 7, seed=3)
    assert found.shape == (2, 7)
    entering = np.ones(data.truth.shape[1], bool) if data.mask is None else data.mask.any(axis=(0, 1))
    of_user = [np.flatnonzero((data.keys["user_id"] == u) & entering) for u in range(n_users)]
    of_user = [u for u in of_user if len(u)]
    (weights,) = Resamples(len(of_user), 7, 3, size=m).blocks()
    for column in range(7):
        drawn = [of_user[u] for u in np.repeat(np.arange(len(of_user)), weights[:, column].astype(int))]
        wanted = [by_hand(data, drawn, level, e) for e in (0, 1)]
        np.testing.assert_allclose(found[:, column], wanted, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["dataset", "user", "pair", "generator"])
def test_some_units_of_users_are_spread_as_by_hand(level: str) -> None:
    data = prepared(*frames(12, 9, missing=0.1, aspects=("fit", "clear")), level, "spearman")
    pair = Pair.of(data, (0, 1), [0, 1], "user")
    found = substudies(pair, 5, 0).replicates(10, 4000, seed=0)
    rng = np.random.default_rng(1)
    of_user = [np.flatnonzero(data.keys["user_id"] == u) for u in range(12)]
    naive = np.empty((2, 600))
    for column in range(600):
        drawn = [rng.choice(of_user[u], 5, replace=False) for u in rng.integers(0, 12, 10)]
        naive[:, column] = [by_hand(data, drawn, level, e) for e in (0, 1)]
    for one, other in ((found[0], naive[0]), (found[0] - found[1], naive[0] - naive[1])):
        defined, wanted = one[~np.isnan(one)], other[~np.isnan(other)]
        assert defined.std() == pytest.approx(wanted.std(), rel=0.1)
        assert abs(defined.mean() - wanted.mean()) < 4 * wanted.std() / np.sqrt(600)


@pytest.mark.parametrize("level", ["dataset", "user", "pair"])
def test_all_units_of_each_user_are_the_whole_user(level: str) -> None:
    data = prepared(*frames(8, 6), level)
    pair = Pair.of(data, (0, 1), [0], "user")
    whole, all_units = (substudies(pair, k, 0).replicates(8, 4000, seed=0) for k in (None, 6))
    for one, other in zip(whole, all_units, strict=True):
        assert np.quantile(one, [0.1, 0.5, 0.9]) == pytest.approx(
            np.quantile(other, [0.1, 0.5, 0.9]), abs=0.02
        )
    # A study of one user drawn has one of as many values as there are users.
    assert len(np.unique(substudies(pair, 6, 0).replicates(1, 500, seed=0)[0].round(9))) == 8


def fresh(m: int, noise: tuple[float, float], studies: int) -> Floats:
    """Return differences of studies of new users, each from the model that `frames` draws from."""
    n = 10
    rng = np.random.default_rng(99)
    truth = rng.normal(size=(studies, m, n))
    met = rng.normal(1, 0.5, (studies, m, 1))
    rounded = np.round(2 * truth).reshape(studies, -1)
    r = []
    for sd in noise:
        score = (met * truth + sd * rng.normal(size=truth.shape)).round(1).reshape(studies, -1)
        a, b = (v - v.mean(axis=1, keepdims=True) for v in (score, rounded))
        r.append((a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1)))
    return np.asarray(r[0] - r[1])


@pytest.fixture(scope="module")
def different() -> Power:
    """What a run of many users says of studies of a few, of two evaluators that do differ."""
    data = prepared(*frames(600, 10, noise=(1.0, 1.25)))
    return power(data, ("a", "b"), users=[10, 20, 40, 80, 600, 2400], studies=1500)


def test_power_is_that_of_fresh_studies(different: Power) -> None:
    told = {s.users: s.power for s in different.sizes}
    for m in (10, 20, 40):
        seen = fresh(m, (1.0, 1.25), 3000)
        true = (np.abs(seen) > np.quantile(np.abs(seen - seen.mean()), 0.95)).mean()
        assert told[m] == pytest.approx(true, abs=0.12)
    assert told[10] < told[20] < told[40] < told[80]
    assert told[600] > 0.99


def test_width_is_that_of_fresh_studies_and_shrinks_with_the_root_of_the_users(different: Power) -> None:
    widths = {s.users: s.width_difference for s in different.sizes}
    for m in (20, 40):
        low, high = np.quantile(fresh(m, (1.0, 1.25), 3000), [0.025, 0.975])
        assert widths[m] == pytest.approx(high - low, rel=0.12)
    assert widths[20] / widths[80] == pytest.approx(2, rel=0.12)
    assert widths[600] / widths[2400] == pytest.approx(2, rel=0.12)
    # With a power of 80 % the normal approximation needs 1.96 + 0.84 standard errors.
    for size in different.sizes[1:]:
        assert size.detectable == pytest.approx(size.width_difference / 3.92 * 2.8, rel=0.12)


def test_the_best_two_are_compared_by_default() -> None:
    scores, truth = frames(10, 6, noise=(2.0, 0.2))
    worst = scores[scores["evaluator"] == "a"].assign(evaluator="worst")
    worst["score"] = -worst["score"]
    found = power(prepared(pd.concat([worst, scores]), truth), studies=100)
    assert (found.first, found.second) == ("b", "a")
    assert found.difference > 0
    assert [s.users for s in found.sizes] == [10, 20, 40, 80]
    assert [s.extrapolated for s in found.sizes] == [False, True, True, True]


def test_seed() -> None:
    data = prepared(*frames(6, 6), "user")
    for units in (None, [3]):
        same = [power(data, units=units, studies=200, seed=s).frame for s in (0, 0, 1)]
        pd.testing.assert_frame_equal(same[0], same[1])
        assert not same[0]["width_first"].equals(same[2]["width_first"])


def test_items_take_the_place_of_users_that_are_not_named() -> None:
    scores, truth = frames(1, 30)
    found = power(prepared(scores.drop(columns="user_id"), truth.drop(columns="user_id")), studies=200)
    assert (found.cluster, found.n_clusters) == ("item", 10)
    sheet = power_sheet(found)
    assert "The data have no users: items replace them." in sheet.notes
    assert sheet.columns[0].title == "Items"


def test_undefined_studies_are_counted_and_find_nothing() -> None:
    scores, truth = frames(4, 4)
    constant = truth["user_id"].isin(["0", "1", "2"])
    truth.loc[constant, "rating"] = 1.0
    found = power(prepared(scores, truth, "user"), ("a", "b"), users=[2, 30], studies=1000)
    few, many = found.sizes
    assert few.n_undefined == pytest.approx(1000 * 0.75**2, abs=60)
    assert np.isnan([few.width_first, few.power, few.detectable]).all()
    assert many.n_undefined == 0
    assert many.power >= 0
    assert any("undefined in up to" in note for note in power_sheet(found).notes)


def test_sheet() -> None:
    data = prepared(*frames(60, 10, noise=(0.5, 1.5)))
    sheet = power_sheet(power(data, users=[5, 600], units=[4, 8], studies=200))
    assert list(sheet.frame["units"]) == [4, 4, 8, 8]
    assert {c.name for c in sheet.columns} <= set(sheet.frame)
    assert "The fewest users of the table with a power of 80 % or more with 4 units each: 600." in sheet.notes
    assert any("More than 60 users are an extrapolation" in note for note in sheet.notes)
    hopeless = power_sheet(power(prepared(*frames(60, 4)), users=[5], studies=200))
    assert hopeless.notes[-1] == "No number of users of the table reaches a power of 80 %."
    assert not any("extrapolation" in note for note in hopeless.notes)


def test_a_run_of_few_users_advises_no_size() -> None:
    notes = power_sheet(power(prepared(*frames(5, 10, noise=(0.5, 1.5))), users=[5, 50], studies=200)).notes
    assert notes[0].startswith("5 users are too few for any test at 5 %")
    assert not any("The fewest users" in note for note in notes)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"users": [61]}, "61 users cannot be simulated from the 6 of the run; give numbers from 2 to 60"),
        ({"users": [1]}, "give numbers from 2 to 60"),
        ({"units": [7]}, "the one with the fewest has 6; give numbers from 1 to 6"),
        ({"units": [0]}, "0 units per user cannot be drawn"),
        ({"aspect": "fitt"}, "did you mean 'fit'"),
        ({"evaluators": ("a", "bb")}, "no evaluator 'bb'; did you mean 'b'"),
        ({"evaluators": ("a", "a")}, "give two different evaluators"),
        ({"studies": 5}, "studies is 5; give a whole number, 100 or more"),
    ],
)
def test_what_the_run_cannot_tell_is_said(arguments: dict[str, object], told: str) -> None:
    data = prepared(*frames(6, 6))
    with pytest.raises(MetaevalError, match=r"^[^\n]*$") as error:
        power(data, **arguments)  # type: ignore[arg-type]
    assert told in str(error.value)


def test_evaluators_without_an_estimate_cannot_be_compared() -> None:
    scores, truth = frames(6, 6)
    scores.loc[scores["evaluator"] == "b", "score"] = 1.0
    data = prepared(scores, truth)
    with pytest.raises(MetaevalError, match="b has no defined estimate"):
        power(data, ("a", "b"))
    with pytest.raises(MetaevalError, match="the run has 1 evaluator with an estimate"):
        power(data)
