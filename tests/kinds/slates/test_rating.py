"""Ratings of single slates, and the verdicts that follow from them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from metaeval.base.errors import SpecError
from metaeval.judging.settings import judging
from metaeval.kinds.registry import build
from metaeval.kinds.slates.data.slate_set import SlateSet
from metaeval.kinds.slates.judge import SlateRating
from tests.kinds.slates.catalogue import slates
from tests.kinds.slates.test_judge import ASPECTS, answer, films, told
from tests.llm.server import Act, serving


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def several(users: int = 2) -> SlateSet:
    """Return duels in which the first slate of a user meets all others, in one task."""
    data = slates(users=users, duels=4)
    table = data.table.assign(task="T1")
    for side, other in (("first", "order"), ("second", "order")):
        table[side] = table[side].where(table[other] != side, "s0")
    data.table[["task", "first", "second"]] = table[["task", "first", "second"]]
    return data


def test_every_slate_is_rated_once_and_the_higher_rating_wins() -> None:
    data = several()
    with serving(answer) as server, judging():
        frame = SlateRating("openai/m", base_url=server.openai).score(data, ASPECTS).frame
        rated = Counter(tuple(sorted(films(told(seen.body), "slate"))) for seen in server.log)
        tokens = 110 * len(server.log)
    assert set(rated.values()) == {1}
    names = data.table.melt(["user_id"], ["first", "second"])[["user_id", "value"]].drop_duplicates()
    assert len(rated) == len(names) == 10
    items = data.slates.groupby(["user_id", "slate"])["item_id"].agg(lambda of: sum(int(i[1:]) for i in of))
    ratings = [
        [items[user, slate] % 10 for slate in pair]
        for user, *pair in data.table[["user_id", "first", "second"]].to_numpy()
    ]
    assert frame["score"].tolist() == [np.sign(first - second) for first, second in ratings]
    assert frame["tokens"].sum() == pytest.approx(tokens)
    assert frame["call"].str.split().map(len).eq(2).all()
    assert frame["call"].str.split().explode().nunique() == 10


def test_without_one_of_its_ratings_a_duel_has_no_verdict_and_the_reason_is_that_slates() -> None:
    data = several()
    unread = set(data.slates[data.slates["slate"] == "s3"].groupby("user_id")["item_id"].agg(frozenset))

    def some(body: dict[str, Any], _before: int) -> Act:
        shown = frozenset(f"i{number}" for number in films(told(body), "slate"))
        return Act(text="Well.") if shown in unread else Act(text=json.dumps({"rating": 4}))

    with serving(some) as server, judging():
        frame = SlateRating("openai/m", attempts=1, base_url=server.openai).score(data, ASPECTS).frame
    lacking = (data.table[["first", "second"]] == "s3").any(axis=1)
    assert (frame["status"] == np.where(lacking, "unparsed", "ok")).all()
    assert frame["score"][~lacking].eq(0).all()
    assert lacking.sum() == 4
    assert frame["call"][lacking].str.split().map(len).eq(1).all()


def test_the_scale_is_an_argument_and_what_is_off_it_is_counted() -> None:
    data = slates(users=1, duels=1)
    with serving(lambda _body, _before: Act(text="rating: 6")) as server, judging():
        five = SlateRating("openai/m", scale=[1, 5], attempts=1, base_url=server.openai)
        assert set(five.score(data, ASPECTS).frame["status"]) == {"out_of_range"}
        assert "from 1 (this person would not want it at all) to 5" in told(server.log[0].body)
        ten = SlateRating("openai/m", attempts=1, base_url=server.openai)
        assert ten.score(data, ASPECTS).frame["score"].tolist() == [0, 0]
    assert build(str(five), known={"SlateRating": SlateRating}) == five
    for wrong in ("(5, 1)", "(1, 5.5)", "10", "(False, True)"):
        with pytest.raises(SpecError, match="scale is the lowest and the highest rating"):
            build(f"SlateRating('openai/m', scale={wrong})", known={"SlateRating": SlateRating})
