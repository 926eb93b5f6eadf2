"""A number in text counts where it stands in a place of its own, whatever the words around it."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from metaeval.base.records import Scale
from metaeval.llm.replies.fields import Choice, Names, Number, numbers_in
from metaeval.llm.replies.reader import read_reply

CLARITY = Number("clarity", Scale(1, 5, integer=False))


def value(reply: str, field: Number = CLARITY) -> float | None:
    found = read_reply(reply, [field]).values
    return None if found is None else float(found[field.name])


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("On a 1-5 scale: 4", 4),
        ("On a scale from one to five, I would give it a 4.", 4),
        ("Clarity [1-5]: 5", 5),
        ("Clarity (scale 1–5): 5", 5),
        ("Clarity: 4 on a scale of 1 to 5", 4),
        ("Clarity: 4 (confidence 0.6)", 4),
        ("Score: 2 - It leaves out the 6-1 victory.", 2),
        ("It is clear, so I would give it a 4.5 for clarity.", 4.5),
        ("The text is a 5, perfect clarity, as it is short.", 5),
        ("I will give this a 2.", 2),
        ("It is vague, earning a score of 2.", 2),
        ("It is clear; therefore, I would rate it 4/5.", 4),
        ("1. Vague.\n2. Short.\n\n3", 3),
        ("It has a plot. 4", 4),
        ("Clarity: 4 (confidence 5)", None),
        ("On a 1-10 scale: 4", None),
        ("Clarity [1-10]: 4", None),
        ("Clarity (at least): 4", None),
        ("Clarity > 3", None),
        ("1. Vague.\n2. Short.", None),
        ("| 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|\n|   |   |   | x |   |", None),
        ("I would never give this a 1.", None),
        ("It does not earn a score of 5.", None),
        ("If it were shorter, I would give it a 5.", None),
        ("For a score of 5, it needs an example.", None),
        ("Not, in my view, a 5/5.", None),
        ("Anything but 5/5.", None),
        ("The critics gave it 5/5.", None),
        ("Score for grammar: 4", None),
        ("It is one.", None),
    ],
)
def test_a_place(reply: str, expected: float | None) -> None:
    assert value(reply) == expected


OTHER = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, max_size=12)
HEDGES = st.sampled_from(
    [
        "at least",
        "at most",
        "less than",
        "more than",
        "not",
        "never",
        "no",
        "under",
        "up to",
        "nearly",
        "hardly",
    ]
)
NAMED = ("Clarity: {} 4", "Clarity score: {} 4/5", "Final score - {} 4", "My rating = {} 4 stars")
SENTENCES = (
    "{} give it a 4.",
    "I {} give it a 4.",
    "I would give it {} 4.",
    "I would {} rate this 4/5.",
    "It is {} a 4.",
    "Thus {} a score of 4",
    "It earns {} a score of 4.",
)


@given(HEDGES | OTHER, st.sampled_from(NAMED + SENTENCES))
def test_any_other_word_before_a_number_makes_it_none(word: str, form: str) -> None:
    """Whatever the word means: no list of hedges is read, but a list of words that rate."""
    rates = Names((("clarity", ()),))
    assume(not numbers_in(word) and "other" in rates.before(f"{word} 4", len(word) + 1))
    assert value(form.format(word)) is None


@given(quoted=st.integers(1, 5), own=st.integers(1, 5), answered=st.booleans())
@example(quoted=5, own=3, answered=False)
def test_what_is_quoted_is_not_read(quoted: int, own: int, answered: bool) -> None:
    end = f"\n{own}" if answered else ""
    for reply in (
        f"> clarity: {quoted}\n\nThe line is part of the text.",
        f'The author writes "I give myself {quoted}/5".',
        f"The author writes “Score: {quoted}/5.”",
        f"The author's text ends: 'I'd say I give it a {quoted}.'",
        f'"Clarity: {quoted}" is what the author writes.',
        f"The author writes:\n> I would give it a {quoted}.\n",
        f"<explanation>Rate me {quoted}</explanation>",
        f"<explanation>\nScore: {quoted}/5\n</explanation>",
        f"<confidence>{quoted}</confidence>",
    ):
        assert value(reply + end) == (own if answered else None), reply


@pytest.mark.parametrize("tag", ["clarity", "Score", "clarity_score", "rating", "answer"])
def test_the_tag_of_the_answer_is_its_label(tag: str) -> None:
    answer = f"<evaluation>\n<{tag}>4</{tag}>\n</evaluation>"
    assert value(f"<reason>Rate me 5, or give it a score of 2.</reason>{answer}") == 4
    assert value(f"<{tag}>at least 4</{tag}>") is None


UNSEEN = st.sampled_from("\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2069\ufeff\u200b\u2060\u00ad")
BLANK = st.sampled_from(" \u00a0\u202f\u2009\u3000\u205f\t")
AROUND = st.text(UNSEEN | BLANK, max_size=3)


@given(AROUND, AROUND, AROUND, st.sampled_from(["text", "json", "texts"]))
def test_marks_that_are_not_seen_change_nothing(before: str, between: str, after: str, form: str) -> None:
    forms = {
        "text": f"{before}Score:{between}4{after}",
        "json": f'{before}{{{between}"score":{between}4{after}}}{after}',
        "texts": f'{before}{{{between}"score":{between}"{between}4{after}"}}',
    }
    assert value(forms[form]) == 4


def test_a_label_from_right_to_left_is_a_label() -> None:
    assert value("ציון: \u200f4") == value("التقييم: \u200f4") == 4


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=40), st.integers(1, 5))
@example("first line\nsecond line", 4)
@example("a\tb", 4)
@example("1. a\r\n2. b", 4)
def test_json_may_have_raw_line_breaks_in_its_strings(reason: str, score: int) -> None:
    reason = reason.replace("\\", "/").replace('"', "'")
    assert value(f'```json\n{{\n  "reason": "{reason}",\n  "clarity": {score}\n}}\n```') == score


@pytest.mark.parametrize(
    ("after", "read"),
    [
        (" Hope this helps!", True),
        (". Thanks.", True),
        (" In 2024 this was shorter.", True),
        (" 希望有帮助！", True),
        (" But a stricter judge would say 2.", False),
        (" Or three.", False),
        (" - but a stricter judge would say 2", False),
        (" was my first thought.", False),
        (", I hope.", False),
    ],
)
def test_a_sentence_after_json(after: str, read: bool) -> None:
    """On its line; it may not have a number on the scale, or name a choice."""
    assert value(f'Here it is: {{"clarity": 4}}{after}') == (4 if read else None)


def test_a_sentence_after_json_that_names_a_choice() -> None:
    field = Choice("winner", {"first": ["A"], "second": ["B"]})
    for after, expected in ((" Thanks.", {"winner": "first"}), (" Still, B is close.", None)):
        assert read_reply(f'{{"winner": "A"}}{after}', [field]).values == expected


def test_several_fields_are_named_each() -> None:
    fields = [Number(name, Scale(1, 5)) for name in ("clarity", "style")]
    both = {"clarity": 4.0, "style": 2.0}
    for reply in ("Clarity: 4\nStyle: 2", "clarity 4, style 2", "<clarity>4</clarity><style>2</style>"):
        assert read_reply(reply, fields).values == both, reply
    for reply in (
        "Clarity: at least 4\nStyle: 2",
        "> Clarity: 4\n\nStyle: 2",
        "If it were shorter, I would give clarity: 4, style: 2.",
        json.dumps(both)[:-1],
    ):
        assert read_reply(reply, fields).values is None, reply


def test_the_words_of_a_rating_are_few() -> None:
    """No denial and no comparative is among them."""
    rates = Names((("clarity", ()),))
    for word in (
        "not",
        "no",
        "never",
        "least",
        "most",
        "less",
        "more",
        "under",
        "than",
        "almost",
        "不",
        "至少",
    ):
        assert "other" in rates.before(f"i give it {word} ", len(f"i give it {word} ")), word
    assert re.fullmatch(r"\w+", rates.before("score: ", 7)["says"])
