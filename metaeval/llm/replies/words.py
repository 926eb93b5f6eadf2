"""How a reply writes a value."""

from __future__ import annotations

import re
from typing import TypeAlias

FARTHEST = 400
"""Characters to each side of a value that are looked at."""

UNCLEAR = None
"""The claim that a field has a value which cannot be read as one number of the scale."""

Value: TypeAlias = float | None

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BLANKS = dict.fromkeys(map(ord, "\u3000\u00a0\u2007\u2009\u202f\t"), " ")
_UNSEEN = {**dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\ufe0f"), " "), ord("\r"): "\n"}
_SIGNS = {ord("−"): "-", ord("⁄"): "/", ord("∕"): "/"}
_TABLE: dict[int, int | str] = {**_FULL_WIDTH, **_BLANKS, **_UNSEEN, **_SIGNS}

_COUNT = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS: dict[str, float] = {word: float(number) for number, word in enumerate(_COUNT)}
HAN = dict(zip("零一二三四五六七八九", range(10), strict=True)) | {"〇": 0, "两": 2, "十": 10}

_NUMBER = r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?"
_ONE_VALUE = (
    rf"(?P<number>{_NUMBER}|(?:{'|'.join(WORDS)})(?![a-z])|[{''.join(HAN)}])"
    # An Arabic numeral may go straight on with its unit; 分 before 制, 之 or 钟 is another word.
    r"(?P<rated> ?(?:/|out of|of|von|de|sur|su) ?(?P<maximum>[0-9]{1,15}(?:\.[0-9]{1,15})?"
    rf"|(?<=out of )(?:{'|'.join(WORDS)})\b)(?: ?(?:points?|stars?|分|星))?"
    r"(?![\w.]{0,20}[0-9])|分(?![制之钟])|点(?=\s*(?:\Z|[。\n]))|[颗个]?星(?![级期])| ?[★⭐](?![★☆⭐])"
    rf"|[ -]?(?:points?|pts|stars?)\b(?: out of (?P<maximum2>[0-9]{{1,15}}|{'|'.join(WORDS)})\b)?)?"
)
"""One value, as a pattern: ``4``, ``4.5``, ``4/5``, ``4 out of 5``, ``four``, ``四``, ``4分``."""

MAY_HOLD_VALUE = re.compile(rf"[0-9{''.join(HAN)}]|\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
"""What a text without a value does not have."""

VALUE = re.compile(_ONE_VALUE, re.IGNORECASE)


_STARS = re.compile(
    r"(?<![★☆⭐½.,0-9])(?<![0-9] )(?:(?P<given>★{1,10})(?P<left>☆{0,10})|(?P<shown>(?:⭐ ?){1,10}))"
    r"(?![★☆⭐½])(?=[ \n]*(?:\n|\Z)|[.,;:!)]| ?[(–—-])"
)
_ALL_STARS = 5


def with_stars_counted(text: str) -> str:
    """Return the text with ``★★★★☆`` as ``4/5``, and with fewer than five stars alone as ``4 stars``."""

    def counted(match: re.Match[str]) -> str:
        given = len(match["given"] or match["shown"].replace(" ", ""))
        of = given + len(match["left"] or "")
        return f"{given}/{of}" if of >= _ALL_STARS or match["left"] else f"{given} stars"

    return _STARS.sub(counted, text) if "★" in text or "⭐" in text else text


def tidy(text: str) -> str:
    """Return the text with full-width characters and blanks in their plain form."""
    return text.translate(_TABLE)


def number_in(text: str) -> float | None:
    """Return the number that a word or numeral stands for, or None."""
    text = text.casefold()
    if text in WORDS:
        return WORDS[text]
    if text in HAN:
        return float(HAN[text])
    return float(text) if re.fullmatch(_NUMBER, text) and not re.match(r"[+-]?0[0-9]", text) else None
