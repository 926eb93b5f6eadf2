from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from metaeval.kinds.explanations.text.texts import (
    bleu_tokenizer,
    rouge_tokenizer,
)

ascii_text = st.text(st.characters(max_codepoint=127), max_size=60)
spaced_text = st.text(
    st.sampled_from("abcXYZ àéüß “”’«» абвГД αβγ עברית العربية हिन्दी 0123 .,!?;:-()&%$\n\t"), max_size=60
)


@given(ascii_text | spaced_text)
def test_bleu_tokens_of_spaced_scripts_are_those_of_13a(text):
    composed = unicodedata.normalize("NFC", text)
    assert bleu_tokenizer("auto")(text) == Tokenizer13a()(composed.rstrip()).split()


@pytest.mark.parametrize(
    ("text", "bleu", "rouge"),
    [
        ("Don't stop!", "Don't stop !", "don t stop"),
        ("电影很好看。", "电 影 很 好 看 。", "电 影 很 好 看"),
        ("ケーキ、々です", "ケ ー キ 、 々 で す", "ケ ー キ 々 で す"),
        ("한국 영화!", "한 국 영 화 !", "한 국 영 화"),
        ("看Netflix，好！？", "看 Netflix ， 好 ！ ？", "看 netflix 好"),
        ("2019年上映", "2019 年 上 映", "2019 年 上 映"),
        ("ที่ดี", "ที่ ดี", "ที่ ดี"),
        ("हिन्दी फ़िल्म", "हिन्दी फ़िल्म", "हिन्दी फ़िल्म"),
        ("Отличный «фильм»", "Отличный «фильм»", "отличный фильм"),
        ("فيلم رائع", "فيلم رائع", "فيلم رائع"),
        ("می‌خواهم", "می‌خواهم", "می‌خواهم"),
        ("cafe\u0301", "caf\u00e9", "caf\u00e9"),
        ("snake_case", "snake _ case", "snake case"),
        ("👍🎬", "👍🎬", ""),
    ],
)
def test_tokens_by_script(text, bleu, rouge):
    bleu, rouge = (unicodedata.normalize("NFC", t).split() for t in (bleu, rouge))
    assert bleu_tokenizer("auto")(text) == bleu
    assert rouge_tokenizer("auto")(text) == rouge


def test_decomposed_and_composed_text_give_the_same_tokens():
    for text in ("한국 영화", "が", "é"):
        decomposed = unicodedata.normalize("NFD", text)
        assert bleu_tokenizer("auto")(decomposed) == bleu_tokenizer("auto")(text)
        assert rouge_tokenizer("auto")(decomposed) == rouge_tokenizer("auto")(text)


@pytest.mark.parametrize(("name", "module"), [("ja-mecab", "MeCab"), ("ko-mecab", "mecab_ko")])
def test_mecab(name, module):
    pytest.importorskip(module, reason=f"{module} is an optional library")
    text = "映画が好きです" if "ja" in name else "영화를 좋아합니다"
    tokens = bleu_tokenizer(name)(text)
    assert len(tokens) > len(text.split())
    assert "".join(tokens) == text.replace(" ", "")
