from __future__ import annotations

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU as SACRE

from metaeval.base.errors import SpecError
from metaeval.kinds.registry import build

sentences = st.lists(
    st.sampled_from(["the", "a", "good", "film,", "movie.", "is", "not", "(warm)", "story's", "3.5"]),
    min_size=1,
    max_size=12,
)


@given(
    sentences,
    st.lists(sentences, min_size=1, max_size=3),
    st.integers(1, 4),
    st.sampled_from(["exp", "floor", "add-k", "none"]),
)
def test_equals_sacrebleu_on_ascii(words, references, n, smooth):
    text, targets = " ".join(words), [" ".join(r) for r in references]
    theirs = SACRE(max_ngram_order=n, smooth_method=smooth, effective_order=True).sentence_score(
        text, targets
    )
    assert build(f"BLEU(n={n}, smooth={smooth!r})").score_pair(text, targets) == pytest.approx(
        theirs.score, abs=1e-9
    )


@pytest.mark.parametrize("tokenize", ["13a", "intl", "zh", "char", "none"])
def test_equals_sacrebleu_with_its_tokenizers(tokenize):
    text, reference = "这部 Film “很” 好看！", "这部 film 不好看。"
    theirs = sacrebleu.sentence_bleu(text, [reference], tokenize=tokenize, lowercase=True).score
    mine = build(f"BLEU(tokenize={tokenize!r}, lowercase=True)").score_pair(text, [reference])
    assert mine == pytest.approx(theirs, abs=1e-9)


def test_chinese_is_compared_character_by_character():
    assert build("BLEU(n=1)").score_pair("电影好看", ["电影难看"]) == pytest.approx(75)
    assert build("BLEU(n=1, tokenize='13a')").score_pair("电影好看", ["电影难看"]) == 0


def test_what_the_tokenizer_drops_is_untokenizable():
    assert build("BLEU()").score_pair("<skipped>", ["good"]) is None
    assert build("BLEU()").score_pair("good", ["<skipped>"]) is None
    assert build("BLEU()").score_pair("good", ["<skipped>", "good"]) == 100


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("BLEU(n=5)", "n must be an integer from 1 to 4, not 5"),
        ("BLEU(n=0)", "not 0"),
        ("BLEU(n=True)", "not True"),
        ("BLEU(n='4')", "not '4'"),
        ("BLEU(n=User())", r"not User\(\)"),
        ("BLEU(tokenize='13b')", "did you mean '13a'"),
        ("BLEU(smooth='expo')", "did you mean 'exp'"),
        ("BLEU(lowercase=1)", "True or False, not 1"),
        ("BLEU(m=4)", r"no argument 'm'.*write BLEU\(n=4, tokenize='auto', smooth='exp', lowercase=False\)"),
        ("BLEU(smoth='exp')", "did you mean 'smooth'"),
        ("BLEU(1, n=2)", "multiple values"),
        ("BLEU(1, 'auto', 'exp', False, 9)", "too many positional"),
    ],
)
def test_wrong_arguments(spec, said):
    with pytest.raises(SpecError, match=said):
        build(spec)
