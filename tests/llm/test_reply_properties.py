"""Replies made up at random: a score comes of a complete, valid answer, and of nothing else."""

from __future__ import annotations

import json
import string
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaeval.base.records import Status
from tests.examples import examples
from tests.llm.replies.reading import parse_reply
from tests.llm.replies.test_reader import FOUR, values

SCALES = st.sampled_from(
    [(1, 5, True), (0, 10, True), (1, 7, True), (-2, 2, True), (0, 1, False), (1, 5, False)]
)
NAMES = st.lists(
    st.sampled_from([*FOUR, "relevance", "Overall quality", "fluency_2", "有用性", "情感", "coherence"]),
    min_size=1,
    max_size=5,
    unique=True,
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[dict[str, float], tuple[float, float, bool]]:
    """Draw a complete valid answer and its scale."""
    low, high, integer = scale = draw(SCALES)
    number: st.SearchStrategy[float] = (
        st.integers(low, high)
        if integer
        else st.integers(0, 100).map(lambda n: round(low + (high - low) * n / 100, 4))
    )
    return {name: draw(number) for name in draw(NAMES)}, scale


WRITINGS = {
    "json": lambda a: json.dumps(a, ensure_ascii=False),
    "indented": lambda a: json.dumps(a, ensure_ascii=True, indent=2),
    "fence": lambda a: f"Here you are:\n```json\n{json.dumps(a)}\n```",
    "nested": lambda a: json.dumps({"ratings": a, "comment": "fine"}),
    "reasons": lambda a: json.dumps({k: {"reason": "I like 2 things", "score": v} for k, v in a.items()}),
    "entries": lambda a: json.dumps([{"aspect": k, "score": v} for k, v in a.items()]),
    "thought": lambda a: f"<think>Accuracy: 3 or 4?</think>{json.dumps(a)}",
    "lines": lambda a: "\n".join(f"{k}: {v}" for k, v in a.items()),
    "bold": lambda a: "\n".join(f"- **{k}**: {v} - fine" for k, v in a.items()),
    "table": lambda a: "\n".join(f"| {k} | {v} | fine |" for k, v in a.items()),
    "full-width": lambda a: "\n".join(
        f"{k}：{str(v).translate({ord(c): ord(c) + 0xFEE0 for c in string.digits})}" for k, v in a.items()
    ),
    "ratings": lambda a: "Some words first.\nRatings: " + " ".join(map(str, a.values())),
}


@given(answers(), st.sampled_from(sorted(WRITINGS)))
def test_a_complete_valid_answer_is_read_as_it_is(
    answer: tuple[dict[str, float], tuple[float, float, bool]], writing: str
) -> None:
    given_values, scale = answer
    found = parse_reply(WRITINGS[writing](given_values), list(given_values), *scale)
    assert found.values == given_values, found


@given(answers(), st.sampled_from(sorted(WRITINGS)), st.data())
def test_an_answer_without_one_field_gives_nothing(
    answer: tuple[dict[str, float], tuple[float, float, bool]], writing: str, data: st.DataObject
) -> None:
    whole, scale = answer
    left = dict(whole)
    del left[data.draw(st.sampled_from(sorted(whole)))]
    assert parse_reply(WRITINGS[writing](left), list(whole), *scale).values is None


@given(answers(), st.sampled_from(sorted(WRITINGS)), st.data())
def test_an_answer_with_one_value_off_the_scale_gives_nothing(
    answer: tuple[dict[str, float], tuple[float, float, bool]], writing: str, data: st.DataObject
) -> None:
    whole, (low, high, integer) = answer
    wrong = [high + 1, high + 7, low - 1, *([low + 0.5] if integer else [])]
    changed = {**whole, data.draw(st.sampled_from(sorted(whole))): data.draw(st.sampled_from(wrong))}
    assert parse_reply(WRITINGS[writing](changed), list(whole), low, high, integer).values is None


@given(answers(), st.sampled_from(["json", "indented", "fence", "nested", "reasons"]), st.data())
def test_the_beginning_of_an_object_gives_nothing(
    answer: tuple[dict[str, float], tuple[float, float, bool]], writing: str, data: st.DataObject
) -> None:
    whole, scale = answer
    text = WRITINGS[writing](whole)
    end = data.draw(st.integers(0, text.rindex("}")))
    assert parse_reply(text[:end], list(whole), *scale).values is None


@given(answers(), st.integers(1, 3))
def test_another_count_of_numbers_gives_nothing(
    answer: tuple[dict[str, float], tuple[float, float, bool]], more: int
) -> None:
    whole, scale = answer
    for numbers in (list(whole.values()) + [scale[0]] * more, list(whole.values())[:-more]):
        line = " ".join(map(str, numbers))
        for text in (line, f"Summary: {line}", json.dumps({"scores": numbers}), json.dumps(numbers)):
            assert parse_reply(text, list(whole), *scale).values is None


TEXT = (
    "On a scale of 1-5 the 3 films 4 5 61% 2024 out of score is / 10 说服力 准确性 一般 三 十分 accuracy "
    'transparency: persuasiveness satisfaction and - ( ) [ ] { } " , . : \n **'
)
WORDS = st.sampled_from(TEXT.split(" "))


@settings(max_examples=examples(300))
@given(st.lists(WORDS, max_size=40).map(" ".join))
@example("{ { } }")
def test_prose_that_never_names_one_of_the_aspects_gives_nothing(text: str) -> None:
    assert values(f"I think that {text}", [*FOUR, "serendipity"]) is None


@settings(max_examples=examples(300))
@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map(" ".join)), NAMES, SCALES)
def test_whatever_comes_is_a_status_and_values_are_on_the_scale(
    text: str, names: list[str], scale: Any
) -> None:
    found = parse_reply(text, names, *scale)
    assert (found.status is Status.OK) == (found.values is not None) == (not found.reason)
    if found.values is not None:
        assert list(found.values) == names
        assert all(scale[0] <= v <= scale[1] for v in found.values.values())
