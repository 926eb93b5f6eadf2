"""Patterns that a study states for its judges."""

from __future__ import annotations

import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, SpecError
from metaeval.base.records import Scale
from metaeval.judging.reading import check_pattern
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
