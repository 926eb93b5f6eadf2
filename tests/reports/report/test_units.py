"""The units of a report: all of them, or a sample that says what it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import metaeval as me
from metaeval.analysis.agreement.by_group import Groups
from metaeval.base.records import USER_RATER, ExplanationSet
from metaeval.reports.report.units import Sample, Units, listed_groups, sample

if TYPE_CHECKING:
    from pathlib import Path


def data_of(users: int, each: int) -> ExplanationSet:
    n = users * each
    units = pd.DataFrame(
        {
            "user_id": [f"u{i // each}" for i in range(n)],
            "item_id": [f"i{i % each}" for i in range(n)],
            "generator": "g",
        }
    )
    return me.from_frames(
        units.assign(explanation=[f"text {i}" for i in range(n)]),
        units.assign(rater=USER_RATER, aspect="a", rating=3.0),
        scale=(1, 5),
    )


def test_few_units_are_all_shown() -> None:
    found = sample(data_of(3, 4), most=12)
    assert found.at.tolist() == list(range(12))
    assert not found.note


def test_of_many_users_some_are_shown_whole() -> None:
    data = data_of(100, 10)
    found = sample(data, most=205)
    shown = data.explanations["user_id"].iloc[found.at].value_counts()
    assert len(shown) == 20
    assert set(shown) == {10}
    assert found.total == 1000
    assert "200 of 1,000 units" in found.note
    assert "20 of 100 users" in found.note
    assert found.at.tolist() != sample(data, most=205, seed=1).at.tolist()
    assert found.at.tolist() == sample(data, most=205).at.tolist()


def test_of_a_user_with_too_many_units_some_are_drawn() -> None:
    found = sample(data_of(1, 500), most=50)
    assert len(found.at) == len(set(found.at)) == 50
    assert "drawn at random (seed 0)" in found.note


def test_of_too_many_groups_those_of_the_shown_units_are_listed() -> None:
    data = data_of(6, 2)
    groups = Groups("user", ("user_id",), tuple((f"u{i}",) for i in range(6)), np.full(6, 2), {})
    shown = Sample(np.array([6, 7, 10, 11]), len(data), "")  # of users 3 and 5
    assert listed_groups(groups, data, shown).tolist() == list(range(6))
    assert listed_groups(groups, data, shown, most=4).tolist() == [0, 1, 3, 5]


def decoded(coded: dict[str, list[Any]]) -> list[float | None]:
    return [coded["values"][c] if c >= 0 else None for c in coded["codes"]]


def test_a_unit_has_its_own_texts_scores_and_failures(tiny: Path) -> None:
    data = me.load(tiny)
    scores = me.score(data, ["Length()", "Recorded('S* star')", "Annotator('1')"])
    rows = scores.frame
    broken = rows.index[(rows["evaluator"] == "Annotator('1')") & (rows["aspect"] == "fitting")][[0, 3]]
    rows.loc[broken, ["score", "status"]] = [np.nan, "refused"]
    truth = data.ratings[data.ratings["rater"] == USER_RATER].drop(columns="rater")
    units = Units.of(data, scores, truth, ["clear", "fitting"])
    shown = sample(data, most=7)
    found = json.loads(json.dumps(units.payload(shown), allow_nan=False))

    frame = data.explanations.iloc[shown.at]
    for column in ("user_id", "item_id", "generator"):
        values = found["columns"][column]
        assert [values["values"][c] for c in values["codes"]] == frame[column].tolist()
    assert [found["texts"][t] for t in found["explanation"]] == frame["explanation"].tolist()
    assert found["references"][0]["name"] == "reference"
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


def test_an_evaluator_of_which_a_unit_has_no_row_says_so(tiny: Path) -> None:
    data = me.load(tiny)
    scores = me.score(data, ["Length()"])
    truth = data.ratings[data.ratings["rater"] == USER_RATER].drop(columns="rater")
    short = me.ScoreTable(scores.frame.iloc[1:], scores.signatures, scores.kinds)
    found = Units.of(data, short, truth, ["clear"]).payload(sample(data))
    ((failures,),) = found["statuses"]
    assert failures["unit"] == [0]
    assert found["statusNames"][failures["status"][0]] == "no row"


def test_a_study_without_users_samples_items() -> None:
    data = data_of(10, 10)
    generators = [f"g{i}" for i in range(100)]
    without = me.from_frames(
        data.explanations.drop(columns="user_id").assign(generator=generators),
        data.ratings.drop(columns="user_id").assign(generator=generators),
        scale=(1, 5),
    )
    assert "of 10 items" in sample(without, most=30).note
