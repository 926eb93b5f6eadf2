"""A score in a sentence is read as one in a line is: whatever else is stated must agree with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.replies.reading import parse_reply

POINTS = st.integers(1, 5)
WORDS = ("one", "two", "three", "four", "five")
STATED = (
    "The text is easy to follow, earning a score of {}.",
    "The wording is a bit odd, so I would give it {} out of 5.",
    "The explanation scores a {} for fluency.",
    "Final score: {}.",
    "My rating is {}/5.",
    "Therefore, the fluency score is {} out of 5.",
    "I would rate the fluency of the text as a {}.",
)


def read(text: str) -> float | None:
    found = parse_reply(text, ["fluency"], 1, 5, True)
    return None if found.values is None else float(found.values["fluency"])


@given(st.sampled_from(STATED), st.sampled_from(STATED), POINTS, POINTS, st.booleans())
def test_two_statements_agree_or_give_nothing(first: str, second: str, a: int, b: int, worded: bool) -> None:
    said = WORDS[b - 1] if worded else b
    text = f"{first.format(a)} {second.format(said)}"
    assert read(text) == (a if a == b else None), text


@given(st.sampled_from(STATED), POINTS, POINTS)
def test_a_value_first_agrees_with_what_follows(stated: str, a: int, b: int) -> None:
    text = f"{WORDS[a - 1]} stars. The text is clear. {stated.format(b)}".capitalize()
    assert read(text) == (a if a == b else None), text


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("other", ["coherence", "grammar"])
def test_the_score_of_another_aspect_is_not_read(stated: str, other: str) -> None:
    text = stated.format(4).replace("fluency", other)
    if other in text:
        assert read(text) is None


@given(st.sampled_from(STATED), st.sampled_from(["0", "6", "3.5", "8/10", "45"]))
def test_what_is_not_on_the_scale_is_not_read(stated: str, number: str) -> None:
    assert read(stated.format(number)) is None


def test_sentences_are_read_only_where_one_field_was_asked_for() -> None:
    """With several it is not certain which one a sentence is about."""
    text = "Fluency: It reads well, so I would give it a 4.\nTruth: It is right, so I would give it a 5."
    assert parse_reply(text, ["fluency", "truth"], 1, 5, True).values is None
