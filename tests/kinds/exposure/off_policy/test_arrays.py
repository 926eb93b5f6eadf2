from __future__ import annotations

import numpy as np
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from tests.kinds.exposure.off_policy.test_policies import log


def test_names_are_codes_and_contexts_categories():
    found = arrays_of(log(region=["n", "s", "n", "n"], age=[20.0, 30.0, 40.0, 50.0]))
    assert [found.items[i] for i in found.item] == ["a", "b", "b", "a"]
    assert [found.positions[i] for i in found.position] == [1, 2, 1, 2]
    assert [found.users[i] for i in found.cluster] == ["u", "v", "u", "w"]
    assert found.context["region"].tolist() == [0, 1, 0, 0]  # the most frequent first
    assert np.diff(found.context["age"]).min() > 0  # fifths, of four values
    assert found.count is None


def test_rounds_stand_for_themselves_where_there_are_no_users_and_positions():
    found = arrays_of(log(user_id=None, position=None))
    assert (found.cluster.tolist(), found.n_clusters, found.positions) == ([0, 1, 2, 3], 4, [1])


def test_rare_texts_of_a_context_stand_together():
    found = arrays_of(log(city=["rare", "big", "rarer", "big"])).context["city"]
    assert found.tolist() == [1, 0, 2, 0]
    many = log(
        **{k: v * 60 for k, v in {"user_id": ["u"], "item_id": ["a"], "outcome": [1]}.items()},
        position=None,
        propensity=[0.5] * 60,
        page=[f"p{i:02}" for i in range(60)],
    )
    assert arrays_of(many).context["page"].max() == 50


def test_a_log_without_propensities_is_refused():
    with pytest.raises(MetaevalError, match="the log of 'log' has no column 'propensity'"):
        arrays_of(log(propensity=None))
