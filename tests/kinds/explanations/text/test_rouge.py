from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from metaeval.base.errors import SpecError
from metaeval.kinds.explanations.text.rouge import lcs_length
from metaeval.kinds.explanations.text.tokenizers import rouge_tokenizer
from metaeval.kinds.registry import build

ascii_text = st.text("abc def, XY1.", min_size=1, max_size=40)
any_text = st.text("ab 电影が영画。é", min_size=1, max_size=30)


def _naive_lcs(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        above = row[:]
        for j, y in enumerate(b, start=1):
            row[j] = above[j - 1] + 1 if x == y else max(above[j], row[j - 1])
    return row[-1]


@given(st.lists(st.sampled_from("abcd"), max_size=90), st.lists(st.sampled_from("abcde"), max_size=90))
def test_fast_lcs_equals_the_table(a, b):
    assert lcs_length(a, b) == _naive_lcs(a, b)


class _Auto:
    tokenize = staticmethod(rouge_tokenizer("auto"))


@given(
    st.one_of(ascii_text, any_text),
    st.one_of(ascii_text, any_text),
    st.sampled_from("12L"),
    st.sampled_from("fpr"),
)
def test_equals_rouge_score(text, reference, variant, measure):
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


def test_of_several_references_the_best():
    evaluator = build("ROUGE('1')")
    texts = ["a film", "a good film", "👍"]
    assert evaluator.score_pair("a good film", texts) == 100
    theirs = rouge_scorer.RougeScorer(["rouge1"]).score_multi(texts[:1], "a good film")["rouge1"].fmeasure
    assert evaluator.score_pair("a good film", texts[:1]) == 100 * theirs


def test_stemmer():
    assert build("ROUGE('1', use_stemmer=True)").score_pair("films watched", ["film watching"]) == 100
    assert build("ROUGE('1')").score_pair("films watched", ["film watching"]) == 0


def test_chinese_is_not_dropped():
    assert build("ROUGE('1')").score_pair("电影好看", ["电影难看"]) == 75
    assert rouge_scorer.RougeScorer(["rouge1"]).score("电影好看", "电影好看")["rouge1"].fmeasure == 0


@pytest.mark.parametrize(("text", "references"), [("👍", ["good"]), ("good", ["👍", "…"]), ("!!!", ["!!!"])])
def test_nothing_left_is_untokenizable(text, references):
    assert build("ROUGE('L')").score_pair(text, references) is None


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("ROUGE()", r"missing a required argument: 'variant'; write ROUGE\(variant, measure='f'"),
        ("ROUGE(1)", "must be one of '1', '2', 'L', not 1; did you mean '1'"),
        ("ROUGE('l')", "did you mean 'L'"),
        ("ROUGE('1', measure='f1')", "did you mean 'f'"),
        ("ROUGE('1', use_stemmer=None)", "True or False"),
    ],
)
def test_wrong_arguments(spec, said):
    with pytest.raises(SpecError, match=said):
        build(spec)
