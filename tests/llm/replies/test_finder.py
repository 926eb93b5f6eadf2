"""Phrases are found as `re` finds them, whatever the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.llm.replies import finder, phrases, remarks
from metaeval.llm.replies.claims import statements
from metaeval.llm.replies.finder import Phrases

PHRASES = {
    "takes back": phrases.TAKES_BACK,
    "harmless": phrases.HARMLESS,
    "strong": remarks._STRONG,
    "weak": remarks._WEAK,
    "supposed": statements._SUPPOSED,
    "label": statements._forms("(?P<name>fluency|流畅)", False).label,
    "mine": statements._forms("(?P<name>fluency|流畅)", False).mine,
    "judged": statements._forms("(?P<name>fluency|流畅)", True).judged,
    "chinese": statements._forms("(?P<name>fluency|流畅)", True).chinese,
    "aspect": statements._forms("(?P<name>fluency|流畅)", True).aspect,
}
WORDS = [
    "I",
    "it",
    "score",
    "scores",
    "rating",
    "is",
    "not",
    "my",
    "ignore",
    "that",
    "4",
    "5/5",
    "Fluency",
    ".",
    ",",
    "评分",
    "给4分",
]
PROSE = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@pytest.mark.parametrize("name", PHRASES)
@settings(max_examples=40)
@given(data=st.data())
def test_what_a_pattern_matches_is_found(name: str, data: st.DataObject) -> None:
    some = PHRASES[name]
    said = data.draw(st.from_regex(some.whole))
    case = data.draw(st.sampled_from([str, str.upper, str.title]))
    text = case(f"{data.draw(PROSE)} {said} {data.draw(PROSE)}")
    found, wanted = some.search(text), some.whole.search(text)
    assert (found and found.span()) == (wanted and wanted.span())
    assert [m.span() for m in some.finditer(text)] == [m.span() for m in some.whole.finditer(text)]
    assert some.sub("#", text) == some.whole.sub("#", text)


@pytest.mark.parametrize("text", ["ſcratch that", "İGNORE", "the SCORE ıs random", "Kidding", "ΣΑΣ", "σας"])
def test_letters_that_are_alike_in_any_case_are_alike_here(text: str) -> None:
    some = Phrases("\\bscratch that\\b|ignore|is random|kidding|σασ")
    assert bool(some.search(text)) == bool(some.whole.search(text))


@given(st.characters())
def test_lower_case_is_that_of_re(letter: str) -> None:
    assert len(finder.in_lower_case(letter)) == 1
    for other in (letter.upper(), letter.lower(), letter.title(), letter.casefold()):
        if len(other) == 1 and re.fullmatch(re.escape(letter), other, re.IGNORECASE):
            assert finder.in_lower_case(letter) == finder.in_lower_case(other)


def test_a_group_that_is_only_part_of_a_pattern_is_not_split() -> None:
    some = Phrases(r"\b(?:a|b) (?:c|d)\b|[|(]e|\(f\|g")
    for text in ("a d", "b c", "x |e", "(e", "(f|g"):
        assert some.search(text), text
    for text in ("a", "d", "f", "g"):
        assert not some.search(text), text
