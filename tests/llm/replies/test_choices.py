"""Choices in text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.records import Scale
from metaeval.llm.replies.fields import Choice, Number
from metaeval.llm.replies.reader import read_reply
from tests.llm.replies.reading import read_choice

LETTERS = Choice("choice", {"first": ["A"], "second": ["B"], "tie": ["C"]})
WORDS = Choice("winner", {"first": ["first"], "second": ["second"], "tie": ["tie", "both"]})
NUMBERS = Choice("choice", {"first": ["1"], "second": ["2"]})
GRADES = Choice("choice", {"first": ["A>>B", "A>B"], "second": ["B>A", "B>>A"], "tie": ["A=B"]})

CLEAR = [
    (LETTERS, "first", "A"),
    (LETTERS, "first", "(A)"),
    (LETTERS, "second", 'Choice: B\nReason: A has arrows (`<|`, `-->`), and says "A".'),
    (LETTERS, "second", "**Choice:** B\n**Reason:** Response 2 is clearer."),
    (LETTERS, "first", "A: Summary #1 is more consistent."),
    (LETTERS, "second", "B. It is clearer."),
    (LETTERS, "tie", "C: Both are fine."),
    (LETTERS, "first", "Assistant A is better in the first turn.\n\n[[A]]"),
    (LETTERS, "second", "Choice: A, at first sight.\nMy final verdict is: [[B]]"),
    (LETTERS, "second", "$\\boxed{B}$"),
    (LETTERS, "second", "Final answer: B\nIn short, the choice is A or B."),
    (LETTERS, "second", "<choice>B</choice>\n<reason>Response 2 is clearer.</reason>"),
    (LETTERS, "second", "Choice:\nB"),
    (LETTERS, "first", '{"choice": "A"}'),
    (WORDS, "second", "winner: second\nFirst, the second list is more varied."),
    (WORDS, "tie", "Both."),
    (NUMBERS, "second", "Choice: 2\nReason:\n1. Response 2 is clearer.\n2. Response 1 is vague."),
    (GRADES, "first", "My final verdict is: Assistant A is much better: [[A>>B]]"),
    (GRADES, "second", "B>A"),
    (GRADES, "tie", "verdict: A=B"),
]
UNCLEAR = [
    (LETTERS, ""),
    (LETTERS, "A or B"),
    (LETTERS, "Choice: A or B"),
    (LETTERS, "Choice: A/B"),
    (LETTERS, "A fine list, and a good one."),
    (LETTERS, "[[A]] [[B]]"),
    (LETTERS, "Choice: A\n\nChoice: B"),
    (LETTERS, "Option D"),
    (LETTERS, "Choice: B's list"),
    (WORDS, "At first I was not sure."),
    (GRADES, "[[A]]"),
]


@pytest.mark.parametrize(("field", "value", "reply"), CLEAR)
def test_a_choice_is_read(field: Choice, value: str, reply: str) -> None:
    assert read_choice(reply, field) == value


@pytest.mark.parametrize(("field", "reply"), UNCLEAR)
def test_a_choice_that_is_open_is_not_read(field: Choice, reply: str) -> None:
    assert read_choice(reply, field) is None


STATED = (
    "Choice: {}",
    "My verdict is: {}.",
    "**Final answer:** Assistant {}",
    "- Decision -> ({})",
    "Winner: **{}**",
)


@given(st.sampled_from(STATED), st.sampled_from(STATED), st.sampled_from("ABC"), st.sampled_from("ABC"))
def test_two_statements_agree_or_give_nothing(first: str, second: str, a: str, b: str) -> None:
    reply = f"{first.format(a)}\n{second.format(b)}"
    assert read_choice(reply, LETTERS) == ({"A": "first", "B": "second", "C": "tie"}[a] if a == b else None)


def test_beside_other_fields_each_has_its_name() -> None:
    fields = [LETTERS, Number("confidence", Scale(0, 1, integer=False))]
    assert read_reply("choice: A\nconfidence: 0.5", fields).values == {"choice": "first", "confidence": 0.5}
    two = [LETTERS, Choice("clearer", {"first": ["A"], "second": ["B"]})]
    assert read_reply("choice: A\nclearer: B", two).values == {"choice": "first", "clearer": "second"}
    assert read_reply("A\nB", two).values is None
