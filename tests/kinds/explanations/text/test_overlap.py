"""BLEU, ROUGE and ChrF: their libraries' values, self-comparison, statuses, several references."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer
from sacrebleu.metrics.bleu import BLEU as SACRE

import metaeval as me
from metaeval.base import parallel
from metaeval.base.errors import SpecError
from metaeval.kinds.explanations.text.overlap import ROUGE
from metaeval.kinds.explanations.text.texts import rouge_tokenizer
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
TEXTS = (
    "A warm film about friends who travel far.",
    "这部电影讲述了一个关于友情的温暖故事。",
    "この映画はとても面白いです。",
    "이 영화는 정말 재미있습니다.",
    "看Netflix的Stranger Things，很棒！",
    "หนังเรื่องนี้สนุกมาก",
    "هذا الفيلم رائع جدا",
    "यह फ़िल्म बहुत अच्छी है।",
    "Отличный фильм для всей семьи.",
    "Good",
    "Very good",
    "好",
    "10",
)

ascii_text = st.text("abc def, XY1.", min_size=1, max_size=40)
any_text = st.text("ab 电影が영画。é", min_size=1, max_size=30)
chars = st.text("ab cd电影.", min_size=1, max_size=20).filter(str.strip)
words = ["the", "a", "good", "film,", "movie.", "is", "not", "(warm)", "story's", "3.5"]
sentences = st.lists(st.sampled_from(words), min_size=1, max_size=12).map(" ".join)


@given(
    sentences,
    st.lists(sentences, min_size=1, max_size=3),
    st.integers(1, 4),
    st.sampled_from(["exp", "floor", "add-k", "none"]),
)
def test_bleu_equals_sacrebleu_on_ascii(text, references, n, smooth):
    theirs = SACRE(max_ngram_order=n, smooth_method=smooth, effective_order=True)
    mine = build(f"BLEU(n={n}, smooth={smooth!r})").score_pair(text, references)
    assert mine == pytest.approx(theirs.sentence_score(text, references).score, abs=1e-9)


@pytest.mark.parametrize("tokenize", ["13a", "intl", "zh", "char", "none"])
def test_bleu_equals_sacrebleu_with_its_tokenizers(tokenize):
    text, reference = "这部 Film “很” 好看！", "这部 film 不好看。"
    theirs = sacrebleu.sentence_bleu(text, [reference], tokenize=tokenize, lowercase=True).score
    mine = build(f"BLEU(tokenize={tokenize!r}, lowercase=True)").score_pair(text, [reference])
    assert mine == pytest.approx(theirs, abs=1e-9)


@given(chars, st.lists(chars, min_size=1, max_size=3), st.sampled_from([0, 2]))
def test_chrf_equals_sacrebleu(text, references, word_order):
    theirs = sacrebleu.sentence_chrf(text, references, word_order=word_order).score
    mine = build(f"ChrF(word_order={word_order})").score_pair(text, references)
    assert mine == pytest.approx(theirs, abs=1e-9)


class _Auto:
    tokenize = staticmethod(rouge_tokenizer("auto"))


@given(
    st.one_of(ascii_text, any_text),
    st.one_of(ascii_text, any_text),
    st.sampled_from("12L"),
    st.sampled_from("fpr"),
)
def test_rouge_equals_rouge_score(text, reference, variant, measure):
    mine = build(f"ROUGE({variant!r}, measure={measure!r})").score_pair(text, [reference])
    tokens, wanted = map(rouge_tokenizer("auto"), (text, reference))
    if not tokens or not wanted:
        assert mine is None
    elif variant == "2" and len(tokens) == len(wanted) == 1:
        assert mine == (100 if tokens == wanted else 0)
    else:
        name = f"rouge{variant}"
        tokenizer = None if (text + reference).isascii() else _Auto()
        theirs = rouge_scorer.RougeScorer([name], tokenizer=tokenizer).score(reference, text)[name]
        assert mine == 100 * getattr(theirs, {"f": "fmeasure", "p": "precision", "r": "recall"}[measure])


@pytest.mark.parametrize(
    ("spec", "text", "references", "score"),
    [
        ("BLEU(n=1)", "电影好看", ["电影难看"], 75),
        ("BLEU(n=1, tokenize='13a')", "电影好看", ["电影难看"], 0),
        ("BLEU()", "<skipped>", ["good"], None),
        ("BLEU()", "good", ["<skipped>"], None),
        ("BLEU()", "good", ["<skipped>", "good"], 100),
        ("ROUGE('1')", "电影好看", ["电影难看"], 75),
        ("ROUGE('1')", "a good film", ["a film", "a good film", "👍"], 100),
        ("ROUGE('1')", "films watched", ["film watching"], 0),
        ("ROUGE('1', use_stemmer=True)", "films watched", ["film watching"], 100),
        ("ROUGE('L')", "👍", ["good"], None),
        ("ROUGE('L')", "good", ["👍", "…"], None),
    ],
)
def test_scores_by_hand(spec, text, references, score):
    found = build(spec).score_pair(text, references)
    assert found is None if score is None else found == pytest.approx(score)


@pytest.mark.parametrize("spec", ALL)
def test_a_text_has_the_maximum_with_itself(spec):
    evaluator = build(spec)
    for text in TEXTS:
        assert evaluator.score_pair(text, [text]) == pytest.approx(100, abs=1e-12)
        assert evaluator.score_pair(text, ["nothing alike 无关", text]) <= 100


@pytest.mark.parametrize("spec", ["BLEU(n=2)", "ROUGE('1')", "ChrF()"])
def test_statuses(spec):
    data = make_set(
        ["good film", "good film", "", "👍", "好", None, "  "],
        ["good film", None, "x", "fine", "好", "x", "x"],
        ["bad", "", "y", None, "", "x", "x"],
    )
    table = me.score(data, [spec])
    found = scores_of(table, spec)
    emoji = "untokenizable" if spec.startswith("ROUGE") else "ok"
    assert [s for _, s in found.values()] == ["ok", "missing", "ok", emoji, "ok", "missing", "ok"]
    assert [found[f"i{n}"][0] for n in (0, 2, 4, 6)] == pytest.approx([100, 0, 100, 0])
    assert all(np.isnan(score) == (status != "ok") for score, status in found.values())
    wide = table.frame.pivot_table(index="item_id", columns="aspect", values="score")
    assert (wide["clear"] == wide["true"]).all()


def test_an_empty_text_has_a_score_only_where_the_evaluator_says_which():
    class Edits(ROUGE):
        of_empty = None

    found = Edits("1").grid(make_set(["good", "", "  "], ["good", "x", "x"]), ["clear"])
    assert found.scores[:, 0].tolist()[0] == 100
    assert np.isnan(found.scores[1:, 0]).all()


def test_references_are_found_by_name_and_number():
    data = make_set(["a b c"], ["x"], ["a b c"])
    data.explanations["reference_note"] = 7
    assert scores_of(me.score(data, ["ROUGE('1')"]), "ROUGE('1')")["i0"] == (100, "ok")
    assert build("BLEU()").signature(data)["references"] == ["reference", "reference_2"]


def test_many_pairs_are_scored_by_several_processes(monkeypatch):
    texts = [f"w{i % 7} x{i % 5} y{i % 11} z" for i in range(60)]
    data = make_set(texts, texts[::-1])
    alone = me.score(data, ["BLEU(n=2)", "ROUGE('L')"]).frame
    monkeypatch.setattr(parallel, "PARALLEL_FROM", 10)
    monkeypatch.setattr(parallel, "_CHUNK", 8)
    for processes in (2, 1):
        monkeypatch.setattr(joblib, "cpu_count", lambda n=processes: n)
        pd.testing.assert_frame_equal(me.score(data, ["BLEU(n=2)", "ROUGE('L')"]).frame, alone)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("BLEU(n=5)", "n must be an integer from 1 to 4, not 5"),
        ("BLEU(n=True)", "not True"),
        ("BLEU(tokenize='13b')", "did you mean '13a'"),
        ("BLEU(smooth='expo')", "did you mean 'exp'"),
        ("BLEU(m=4)", r"no argument 'm'.*write BLEU\(n=4, tokenize='auto', smooth='exp', lowercase=False\)"),
        ("BLEU(1, 'auto', 'exp', False, 9)", "too many positional"),
        ("ChrF(char_order=0)", "at least 1, not 0"),
        ("ROUGE()", r"missing a required argument: 'variant'; write ROUGE\(variant, measure='f'"),
        ("ROUGE(1)", "must be one of '1', '2', 'L', not 1; did you mean '1'"),
    ],
)
def test_wrong_arguments(spec, message):
    with pytest.raises(SpecError, match=message):
        build(spec)
