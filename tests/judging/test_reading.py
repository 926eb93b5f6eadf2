"""Patterns that a study states for its judges."""

from __future__ import annotations

import json
from typing import Any

import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, SpecError
from metaeval.base.records import Scale
from metaeval.judging.model_evaluator import Question
from metaeval.judging.reading import check_pattern, read_answer
from metaeval.llm.calls.request import Message, Reply, Request
from metaeval.llm.replies.fields import Choice, Number
from metaeval.llm.replies.patterns import ReplyPattern
from tests.kinds.explanations.judge.test_judge import small
from tests.llm import server as acts
from tests.llm.server import Act, serving

__all__ = ["small"]

RATING = Number("clear", Scale(1, 5))
SIDES = Choice("winner", {"first": ["A"], "second": ["B"]})


@pytest.mark.parametrize(
    ("pattern", "fields", "says"),
    [
        ("mt-bench", [RATING], "it gives first, second, tie; none of these is a value of 'clear'"),
        ("mt-bench", [SIDES], None),
        ("letters", [RATING], None),
        ("letters", [Number("clear", Scale(10, 20))], "none of these is a value"),
        (r"(?P<x>\d)\|(\d)", [RATING, Number("true", Scale(1, 5))], "has no group 'clear'"),
        (r"(?P<clear>\d)\|(?P<true>\d)", [RATING, Number("true", Scale(1, 5))], None),
    ],
)
def test_a_pattern_that_can_give_no_value_is_refused(
    pattern: str, fields: list[Number], says: str | None
) -> None:
    stated = ReplyPattern.model_validate(pattern)
    if says is None:
        check_pattern(stated, fields)
    else:
        with pytest.raises(SpecError, match=says):
            check_pattern(stated, fields)


@pytest.mark.parametrize(
    ("text", "message", "reason"),
    [
        (
            "",
            {"reasoning_content": "clear: 4"},
            "the reply's text is empty; all of it stands in reasoning_content",
        ),
        (" \n", {"tool_calls": [{"id": "1"}]}, "the reply's text is empty; all of it stands in tool_calls"),
        ("", {}, "the reply is empty"),
        ("<think>clear: 4</think>", {}, "the reply ends with its reasoning"),
        ("It is fine.", {"reasoning_content": "clear: 4"}, "no value for 'clear'"),
    ],
)
def test_an_empty_text_says_where_all_of_it_stood(text: str, message: dict[str, Any], reason: str) -> None:
    raw = json.dumps({"choices": [{"message": {"content": text, **message}}]})
    question = Question((0,), (0,), [RATING], Request("openai", "m", (Message("user", "Rate it."),)))
    found = read_answer(question, Reply(text=text, finish_reason="stop", raw=raw), "auto", None)
    assert (found.values, found.status) == (None, "unparsed")
    assert found.reason.startswith(reason)


def test_a_model_states_a_pattern(small: me.ExplanationSet) -> None:
    """Its replies are read by it and by nothing else; the signature has it."""
    models = {"m": {"model": "openai/m", "reply": {"pattern": r"Overall: ([1-5])", "take": "last"}}}
    with serving(acts.always(Act(text="Overall: 2, at first.\nOverall: 4\nScore: 1"))) as server:
        models["m"]["base_url"] = server.openai
        table = me.score(small, ["Judge('m', prompt='single-aspect')"], models=models)
    assert set(table.frame["score"]) == {4.0}
    (signature,) = table.signatures.values()
    assert signature["pattern"] == {"pattern": r"Overall: ([1-5])", "take": "last"}
    models["m"]["reply"] = "arena-hard"
    with pytest.raises(MetaevalError, match="none of these is a value"):
        me.score(small, ["Judge('m', prompt='single-aspect')"], models=models)
    models["m"]["reply"] = "arena-har"
    with pytest.raises(MetaevalError, match="neither a known pattern"):
        me.score(small, ["Judge('m')"], models=models)
