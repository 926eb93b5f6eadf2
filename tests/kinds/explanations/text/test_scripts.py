from __future__ import annotations

import pytest

from metaeval.kinds.explanations.text import scripts
from metaeval.kinds.explanations.text.scripts import script_shares, scripts_of


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
    assert scripts_of([text]) == [script]


def test_texts_do_not_run_into_each_other(monkeypatch):
    texts = ["abc", "", "电影", "", "", "영화", "x"] * 5
    expected = [scripts_of([t])[0] for t in texts]
    assert scripts_of(texts) == expected
    monkeypatch.setattr(scripts, "_BLOCK", 3)
    assert scripts_of(texts) == expected


def test_shares_leave_absent_texts_out():
    assert script_shares(["a", "b", None, "电"]) == {"latin": 0.6667, "han": 0.3333}
    assert script_shares([None]) == {}
