"""The units of a report: all of them, or a sample that says what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import metaeval as me
from metaeval.base.records import USER_RATER
from metaeval.engine.drilldown import Groups, UnitColumn, UnitView
from metaeval.kinds.explanations.kind import EXPLANATIONS
from metaeval.reports.report.units import Sample, listed_groups, sample
from metaeval.study.outputs import units_of


def users_of(n: int, each: int) -> list[str]:
    return [f"u{i // each}" for i in range(n * each)]


def test_few_units_are_all_shown() -> None:
    found = sample(users_of(3, 4), "users", most=12)
    assert found.at.tolist() == list(range(12))
    assert not found.note


def test_of_many_users_some_are_shown_whole() -> None:
    users = users_of(100, 10)
    found = sample(users, "users", most=205)
    shown = pd.Series(users).iloc[found.at].value_counts()
    assert len(shown) == 20
    assert set(shown) == {10}
    assert found.total == 1000
    assert "200 of 1,000 units" in found.note
    assert "20 of 100 users" in found.note
    assert found.at.tolist() != sample(users, "users", most=205, seed=1).at.tolist()
    assert found.at.tolist() == sample(users, "users", most=205).at.tolist()


def test_of_too_many_groups_those_of_the_shown_units_are_listed() -> None:
    users = users_of(6, 2)
    view = UnitView((UnitColumn("reader", "reader", users),), (), ())
    ids = tuple((f"u{i}",) for i in range(6))
    groups = Groups("reader", "reader", "readers", ("reader",), ids, np.full(6, 2), ())
    shown = Sample(np.array([6, 7, 10, 11]), len(users), "")  # of readers 3 and 5
    assert listed_groups(groups, view, shown).tolist() == list(range(6))
    assert listed_groups(groups, view, shown, most=4).tolist() == [0, 1, 3, 5]


def decoded(coded: dict[str, list[Any]]) -> list[float | None]:
    return [coded["values"][c] if c >= 0 else None for c in coded["codes"]]


def test_a_unit_has_its_own_texts_scores_and_failures(tiny: Path) -> None:
    data = me.load(tiny)
    scores = me.score(data, ["Length()", "Recorded('S* star')", "Annotator('1')"])
    rows = scores.frame
    broken = rows.index[(rows["evaluator"] == "Annotator('1')") & (rows["aspect"] == "fitting")][[0, 3]]
    rows.loc[broken, ["score", "status"]] = [np.nan, "refused"]
    truth = data.ratings[data.ratings["rater"] == USER_RATER].drop(columns="rater")
    units = units_of(
        EXPLANATIONS.unit_view(data, ["clear", "fitting"]), data, scores, truth, ["clear", "fitting"]
    )
    shown = sample(data.explanations["user_id"].tolist(), "users", most=7)
    found = json.loads(json.dumps(units.payload(shown), allow_nan=False))

    frame = data.explanations.iloc[shown.at]
    columns = {c["name"]: c for c in found["columns"]}
    for column in ("user_id", "item_id", "generator"):
        values = columns[column]
        assert values["key"]
        assert [values["values"][c] for c in values["codes"]] == frame[column].tolist()
    explanation, reference, *_ = found["parts"]
    assert [found["texts"][t] for t in explanation["texts"]] == frame["explanation"].tolist()
    assert (explanation["title"], reference["title"]) == ("explanation", "reference")
    keys = ["user_id", "item_id", "generator"]
    for a, aspect in enumerate(("clear", "fitting")):
        of_aspect = truth[truth["aspect"] == aspect].set_index(keys)["rating"]
        expected = [of_aspect.get(tuple(k)) for k in frame[keys].to_numpy()]
        assert decoded(found["truth"][a]) == [None if np.isnan(v) else v for v in expected]
        for e, evaluator in enumerate(scores.evaluators):
            mine = rows[(rows["evaluator"] == evaluator) & (rows["aspect"] == aspect)].set_index(keys)
            at = mine.loc[[tuple(k) for k in frame[keys].to_numpy()]]
            assert decoded(found["scores"][e][a]) == [None if np.isnan(v) else v for v in at["score"]]
            failures = found["statuses"][e][a]
            told = dict(zip(failures["unit"], failures["status"], strict=True))
            names = [found["statusNames"][told.get(u, 0)] for u in range(len(at))]
            assert names == at["status"].tolist()
