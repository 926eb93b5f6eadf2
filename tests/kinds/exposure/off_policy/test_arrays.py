from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from tests.kinds.exposure.off_policy.test_policies import log


def test_names_are_codes_and_contexts_categories():
    found = arrays_of(log(region=["n", "s", "n", "n"]))
    assert [found.items[i] for i in found.item] == ["a", "b", "b", "a"]
    assert [found.positions[i] for i in found.position] == [1, 2, 1, 2]
    assert [found.users[i] for i in found.cluster] == ["u", "v", "u", "w"]
    assert found.context["region"].tolist() == [0, 1, 0, 0]  # the most frequent first
    assert found.count is None


def test_rounds_stand_for_themselves_where_there_are_no_users_and_positions():
    found = arrays_of(log(user_id=None, position=None))
    assert (found.cluster.tolist(), found.n_clusters, found.positions) == ([0, 1, 2, 3], 4, [1])


def many(**context):
    rows = {"user_id": ["u"] * 60, "item_id": ["a"] * 60, "outcome": [1] * 60, "propensity": [0.5] * 60}
    return arrays_of(log(**rows, position=None, **context)).context


def test_a_context_of_numbers_has_fifths():
    age = np.random.default_rng(0).permutation(60)
    assert many(age=age)["age"].tolist() == (age // 12).tolist()
    few = many(stars=[i % 5 for i in range(60)])["stars"]
    assert sorted(set(few.tolist())) == [0, 1, 2, 3, 4]


def test_rare_texts_of_a_context_stand_together():
    found = arrays_of(log(city=["rare", "big", "rarer", "big"])).context["city"]
    assert found.tolist() == [1, 0, 2, 0]
    assert many(page=[f"p{i:02}" for i in range(60)])["page"].max() == 50


def test_propensities_of_pairs_are_those_of_rounds_of_their_users():
    """Each pair counts once, whatever its rows and whatever the pace of its user."""
    of = log(
        user_id=["u", "v", "u", "u", "w"],
        item_id=["a", "b", "b", "b", "a"],
        outcome=[1, 0, 1, 1, 0],
        propensity=[0.5, 0.5, 0.25, 1.0, 0.5],
        position=None,
    )
    pairs = arrays_of(replace(of, exposure="pair"))
    weight = 1 / 2 / pairs.propensity  # of the policy that shows both items alike
    np.testing.assert_allclose(weight / pairs.count.sum(), 1 / np.array([0.5, 0.5, 0.5, 2.0, 0.5]) / 6)
    np.testing.assert_allclose(np.bincount(pairs.cluster, pairs.count), 5 / 3)


def test_a_log_without_propensities_is_refused():
    with pytest.raises(MetaevalError, match=r"the log of log has no column 'propensity'.*fit propensities"):
        arrays_of(log(propensity=None))
