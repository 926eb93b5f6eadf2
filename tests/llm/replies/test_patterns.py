"""Replies read by a pattern."""

from __future__ import annotations

import time

import pytest
from pydantic import ValidationError

from metaeval.base.records import Scale
from metaeval.llm.replies.fields import Choice, Number
from metaeval.llm.replies.patterns import PATTERNS, ReplyPattern
from metaeval.llm.replies.reader import Parsed, read_reply

SIDES = Choice("choice", {"first": ["A", "A>>B", "A>B"], "second": ["B", "B>A", "B>>A"], "tie": ["C", "A=B"]})


def read(text: str, pattern: object, *fields: Choice | Number) -> Parsed:
    return read_reply(text, fields or [SIDES], pattern=ReplyPattern.model_validate(pattern))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("mt-bench", "Both are fine; A: short.\n[[B]]", "second"),
        ("mt-bench", "[[C]]", "tie"),
        ("mt-bench-rating", "Rating: [[3.5]]", 3.5),
        ("arena-hard", "Assistant A is much better: [[A>>B]]", "first"),
        ("arena-hard", "[[A=B]]", "tie"),
        ("g-eval", "- Coherence: 4", 4.0),
        ("g-eval", "4", 4.0),
        ("prometheus", "Feedback: a 5 needs more. [RESULT] 4", 4.0),
        ("prometheus-pairs", "[RESULT] B", "second"),
        ("inspect", "The answer agrees.\n\nGRADE: P", 0.5),
        ("letters", "B, since it is short", 4.0),
    ],
)
def test_the_patterns_that_have_names(name: str, text: str, value: float | str) -> None:
    field = SIDES if isinstance(value, str) else Number("x", Scale(0, 5, integer=False))
    assert read(text, name, field).values == {field.name: value}
    assert PATTERNS[name].about


def test_only_first_or_last() -> None:
    own = r"\[\[(?P<value>A|B|C)\]\]"
    assert read("[[A]] then [[A]]", own).values == {"choice": "first"}
    unclear = read("[[A]] then [[B]]", own)
    assert (unclear.values, unclear.status) == (None, "unparsed")
    assert "different texts" in unclear.reason
    assert read("[[A]] then [[B]]", {"pattern": own, "take": "last"}).values == {"choice": "second"}
    assert read("[[A]] then [[B]]", {"pattern": "mt-bench", "take": "last"}).values == {"choice": "second"}
    assert read("[[A]] then [[B]]", {"pattern": own, "take": "first"}).values == {"choice": "first"}


def test_values_and_several_fields() -> None:
    letters = {"pattern": "Grade ([A-F])", "values": {"a": 5, "b": 4, "f": 0}}
    grade = Number("x", Scale(0, 5))
    assert read("Grade B", letters, grade).values == {"x": 4}
    assert read("Grade C", letters, grade).values is None
    assert read("Grade 7", "Grade ([0-9])", grade).status == "out_of_range"
    both = Number("clear", Scale(1, 5)), Number("true", Scale(1, 5))
    assert read("4|2", r"(?P<clear>\d)\|(?P<true>\d)", *both).values == {"clear": 4, "true": 2}
    assert read("4", r"(\d)", *both).reason == "the pattern has no group 'clear'"
    assert read("<think>[[A]]</think>[[B]]", "mt-bench").values == {"choice": "second"}


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("mtbench", "neither a known pattern"),
        ("(", "cannot be used"),
        ("(?=a)(b)", "cannot be used"),
        ({"pattern": "mt-bench", "take": "second"}, "only"),
        ({"take": "last"}, "pattern"),
    ],
)
def test_what_is_no_pattern_is_said(pattern: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said.replace("(", r"\(")):
        ReplyPattern.model_validate(pattern)


def test_any_pattern_takes_linear_time() -> None:
    start = time.process_time()
    assert read("a" * 1_000_000 + "b", "(a+)+$").values is None
    assert time.process_time() - start < 1
