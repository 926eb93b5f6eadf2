"""What BLEU, ROUGE and ChrF have in common: self-comparison, statuses, several references."""

from __future__ import annotations

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base import parallel
from metaeval.base.errors import DataError
from metaeval.kinds.explanations.text import pairs
from metaeval.kinds.registry import build
from tests.evaluators.making import make_set, scores_of

ALL = [
    *(f"BLEU(n={n})" for n in (1, 2, 3, 4)),
    "BLEU(smooth='floor')",
    "BLEU(smooth='none', lowercase=True)",
    "ROUGE('1')",
    "ROUGE('2')",
    "ROUGE('L')",
    "ROUGE('2', measure='p')",
    "ROUGE('L', measure='r', use_stemmer=True)",
    "ChrF()",
    "ChrF(word_order=2)",
]
TEXTS = {
    "en": "A warm film about friends who travel far.",
    "zh": "这部电影讲述了一个关于友情的温暖故事。",
    "ja": "この映画はとても面白いです。",
    "ko": "이 영화는 정말 재미있습니다.",
    "mixed": "看Netflix的Stranger Things，很棒！",
    "th": "หนังเรื่องนี้สนุกมาก",
    "ar": "هذا الفيلم رائع جدا",
    "hi": "यह फ़िल्म बहुत अच्छी है।",
    "ru": "Отличный фильм для всей семьи.",
    "one word": "Good",
    "two words": "Very good",
    "one character": "好",
    "digits": "10",
}


@pytest.mark.parametrize("spec", ALL)
@pytest.mark.parametrize("language", TEXTS)
def test_a_text_has_the_maximum_with_itself(spec, language):
    text = TEXTS[language]
    assert build(spec).score_pair(text, [text]) == pytest.approx(100, abs=1e-12)
    assert build(spec).score_pair(text, ["nothing alike 无关", text]) <= 100


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=30).filter(str.strip), st.sampled_from(ALL))
def test_self_comparison_is_the_maximum_or_untokenizable(text, spec):
    score = build(spec).score_pair(text, [text])
    assert score is None or score == pytest.approx(100, abs=1e-12)


@settings(max_examples=60)
@given(st.lists(st.text("ab 电影。", min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=4))
def test_scores_stay_in_range_and_do_not_depend_on_the_order_of_references(texts):
    first, *references = texts
    for spec in ALL:
        score = build(spec).score_pair(first, references)
        assert score is None or 0 <= score <= 100
        again = build(spec).score_pair(first, references[::-1])
        assert score is None or again == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("spec", ["BLEU(n=2)", "ROUGE('1')", "ChrF()"])
def test_statuses(spec):
    data = make_set(
        ["good film", "good film", "", "👍", "好", None, "  "],
        ["good film", None, "x", "fine", "好", "x", "x"],
        ["bad", "", "y", None, "", "x", "x"],
    )
    found = scores_of(me.score(data, [spec]), spec)
    emoji = "untokenizable" if spec.startswith("ROUGE") else "ok"
    assert [s for _, s in found.values()] == ["ok", "missing", "missing", emoji, "ok", "missing", "missing"]
    assert found["i0"][0] == pytest.approx(100)
    assert found["i4"][0] == pytest.approx(100)
    assert all(np.isnan(score) == (status != "ok") for score, status in found.values())


def test_a_text_level_score_is_repeated_for_every_aspect():
    data = make_set(["a b", "c d"], ["a b", "c x"])
    frame = me.score(data, ["BLEU(n=1)"]).frame
    assert list(frame.columns) == [
        "user_id", "item_id", "generator", "evaluator", "aspect", "score", "status",
    ]  # fmt: skip
    assert frame["score"].dtype == np.float64
    wide = frame.pivot_table(index="item_id", columns="aspect", values="score")
    assert (wide["clear"] == wide["true"]).all()
    assert len(frame) == 4


def test_references_are_found_by_name_and_number():
    data = make_set(["a b c"], ["x"], ["a b c"])
    data.explanations["reference_note"] = 7
    assert scores_of(me.score(data, ["ROUGE('1')"]), "ROUGE('1')")["i0"] == (100, "ok")
    assert build("BLEU()").signature(data)["references"] == ["reference", "reference_2"]


def test_without_references_or_texts_there_is_a_sentence():
    data = make_set(["a b"])
    data.explanations["refrence"] = "a b"
    with pytest.raises(DataError, match=r"no column 'reference'.*did you mean 'refrence'"):
        me.score(data, ["BLEU()"])
    bare = make_set(["a b"], ["a b"])
    del bare.explanations["explanation"]
    with pytest.raises(DataError, match="no column 'explanation'"):
        me.score(bare, ["ROUGE('1')"])
    with pytest.raises(DataError, match=r"reads texts.*holds 3"):
        me.score(make_set(["a", "b"], ["a", 3]), ["BLEU()"])


@pytest.mark.parametrize("spec", ALL)
def test_signature_is_plain_json_and_names_the_tokenization(spec):
    data = make_set(list(TEXTS.values()), list(TEXTS.values()))
    signature = me.score(data, [spec]).signatures[spec]
    assert json.loads(json.dumps(signature)) == signature
    assert signature["spec"] == spec
    assert any(ch.isdigit() for ch in signature["library"])
    assert signature["tokenizer"] in {"auto", "characters"}
    assert {"latin", "han", "japanese", "korean", "mixed"} <= set(signature["scripts"])


def test_many_pairs_are_scored_by_several_processes(monkeypatch):
    words = [f"w{i % 7} x{i % 5} y{i % 11} z" for i in range(60)]
    data = make_set(words, words[::-1])
    alone = me.score(data, ["BLEU(n=2)", "ROUGE('L')"]).frame
    monkeypatch.setattr(parallel, "PARALLEL_FROM", 10)
    monkeypatch.setattr(parallel, "_CHUNK", 8)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    pd.testing.assert_frame_equal(me.score(data, ["BLEU(n=2)", "ROUGE('L')"]).frame, alone)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    pd.testing.assert_frame_equal(me.score(data, ["BLEU(n=2)", "ROUGE('L')"]).frame, alone)


def test_equal_pairs_are_scored_once(monkeypatch):
    seen = []
    monkeypatch.setattr(pairs, "spread", lambda _work, given, _name: seen.extend(given) or [1.0] * len(given))
    me.score(make_set(["a", "a", "b", "a"], ["x", "x", "x", "y"]), ["ChrF()"])
    assert seen == [("a", ("x",)), ("b", ("x",)), ("a", ("y",))]
