"""Recorded replies become scores, as the reader of judges' replies reads them."""
# ruff: noqa: PD011 - the values of a reply, not of a frame

from __future__ import annotations

import json
from typing import Any

import joblib
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base import parallel
from metaeval.base.errors import MetaevalError


def test_a_reply_gives_every_aspect_or_none() -> None:
    both = me.read_reply('{"clarity": 4, "style": 3}', ["clarity", "style"])
    assert (both.values, both.status, both.reason) == ({"clarity": 4, "style": 3}, "ok", "")
    one = me.read_reply("clarity: 4", ["clarity", "style"])
    assert (one.values, one.status) == (None, "unparsed")
    assert "style" in one.reason
    assert me.read_reply("Score: 4", "clarity").values == {"clarity": 4}
    assert me.read_reply("说服力：4分", ["persuasiveness"]).values == {"persuasiveness": 4}
    assert me.read_reply(None, ["clarity"]).status == "unparsed"
    assert me.read_reply("I'm sorry, but I cannot rate this.", ["clarity"]).status == "refused"


@given(st.integers(-50, 50), st.integers(1, 100), st.integers(0, 200))
def test_what_is_on_the_scale_is_read_and_nothing_else(low: int, width: int, rating: int) -> None:
    found = me.read_reply(json.dumps({"clarity": rating}), ["clarity"], (low, low + width))
    on = low <= rating <= low + width
    assert (found.values, found.status) == (({"clarity": rating}, "ok") if on else (None, "out_of_range"))


def test_the_options_reach_the_reader() -> None:
    assert me.read_reply("3.5", "clarity").values == {"clarity": 3.5}
    assert me.read_reply("3.5", "clarity", integer=True).status == "out_of_range"
    assert me.read_reply("Score: 4", "clarity", form="json").status == "unparsed"
    prompt = "Rate how clear the following explanation is.\nScore: 4"
    assert me.read_reply(prompt, "clarity").values == {"clarity": 4}
    assert me.read_reply(prompt, "clarity", prompt=prompt).reason == "the reply repeats the prompt"


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"scale": (5, 1)}, r"scale is \(5, 1\); give two rising numbers"),
        ({"scale": (1, float("nan"))}, "two rising numbers"),
        ({"scale": (1, 3, 5)}, "two rising numbers"),
        ({"scale": "wide"}, "two rising numbers"),
        ({"aspects": []}, r"aspects are \[\]; give at least one name"),
        ({"aspects": ["clarity", "clarity"]}, "none twice"),
        ({"form": "jsno"}, "there is no form 'jsno'; did you mean 'json'"),
        ({"text": 4}, "a reply is text, or None if there is none, not 4"),
        ({"prompt": float("nan")}, "a prompt is text, or None if there is none, not nan"),
    ],
)
def test_what_cannot_be_is_said(given_: dict[str, Any], says: str) -> None:
    with pytest.raises(MetaevalError, match=says):
        me.read_reply(**{"text": "4", "aspects": ["clarity"], **given_})


FRAME = pd.DataFrame({"said": ["Score: 4", "2 or 3", None, "", "9"], "n": [1, 2, 3, 4, 5]}, index=[*"edcba"])


def test_a_frame_gets_three_columns() -> None:
    before = FRAME.copy()
    found = me.read_replies(FRAME, column="said", aspect="clarity", scale=(1, 5))
    pd.testing.assert_frame_equal(FRAME, before)
    pd.testing.assert_frame_equal(found[["said", "n"]], before)
    assert found.columns.tolist() == ["said", "n", "aspect", "score", "status"]
    assert found["status"].tolist() == ["ok", "unparsed", "missing", "missing", "out_of_range"]
    assert found["score"].iloc[0] == 4
    assert found["score"].isna().tolist() == [False, True, True, True, True]
    assert set(found["aspect"]) == {"clarity"}


def test_each_row_may_have_its_aspect_and_its_prompt() -> None:
    frame = pd.DataFrame(
        {
            "aspect": ["clarity", "style", "clarity"],
            "asked": ["Rate the clarity of the text, 1 to 5.", "", ""],
            "said": [
                "Rate the clarity of the text, 1 to 5. 4",
                "clarity: 1\nstyle: 5",
                "clarity: 1\nstyle: 5",
            ],
        }
    )
    how: dict[str, Any] = {"column": "said", "aspect_column": "aspect", "scale": (1, 5)}
    found = me.read_replies(frame, prompt_column="asked", **how)
    assert found.columns.tolist() == ["asked", "said", "aspect", "score", "status"]
    assert found["aspect"].tolist() == frame["aspect"].tolist()
    alone = [me.read_reply(s, a, prompt=p or None).values for a, p, s in frame.itertuples(index=False)]
    assert found["score"].fillna(0).tolist() == [
        (v or {}).get(a, 0) for v, a in zip(alone, frame["aspect"], strict=True)
    ]
    pd.testing.assert_frame_equal(
        me.read_replies(frame.set_index("aspect"), prompt_column="asked", **how), found
    )


@pytest.mark.parametrize(
    ("frame", "options", "says"),
    [
        (FRAME, {"column": "sait"}, "the frame has no column 'sait'; did you mean 'said'"),
        (FRAME, {"aspect": None}, "give either aspect .* or aspect_column"),
        (FRAME, {"aspect_column": "n"}, "give either aspect .* or aspect_column"),
        (FRAME, {"aspect": ""}, "give at least one name"),
        (FRAME, {"aspect": None, "aspect_column": "said"}, "row 4, column 'said': is empty"),
        (FRAME.set_axis(["said", "said"], axis=1), {}, "has two columns of the name 'said'"),
        (FRAME.assign(score=1), {}, "has a column 'score' already, which the result would replace"),
        (FRAME.assign(aspect="style"), {}, "'aspect' already.*or give it as the aspect column"),
        (
            FRAME.assign(said=[[1], [2], "", "4", "5"]),
            {},
            r"row 2, column 'said': holds a list;.*\(and 1 more",
        ),
    ],
)
def test_a_frame_that_cannot_be_read(frame: pd.DataFrame, options: dict[str, Any], says: str) -> None:
    with pytest.raises(MetaevalError, match=says):
        me.read_replies(frame, **{"column": "said", "aspect": "clarity", "scale": (1, 5), **options})


def test_many_replies_are_read_by_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"said": [f"Score: {i % 7}" for i in range(60)], "on": ["clarity", "style"] * 30})
    how: dict[str, Any] = {"column": "said", "aspect_column": "on", "scale": (1, 5)}
    alone = me.read_replies(frame, **how)
    assert alone["score"].fillna(0).tolist() == [r if 1 <= (r := i % 7) <= 5 else 0 for i in range(60)]
    monkeypatch.setattr(parallel, "PARALLEL_FROM", 10)
    monkeypatch.setattr(parallel, "_CHUNK", 8)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    pd.testing.assert_frame_equal(me.read_replies(frame, **how), alone)
    no_rows = me.read_replies(frame.iloc[:0], **how)
    assert (len(no_rows), [*no_rows]) == (0, [*alone])
