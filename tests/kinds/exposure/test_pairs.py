"""Pairs share what they are matched on, differ in outcome, and depend on names and the seed alone."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.cli import cli
from metaeval.kinds.exposure.data.loading import load, log_of, save
from metaeval.kinds.exposure.pairs import matched_pairs, weights_of
from metaeval.kinds.exposure.propensity.exposures import popularity_bins
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.study import PropensityOptions
from tests.examples import examples
from tests.kinds.exposure.data.test_loading import ABOUT

rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 8), st.sampled_from([0.0, 1.0]), st.floats(1e-9, 1)),
    min_size=1,
    max_size=60,
)


def log_set(given_rows, items=None):
    log = pd.DataFrame(given_rows, columns=["user_id", "item_id", "outcome", "propensity"])
    log["user_id"], log["item_id"] = "u" + log["user_id"].astype(str), "i" + log["item_id"].astype(str)
    return log_of(ABOUT, {"log": log} | ({"items": items} if items is not None else {}))


def pairs_of(data, **how):
    return matched_pairs(propensities_of(data, PropensityOptions()), **{"floor": 1e-6, **how})


@settings(max_examples=examples(40))
@given(rows, st.integers(1, 3) | st.just(99), st.integers(0, 99))
def test_what_a_pair_is_and_why_items_are_in_none(given_rows, per_user, seed):
    data = log_set(given_rows)
    found = pairs_of(data, per_user=per_user, seed=seed)
    log = propensities_of(data, PropensityOptions()).log
    bins = dict(zip(log.items, popularity_bins(log).astype(str), strict=True))
    keys = ["user_id", "item_id"]
    outcomes = data.log.astype(dict.fromkeys(keys, "str")).groupby(keys)["outcome"].mean()
    used = set()
    for pair in found.frame.itertuples():
        assert bins[pair.first] == bins[pair.second] == pair.popularity
        assert outcomes[pair.user_id, pair.first] != outcomes[pair.user_id, pair.second]
        for item in (pair.first, pair.second):
            assert (pair.user_id, item) not in used
            used.add((pair.user_id, item))
    assert (found.frame.groupby("user_id").size() <= per_user).all()
    # Every item of a user is in a pair, or it is said why not.
    assert 2 * len(found.frame) + sum(found.unmatched) == found.items == len(outcomes)
    if per_user == 99:  # no two that are left over could be paired
        left = {}
        for (user, item), outcome in outcomes.items():
            if (user, item) not in used:
                left.setdefault((user, bins[item]), set()).add(outcome)
        assert all(len(values) == 1 for values in left.values())


def test_pairs_depend_on_the_names_and_the_seed_alone():
    draw = np.random.default_rng(0)
    user, item = np.divmod(draw.permutation(150)[:100], 30)
    columns = (user, item, draw.integers(0, 2, 100).astype(float), draw.random(100).clip(0.01))
    given_rows = list(zip(*(column.tolist() for column in columns), strict=True))
    one = pairs_of(log_set(given_rows), seed=1).frame
    pd.testing.assert_frame_equal(one, pairs_of(log_set(given_rows[::-1]), seed=1).frame)
    assert not one.equals(pairs_of(log_set(given_rows), seed=2).frame)


def test_weight_is_equation_1_with_a_floor():
    columns = weights_of(np.array([0.5, 1e-9]), np.array([0.25, 1.0]), 1e-6)
    np.testing.assert_allclose(columns["weight"], [6.0, 1e6 + 1])


def test_price_and_category_are_matched_where_they_are_known():
    items = pd.DataFrame(
        {"item_id": ["i0", "i1", "i2", "i3"], "category": list("aabb"), "price": [1, 9, 1, 9]}
    )
    data = log_set([(0, n, float(n in (0, 3)), 0.5) for n in range(4)], items)
    (pair,) = pairs_of(data, match=["category"]).frame.head(1).itertuples()
    assert {pair.first, pair.second} in ({"i0", "i1"}, {"i2", "i3"})
    assert pair.category in ("a", "b")
    (pair,) = pairs_of(data, match=["price"]).frame.head(1).itertuples()
    assert {pair.first, pair.second} in ({"i0", "i2"}, {"i1", "i3"})
    with pytest.raises(MetaevalError, match="cannot be matched on age: not every row of the log has a"):
        pairs_of(data, match=["age"])
    with pytest.raises(MetaevalError, match="cannot be matched on price: the table `items` has no column"):
        pairs_of(log_set([(0, 0, 1.0, 0.5)]), match=["price"])


@pytest.fixture
def folder(tmp_path):
    given_rows = [(u, i, float((u + i) % 2), 0.5) for u in range(3) for i in range(8)]
    return save(log_set(given_rows), tmp_path / "log", "csv")


def run(*arguments, code=0):
    done = CliRunner().invoke(cli, ["data", "pairs", *map(str, arguments)])
    assert (done.exit_code, done.output) == (code, done.output)
    return done


def test_the_command_writes_pairs_that_load(folder):
    before = load(folder).fingerprint
    told = run(folder, "--per-user", 2).output
    data = load(folder)
    assert "6 pairs of 3 users, matched on popularity: 12 of 24 items of users" in told
    assert "12 beyond the number of pairs per user" in told
    assert (len(data), data.fingerprint != before) == (12, True)
    assert set(data.ratings["rating"]) == {-1.0, 1.0}
    assert "has pairs already; replace them with --force" in str(run(folder, code=1).exception)
    assert json.loads(run(folder, "--force", "--json").output)["pairs"] == 12


def test_wrong_input_is_one_sentence_and_writes_nothing(folder, tmp_path):
    told = run(folder, "--match", "popularity,colour", code=2).output
    assert "'popularity,colour' is not a list of some of popularity, age, price, category" in told
    alike = save(log_set([(0, 0, 1.0, 0.5), (0, 1, 1.0, 0.5)]), tmp_path / "alike", "csv")
    assert "no two items of a user match: not matched:" in str(run(alike, code=1).exception)
    assert not (alike / "pairs.csv").exists()
    assert "there is no folder" in str(run(tmp_path / "nowhere", code=1).exception)
