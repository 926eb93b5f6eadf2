"""Scripts and lengths of texts."""

from __future__ import annotations

import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.kinds.explanations.text.texts import explanations_of, script_of
from tests.evaluators.making import make_set, scores_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("A film about friends", "latin"),
        ("这部电影很好看", "han"),
        ("この映画はとても面白い", "japanese"),
        ("ケーキ", "japanese"),
        ("이 영화는 재미있다", "korean"),
        ("这部电影 Titanic", "mixed"),
        ("这部电影讲述了一个关于友情与成长的温暖故事 TV", "han"),
        ("Фильм", "cyrillic"),
        ("فيلم", "arabic"),
        ("फ़िल्म", "devanagari"),
        ("หนัง", "thai"),
        ("ფილმი", "other"),
        ("123 👍", "none"),
        ("", "none"),
    ],
)
def test_script_of_a_text(text, script):
    assert script_of(text) == script


def test_length_counts_what_a_reader_sees():
    texts = ["abc", "电影", "e\u0301", "👨‍👩‍👧", "한국", "a\r\nb", "", " \n", None]
    found = scores_of(me.score(make_set(texts), ["Length()"]), "Length()")
    assert [s for s, _ in found.values()][:8] == [3, 2, 1, 1, 2, 3, 0, 0]
    assert [t for _, t in found.values()][8:] == ["missing"]


def test_a_data_set_of_another_kind_has_no_texts():
    with pytest.raises(DataError, match="mine needs the texts"):
        explanations_of(me.load("data/relevance"), "mine")
