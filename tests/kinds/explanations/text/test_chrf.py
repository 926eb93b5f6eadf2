from __future__ import annotations

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import SpecError
from metaeval.kinds.registry import build

texts = st.text("ab cd电影.", min_size=1, max_size=20).filter(str.strip)


@given(texts, st.lists(texts, min_size=1, max_size=3), st.sampled_from([0, 2]))
def test_equals_sacrebleu(text, references, word_order):
    theirs = sacrebleu.sentence_chrf(text, references, word_order=word_order).score
    assert build(f"ChrF(word_order={word_order})").score_pair(text, references) == pytest.approx(
        theirs, abs=1e-9
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("ChrF(char_order=0)", "at least 1, not 0"),
        ("ChrF(word_order=-1)", "at least 0, not -1"),
        ("ChrF(beta=0.5)", "not 0.5"),
        ("ChrF(lowercase='no')", "True or False"),
    ],
)
def test_wrong_arguments(spec, said):
    with pytest.raises(SpecError, match=said):
        build(spec)
