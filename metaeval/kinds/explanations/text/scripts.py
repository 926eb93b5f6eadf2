"""Which scripts texts are written in: the share of texts by script, for signatures."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    IntArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

_SCRIPTS: Mapping[str, str] = {
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

_NAMES = tuple(_SCRIPTS)
_ENOUGH = 0.1  # of a text's letters: a film title in another script does not make a text mixed
_BLOCK = 10_000  # texts at a time: bounds the memory


def scripts_of(texts: Sequence[str]) -> list[str]:
    """Return the script of each text.

    A script counts if a tenth of a text's letters are of it. One script gives its name (``latin``,
    ``han``, ``korean``, …), kana with or without Han ``japanese``, other combinations ``mixed``;
    a text without letters is ``none``.
    """
    found: list[str] = []
    for start in range(0, len(texts), _BLOCK):
        found += _scripts_of_block(texts[start : start + _BLOCK])
    return found


def script_shares(texts: Iterable[str | None]) -> dict[str, float]:
    """Return the share of texts by script (see `scripts_of`), most frequent first, to four decimals."""
    return dict(_shares(tuple(t for t in texts if t is not None)))


@lru_cache(maxsize=2)  # each of many evaluators asks for those of the same texts
def _shares(texts: tuple[str, ...]) -> list[tuple[str, float]]:
    counts = Counter(scripts_of(texts))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(script, round(count / len(texts), 4)) for script, count in ordered]


def _scripts_of_block(texts: Sequence[str]) -> list[str]:
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    ends = np.cumsum([0, *map(len, texts)])
    present = np.flatnonzero(np.bincount(points, minlength=1))
    lookup = np.full(int(present.max(initial=0)) + 1, -1, np.int8)
    lookup[present] = [_script_number(chr(p)) for p in present.tolist()]
    numbers = lookup[points]
    counts = np.stack([_counts(numbers == i, ends) for i in range(len(_NAMES))])
    letters = counts.sum(axis=0)
    enough = (counts >= _ENOUGH * letters) & (counts > 0)
    return [_name(frozenset(np.flatnonzero(column).tolist())) for column in enough.T]


def _counts(hits: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], ends: IntArray) -> IntArray:
    before = np.concatenate([[0], np.cumsum(hits)])
    return np.diff(before[ends])


@lru_cache(maxsize=2**16)
def _script_number(character: str) -> int:
    for number, pattern in enumerate(_SCRIPTS.values()):
        if regex.fullmatch(pattern, character) and regex.fullmatch(r"[\p{L}\p{Nl}]", character):
            return number
    return -1


@lru_cache(maxsize=1024)
def _name(numbers: frozenset[int]) -> str:
    names = {_NAMES[n] for n in numbers}
    if not names:
        return "none"
    if "kana" in names and names <= {"kana", "han"}:
        return "japanese"
    return names.pop() if len(names) == 1 else "mixed"
