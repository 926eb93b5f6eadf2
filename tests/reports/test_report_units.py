"""The units of a report, all or a sample that says so; their calls, each once; short JSON for arrays."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import metaeval as me
from metaeval.base.records import USER_RATER
from metaeval.engine.drilldown import Groups, UnitColumn, UnitView
from metaeval.kinds.explanations.kind import EXPLANATIONS
from metaeval.llm.calls.request import CallFailure, Message, Reply
from metaeval.llm.store.tools import Conversation
from metaeval.reports.report_units import Calls, Sample, Texts, coded, decimals, listed_groups, number, sample
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


def decoded(values: dict[str, list[Any]]) -> list[float | None]:
    return [values["values"][c] if c >= 0 else None for c in values["codes"]]


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


KEYS = [None, np.array([["a", "b", "a"], ["c", "", "gone"]], dtype=object)]
PROMPT = "Rate this.\n\nThe text: {}\nAnswer:"


def conversation(text: str, reply: Reply) -> Conversation:
    return Conversation((Message("system", "Be fair."), Message("user", PROMPT.format(text))), reply)


CONVERSATIONS = {
    "a": conversation("<script>", Reply("4", "stop", model="m-1")),
    "b": conversation("two", Reply(refusal="no")),
    "c": conversation("three", Reply(error=CallFailure("transport", "no way", "timeout"))),
}


def test_a_prompt_comes_back_from_its_lines() -> None:
    found = Calls(CONVERSATIONS).payload(KEYS, np.array([0, 1, 2]))
    assert found["of"][0] is None
    (both, lone) = found["of"][1]
    assert both[0] == both[2]
    replies, lines = found["replies"], found["lines"]
    assert len(lines) == len(set(lines))
    first = replies[both[0]]
    assert [m["role"] for m in first["prompt"]] == ["system", "user"]
    assert "\n".join(lines[i] for i in first["prompt"][1]["lines"]) == PROMPT.format("<script>")
    assert (first["text"], first["finish"], first["model"]) == ("4", "stop", "m-1")
    assert (first["tokens"], first["seconds"]) == ([None, None], 0)
    assert replies[both[1]]["refusal"] == "no"
    assert replies[lone[0]]["error"] == "transport: no way"
    assert lone[1:] == [-1, -1]
    assert found["note"] == "1 call was not in the store when the page was made."


def test_a_thought_stands_beside_the_answer() -> None:
    shown = Reply("4", raw='{"choices": [{"message": {"reasoning": "Hm."}}]}', sent='{"temperature":null}')
    lost = Reply("", "length", raw='{"usage": {"completion_tokens_details": {"reasoning_tokens": 9}}}')
    calls = Calls({"a": conversation("one", shown), "b": conversation("two", lost)})
    one, other = calls.payload([np.array([["a", "b"]], dtype=object)], np.array([0, 1]))["replies"]
    assert (one["text"], one["thought"], one["sent"], one["usedUp"]) == (
        "4",
        "Hm.",
        "without temperature",
        False,
    )
    assert (other["text"], other["thought"], other["thoughtTokens"], other["usedUp"]) == ("", "", 9, True)


def test_a_page_that_would_be_too_large_says_what_it_leaves_out() -> None:
    found = Calls(CONVERSATIONS, most=10).payload(KEYS, np.array([0, 1]))
    assert [r["key"] for r in found["replies"]] == ["a"]
    assert "2 calls were left out of this page" in found["note"]


FLOATS = st.floats(-1e6, 1e6) | st.just(math.nan)


@given(hnp.arrays(np.float64, st.integers(0, 30), elements=FLOATS))
def test_coded_values_come_back(values: np.ndarray) -> None:
    found = json.loads(json.dumps(coded(values), allow_nan=False))
    back = [found["values"][c] if c >= 0 else math.nan for c in found["codes"]]
    np.testing.assert_allclose(back, values, rtol=5e-9, atol=1e-300)


@given(hnp.arrays(np.float64, (2, 3), elements=st.floats(-1, 1) | st.just(math.nan)))
def test_decimals_keep_the_shape(values: np.ndarray) -> None:
    found = json.loads(json.dumps(decimals(values), allow_nan=False))
    np.testing.assert_allclose(np.array(found, dtype=float), values, atol=5.1e-5)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (math.nan, None),
        (math.inf, None),
        (3.0, 3),
        (0.12345678949, 0.123456789),
        (-0.0, 0),
        (1e-9, 1e-9),
    ],
)
def test_number(value: float | None, expected: float | None) -> None:
    found = number(value)
    assert found == expected
    assert "-0" not in json.dumps(found) or value == 1e-9


def test_texts_stand_once() -> None:
    texts = Texts()
    assert texts.places(["b", "a", None, "b", math.nan]) == [0, 1, -1, 0, -1]
    assert texts.all == ["b", "a"]
    assert len(texts) == 2
