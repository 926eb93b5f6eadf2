"""The texts of a data set: explanations, their references, their scripts, and their length as a baseline."""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
import regex

from metaeval.base.counts import graphemes
from metaeval.base.errors import DataError, MissingExtraError, nearest, shown
from metaeval.base.records import Kind
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.grid import Grid
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

Tokenizer: TypeAlias = "Callable[[str], list[str]]"

AUTO = "auto"

TOKENIZERS = (AUTO, "13a", "intl", "zh", "char", "ja-mecab", "ko-mecab", "none")
"""By the script of each text, or one of sacrebleu's."""

_EXTRAS = {"ja-mecab": ("ja", "MeCab"), "ko-mecab": ("ko", "mecab_ko")}
"""Tokenizer → the extra of this package that it needs, and a module of that."""

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
    extra, module = _EXTRAS.get(name, ("", "sacrebleu"))
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"tokenize={name!r}", extra)


@lru_cache
def bleu_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer that BLEU uses under a name of `TOKENIZERS`."""
    if name == AUTO:
        return lambda text: _auto_bleu_line(text).split()
    line = _sacrebleu_tokenizer(name)
    return lambda text: line(text.rstrip()).split()


@lru_cache
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
    if not text.isascii():
        text = _SPACED_OUT.sub(r" \1 ", unicodedata.normalize("NFC", text))
    return _sacrebleu_tokenizer("13a")(text.rstrip())


@lru_cache(maxsize=2**14)  # each variant of ROUGE asks for the tokens of the same texts
def _auto_rouge(text: str) -> list[str]:
    text = text.lower()
    pattern = _ASCII_WORDS if text.isascii() else _LETTERS_AND_DIGITS
    tokens: list[str] = pattern.findall(unicodedata.normalize("NFC", text))
    return tokens


@lru_cache(maxsize=2**9)  # neighbouring units have the same references
def ngrams_of(tokens: tuple[str, ...], n: int) -> Counter[tuple[str, ...]]:
    """Return how often each n tokens in a row occur; what is returned is not to be changed."""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


@lru_cache
def _sacrebleu_tokenizer(name: str) -> Callable[[str], str]:
    from sacrebleu.metrics.bleu import BLEU

    tokenizer: Callable[[str], str] = BLEU(tokenize=name).tokenizer
    return tokenizer


_REFERENCE_COLUMN = re.compile(r"reference(_(?P<number>\d+))?")
_SCRIPTS = {
    "latin": r"\p{Script=Latin}",
    "han": r"\p{Script=Han}",
    "kana": r"[\p{scx=Hiragana}\p{scx=Katakana}]",
    "korean": r"\p{Script=Hangul}",
    "arabic": r"\p{Script=Arabic}",
    "cyrillic": r"\p{Script=Cyrillic}",
    "devanagari": r"\p{Script=Devanagari}",
    "greek": r"\p{Script=Greek}",
    "hebrew": r"\p{Script=Hebrew}",
    "thai": r"\p{Script=Thai}",
    "other": r"\p{L}",
}
"""Tried in this order for each letter; kana by script extension, so that ー counts."""
_ENOUGH = 0.1  # of a text's letters: a film title in another script does not make a text mixed


def explanations_of(data: ExplanationSet, evaluator: object, empty: str | None = None) -> list[str | None]:
    """Return the explanation of each unit; None where there is no text, and ``empty`` for an empty one.

    `DataError` is raised if the data set holds no texts.
    """
    if "explanation" not in getattr(data, "explanations", ()):  # a data set of another kind has none
        raise DataError(
            f"{evaluator} needs the texts, and data set {data.name!r} has no column 'explanation'; "
            "without texts only ratings and recorded scores can be compared"
        )
    return _texts(data.explanations["explanation"], evaluator, empty)


def reference_columns(data: ExplanationSet) -> list[str]:
    """Return the columns that hold references, ``reference`` first, then by number."""
    found = [
        (int(match["number"] or 1), column)
        for column in map(str, data.explanations.columns)
        if (match := _REFERENCE_COLUMN.fullmatch(column))
    ]
    return [column for _, column in sorted(found)]


def references_of(data: ExplanationSet, evaluator: object) -> list[tuple[str, ...]]:
    """Return the references of each unit, those without text left out.

    `DataError` is raised if the data set has no reference at all.
    """
    columns = reference_columns(data)
    if not columns:
        others = [c for c in map(str, data.explanations.columns) if c not in {*data.keys, "explanation"}]
        raise DataError(
            f"{evaluator} needs references, and data set {data.name!r} has no column 'reference' "
            f"or 'reference_2', …{nearest('reference', others)}"
        )
    by_column = [_texts(data.explanations[c], evaluator) for c in columns]
    return [tuple(t for t in texts if t is not None) for texts in zip(*by_column, strict=True)]


def _texts(column: pd.Series[Any], evaluator: object, empty: str | None = None) -> list[str | None]:
    texts: list[str | None] = []
    for value, absent in zip(column.to_numpy(dtype=object).tolist(), column.isna().tolist(), strict=True):
        if absent:
            texts.append(None)
        elif isinstance(value, str):
            texts.append(value if value.strip() else empty)
        else:
            raise DataError(f"{evaluator} reads texts, and column {column.name!r} holds {shown(value)}")
    return texts


def script_shares(texts: Iterable[str | None]) -> dict[str, float]:
    """Return the share of texts by script (see `script_of`), most frequent first, to four decimals."""
    return dict(_shares(tuple(t for t in texts if t is not None)))


@lru_cache(maxsize=2)  # each of many evaluators asks for those of the same texts
def _shares(texts: tuple[str, ...]) -> list[tuple[str, float]]:
    ordered = sorted(Counter(map(script_of, texts)).items(), key=lambda item: (-item[1], item[0]))
    return [(script, round(count / len(texts), 4)) for script, count in ordered]


def script_of(text: str) -> str:
    """Return the script of a text.

    A script counts if a tenth of a text's letters are of it. One script gives its name (``latin``,
    ``han``, ``korean``, …), kana with or without Han ``japanese``, other combinations ``mixed``;
    a text without letters is ``none``.
    """
    letters = Counter[str]()
    for character, count in Counter(text).items():
        letters[_script_of_character(character)] += count
    del letters[""]
    scripts = {script for script, count in letters.items() if count >= _ENOUGH * letters.total()}
    if "kana" in scripts and scripts <= {"kana", "han"}:
        return "japanese"
    return scripts.pop() if len(scripts) == 1 else "mixed" if scripts else "none"


@lru_cache(maxsize=2**16)
def _script_of_character(character: str) -> str:
    """Return the script of a letter; nothing for any other character."""
    if not regex.fullmatch(r"[\p{L}\p{Nl}]", character):
        return ""
    return next((name for name, of in _SCRIPTS.items() if regex.fullmatch(of, character)), "")


@dataclass(frozen=True, repr=False)
class Length(BaseEvaluator):
    """The number of characters of an explanation as a reader counts them (grapheme clusters)."""

    kind: ClassVar[Kind] = Kind.BASELINE
    needs: ClassVar[str] = "texts"

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Return the length of each text; a unit without text is ``missing``."""
        lengths = [np.nan if t is None else float(graphemes(t)) for t in explanations_of(data, self, "")]
        return Grid.repeated(np.array(lengths), len(aspects))

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return what is counted, and in which scripts."""
        return {"counted": "grapheme clusters", "scripts": script_shares(explanations_of(data, self))}
