"""Evaluators of matched pairs that ask no model, against counts by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.exposure.baselines import PopularItem, System
from tests.kinds.exposure.judge.test_judge import ASPECTS, films

if TYPE_CHECKING:
    from metaeval.kinds.exposure.data.log_set import LogSet


def scores(evaluator: object, data: LogSet) -> list[float]:
    return evaluator.score(data, ASPECTS).frame["score"].tolist()  # type: ignore[attr-defined,no-any-return]


def lists(**score: list[float]) -> pd.DataFrame:
    """Return two recommenders' lists for the first user, i1 before i0 and neither i2 nor i3."""
    rows = [(system, "u1", item, rank) for system in ("s", "t") for rank, item in enumerate(("i1", "i0"), 1)]
    return pd.DataFrame(rows, columns=["system", "user_id", "item_id", "rank"]).assign(**score)


def test_popularity_counts_users_of_the_log() -> None:
    data = films()
    log = data.log.astype({"user_id": str, "item_id": str})
    more = pd.DataFrame({"user_id": ["u3", "u3", "u4"], "item_id": ["i1", "i1", "i3"], "outcome": [1, 1, 1]})
    found = scores(PopularItem(), films(log=pd.concat([log, more], ignore_index=True).fillna(0)))
    assert found == [-1, 1, 1, -1] * 2  # i1 before i0, i3 before i2; a row that comes twice is one user
    assert scores(PopularItem(), data) == [0] * 8


def test_a_system_prefers_the_better_rank_or_the_higher_score() -> None:
    found = scores(System("s"), films(runs=lists()))
    assert found[:4] == [-1, 1, 0, 0]  # i1 before i0; neither i2 nor i3 is on the list
    assert np.isnan(found[4:]).all()  # the other user has no list
    scored = films(runs=lists(score=[1.0, 2.0, 3.0, np.nan]))
    assert scores(System("s"), scored)[:2] == [1, -1]  # by score, which is higher for i0
    assert scores(System("t"), scored)[:2] == [-1, 1]  # not all of its items have a score
    assert System("s").signature(scored) == {"system": "s", "by": "score"}


def test_a_system_that_is_not_there() -> None:
    with pytest.raises(DataError, match="no table runs"):
        scores(System("s"), films())
    with pytest.raises(DataError, match=r"no recommender 'x' .*it has: s, t"):
        scores(System("x"), films(runs=lists()))
