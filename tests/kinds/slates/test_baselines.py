"""Evaluators that ask no model, against counts by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metaeval.base.errors import DataError
from metaeval.evaluators.chance import Coin
from metaeval.kinds.slates.measures import Longer, Oracle, PopularSlate
from tests.kinds.slates.catalogue import slates

ASPECTS = ["preference"]


def scores(evaluator, data):
    frame = evaluator.score(data, ASPECTS).frame
    assert set(frame["status"]) == {"ok"}
    return frame["score"].to_numpy()


def test_a_coin_is_fair_and_depends_on_the_seed_and_the_units_name_alone():
    data = slates(users=300)
    drawn = scores(Coin(seed=1), data)
    assert set(drawn) == {-1, 1}
    assert abs(drawn.mean()) < 4 / np.sqrt(len(drawn))
    turned = replace(data, table=data.table[::-1].reset_index(drop=True))
    assert scores(Coin(seed=1), turned).tolist() == drawn[::-1].tolist()
    both = drawn.reshape(-1, 2)  # the two orders of a duel are drawn apart
    assert abs((both[:, 0] == both[:, 1]).mean() - 0.5) < 0.1
    assert (scores(Coin(seed=2), data) != drawn).any()


def test_the_oracle_follows_the_utilities_and_turns_with_the_order():
    data = slates()
    found = scores(Oracle(), data)
    assert found.tolist() == np.sign(data.ratings["rating"]).tolist()
    assert {-1, 0, 1} == set(found)
    assert (found[::2] == -found[1::2]).all()


def test_popularity_counts_the_histories_of_others():
    data = slates(users=12)
    items = data.slates.groupby(["user_id", "slate"])["item_id"].agg(list)
    having = data.histories.groupby("item_id")["user_id"].agg(set)

    def popularity(user, slate):
        return np.mean([len(having.get(item, set()) - {user}) for item in items[user, slate]])

    wanted = [
        np.sign(popularity(u, a) - popularity(u, b))
        for u, a, b in data.table[["user_id", "first", "second"]].to_numpy()
    ]
    found = scores(PopularSlate(), data)
    assert found.tolist() == wanted
    assert set(found[data.table["task"] == "T2"]) == {0}
    with pytest.raises(DataError, match="'films' has no histories"):
        PopularSlate().score(replace(data, histories=None), ASPECTS)


def test_the_longer_slate_has_more_items():
    data = slates(users=1, duels=1)
    short = data.slates[~((data.slates["slate"] == "s1") & (data.slates["position"] == 3))]
    assert scores(Longer(), data).tolist() == [0, 0]
    assert scores(Longer(), replace(data, slates=short)).tolist() == [1, -1]
