"""Choices in text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.records import Scale
from metaeval.llm.replies.fields import THINGS, Choice, Number
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
    (NUMBERS, "second", "Answer: 1 step was missing.\n\n2"),
    (NUMBERS, "second", "1. Correct.\n\n2"),
    (NUMBERS, "first", "Assistant 1:\n- Accuracy: 5/5\n\nAssistant 2:\n- Accuracy: 4/5\n\n1"),
    (NUMBERS, "second", "Her final answer was 1.5 m.\n\n2"),
    (LETTERS, "second", "A: accurate.\nB: more detailed.\n\nB"),
    (LETTERS, "tie", "A. Accuracy: both right.\nB. Clarity: both clear.\n\nC"),
    (LETTERS, "second", "A\nToo long.\nB\nConcise.\n\n**B**"),
    (LETTERS, "first", "Verdict: Assistant A"),
    (LETTERS, "second", "Assistant B"),
    (LETTERS, "second", "Choice: B. Response 2 is better than Response 1."),
    (LETTERS, "first", "A – because it is shorter."),
    (LETTERS, "second", "> Choice: A\n\nChoice: B"),
    (LETTERS, "second", "<quote>A</quote>\nB"),
    (LETTERS, "second", '{"choice": "B"} Hope this helps!'),
    (GRADES, "first", "My final verdict is: Assistant A is much better: [[A>>B]]"),
    (GRADES, "second", "B>A"),
    (GRADES, "tie", "verdict: A=B"),
]
UNCLEAR = [
    (LETTERS, "The better response is B."),
    (LETTERS, "I prefer Response A because it is shorter."),
    (WORDS, "The first list is better."),
    (WORDS, "Verdict: tie-break"),
    (LETTERS, "A: 3/5\nB: 4/5"),
    (LETTERS, "A: 3/5, B: 4/5"),
    (LETTERS, "Text A: 3/5\nText B: 4/5"),
    (LETTERS, "A – too long.\nB – concise, better."),
    (LETTERS, "A. Too long. B. Concise."),
    (LETTERS, "A, not B"),
    (LETTERS, "The worst answer: A"),
    (LETTERS, "> Choice: A\n\nIs that what you mean?"),
    (LETTERS, "<quote>Choice: A</quote>"),
    (LETTERS, "Options:\nA\nB\nC"),
    (LETTERS, "- A\n- B"),
    (LETTERS, "A\nToo long.\nB\nConcise."),
    (LETTERS, "first"),  # a value of the field, but no word of a reply
    (NUMBERS, "1. Correct.\n2. Clear."),
    (NUMBERS, "1. Correct."),
    (NUMBERS, "The answer is 2.5 billion."),
    (NUMBERS, "Answer: 2.5"),
    (NUMBERS, "Answer: 1 step was missing."),
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
LETTER = st.sampled_from("ABC")
MEANS = {"A": "first", "B": "second", "C": "tie"}


@given(st.sampled_from(STATED), st.sampled_from(STATED), LETTER, LETTER)
def test_two_statements_agree_or_give_nothing(first: str, second: str, a: str, b: str) -> None:
    reply = f"{first.format(a)}\n{second.format(b)}"
    assert read_choice(reply, LETTERS) == (MEANS[a] if a == b else None)


WHOLE = (*STATED, "{}", "{}.", "({})", "[[{}]]", "{}: because it is shorter", "{} – because it is shorter")
ENDS_ALIKE = (
    ("SUCCESS", "NOT SUCCESS"),
    ("relevant", "not relevant"),
    ("good", "very good"),
    ("agree", "strongly agree"),
    ("safe", "unsafe"),
    ("yes", "yes, partly"),
    ("A", "A+"),
)


@given(st.sampled_from(WHOLE), st.sampled_from(ENDS_ALIKE), st.booleans(), st.booleans())
def test_of_choices_that_end_or_begin_alike_the_whole_one_counts(
    form: str, words: tuple[str, str], second: bool, turned: bool
) -> None:
    """Whichever comes first in the map; with a word before it, it is no choice."""
    first, other = words[::-1] if turned else words
    field = Choice("choice", {"first": [first], "second": [other]})
    said = other if second else first
    assert read_choice(form.format(said), field) == ("second" if second else "first")
    denied = form.format(f"hardly {said}")
    assert read_choice(denied, field) is None, denied


_SIDE = re.compile(f"{THINGS} *$")  # Assistant A, which is A
PROSE = st.text(st.sampled_from("abdeghiklmnopqrstuvwxyz' "), min_size=3, max_size=30).filter(
    lambda words: any(map(str.isalpha, words)) and not _SIDE.search(words)
)


@given(PROSE, LETTER, st.sampled_from(["{} {}", "{} {} ", "Verdict: {} {}", "I say {} {}.", "{} {}!"]))
def test_a_choice_after_other_words_is_prose(words: str, letter: str, form: str) -> None:
    """Whatever the words: they may deny it."""
    assert read_choice(form.format(words, letter), LETTERS) is None


@given(PROSE, LETTER, st.sampled_from(["{} {}", "Verdict: {} {}", "[[{} {}]]", "{}'s {}", "{} ({})"]))
def test_a_choice_before_other_words_is_prose(words: str, letter: str, form: str) -> None:
    assert read_choice(form.format(letter, words), LETTERS) is None


@given(
    st.lists(st.tuples(st.sampled_from(["{}: {}", "{}. {}", "{} – {}", "Text {}: {}"]), LETTER, PROSE)),
    LETTER,
)
def test_a_last_line_that_is_a_choice_is_the_verdict(lines: list[tuple[str, str, str]], letter: str) -> None:
    reply = "\n".join([*(form.format(side, words) for form, side, words in lines), letter])
    assert read_choice(reply, LETTERS) == MEANS[letter]


@given(LETTER, LETTER, PROSE)
def test_first_words_count_only_where_no_other_choice_is_named(first: str, other: str, words: str) -> None:
    reply = f"{first}: {words}\n{other} {words}"
    assert read_choice(reply, LETTERS) == (MEANS[first] if other == first else None)


def test_beside_other_fields_each_has_its_name() -> None:
    fields = [LETTERS, Number("confidence", Scale(0, 1, integer=False))]
    assert read_reply("choice: A\nconfidence: 0.5", fields).values == {"choice": "first", "confidence": 0.5}
    two = [LETTERS, Choice("clearer", {"first": ["A"], "second": ["B"]})]
    assert read_reply("choice: A\nclearer: B", two).values == {"choice": "first", "clearer": "second"}
    assert read_reply("A\nB", two).values is None
