"""A value, with the text beside it."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from metaeval.llm.replies.beside import is_gloss, is_reason
from metaeval.llm.replies.numerals import is_count, says_scale
from metaeval.llm.replies.words import FARTHEST, HAN, UNCLEAR, VALUE, number_in

if TYPE_CHECKING:
    from metaeval.base.records import Scale
    from metaeval.llm.replies.words import Value

_CLOSERS = re.compile(r"(?:!|[)\]}>\"'”’」。、；…]|\.(?![0-9.])){1,9}(?![\w+-])")
_GLOSS = re.compile(r" ?[(\[](?P<gloss>[^()\[\]\n]{0,400})(?:[)\]]|$)")
_GOES_ON = re.compile(
    r"\s*$|[.;:,!|](?=\s)|\s?[—…|。、；]|[,;:](?=[\u3400-\u9fff])|\s[-–](?=\s)|[-–]\s|\s?[(\[]|[!.][\"'”’)\]]?$"
    r"|\s(?=(?:because|since|as|due|agree|disagree|strongly|somewhat|neutral|neither|slightly|overall"
    r"|(?:in|for|to) (?:me|my (?:view|opinion|eyes)))\b)"
    r"|\s?(?=(?:因为|由于|理由|原因|非常|比较|同意|不同意|很|较|文本|解释|推荐|内容|提到|说明|符合))",
    re.IGNORECASE,
)
"""What may follow a value: the end, or a mark or word that begins the reason for it."""


_LIST_OF_REASONS = re.compile(r"[.)、](?=[^\n]{0,400}?(?<![0-9])(?:2|二)[.)、])")
FEW = 3
"""Points above the lowest, from which on ``1/3`` is a rating."""
_CLOSED_BY = {"<": ">", '"': '"', "'": "'", "“": "”", "‘": "’"}
_BRACKETS = {"(": ")", "[": "]", "{": "}", **_CLOSED_BY}
_MAXIMUM = re.compile(r" ?(?:/|out of) ?(?=[0-9])")
_UNIT = re.compile(r"(?<=[0-9a-z]) (?=(?:stars?|points?)\b)", re.IGNORECASE)
_BETWEEN = re.compile(r"[ ,;|、\n]+")
_LONGEST_LIST = 2000  # characters
_BEFORE_NEXT = re.compile(r"[\s,;|/.、。,-]{0,9}(?:\band\s)?[\s*]{0,3}\Z", re.IGNORECASE)


class Reading(NamedTuple):
    """A value that was read at a place of a text."""

    value: Value
    """The number; infinite if it is on another scale; `UNCLEAR` if there are several."""
    rated: bool
    """Whether it says itself that it is a rating: ``4/5``, ``4 points``, ``四分``."""
    end: int
    """Where the value and its unit end."""
    until: int
    """Where that which was looked at after it ends."""


def read_value(text: str, at: int, scale: Scale, follows: re.Pattern[str] | None = None) -> Reading | None:
    """Read the value that stands at ``at``, or return None if none does.

    What comes after it decides too: ``3 reasons``, ``4th`` and the scale itself (``1-5``) are no values; one
    beside which stands what is not understood (``3-4``, ``4 (max 10)``, ``4 -> 2``) is unclear.

    Parameters
    ----------
    follows
        The name of the next field, which ends what belongs to the value.
    """
    match = VALUE.match(text, at)
    if match is None or says_scale(text, at, scale):
        return None
    word, end, rated = match["number"].casefold(), match.end(), match["rated"] is not None
    if _is_other_word(word, rated, text, end):
        return None
    value = number_in(word)
    maximum = match["maximum"] or match["maximum2"]
    if value is None or (maximum and scale.integer and scale.max - scale.min < FEW):
        return Reading(UNCLEAR, rated, end, end)  # 007; 0 / 1 and 1/2 name points of the scale
    if maximum is not None and number_in(maximum) != scale.max:
        value = inf  # such as 8/10 where 1 to 5 was asked for
    line = text.find("\n", end, end + FARTHEST)
    until = min(len(text), end + FARTHEST) if line < 0 else line
    if follows is not None and (following := follows.search(text, end, until)):
        until = following.start()
        rest = _BEFORE_NEXT.sub("", text[end:until], count=1)
    else:
        rest = text[end:until]
    if not _is_enclosed(text, at, rest) or not _is_understood(rest, scale, value):
        return None if is_count(text, end) else Reading(UNCLEAR, rated, end, until)
    return Reading(value, rated, end, until)


def _is_enclosed(text: str, at: int, rest: str) -> bool:
    """Say whether each bracket or quotation mark that touches a value has its other half."""
    opening = text[at - 1] if at else ""
    if opening in _CLOSED_BY and not rest.startswith(_CLOSED_BY[opening]):
        return False
    if opening in _BRACKETS and _BRACKETS[opening] not in rest:
        return False
    before = text[max(0, at - FARTHEST) : at].rpartition("\n")[2]
    for first, last in _BRACKETS.items():
        opened = before.count(first) - (before.count(last) if first != last else 0)
        if rest.startswith(last) and (opened < 1 or (first == last and opened % 2 == 0)):
            return False
    return True


def _is_understood(rest: str, scale: Scale, value: float) -> bool:
    """Say whether the text after a value leaves the value as it is."""
    at = 0
    while True:
        if closers := _CLOSERS.match(rest, at):
            at = closers.end()
        gloss = _GLOSS.match(rest, at)
        if gloss is None:
            break
        if not is_gloss(gloss["gloss"], scale, value):
            return False
        at = gloss.end()
    ended = at > 0 and rest[at - 1] in ".!。…" and not re.match(r"[^\s\u3400-\u9fff]", rest[at : at + 1])
    if not ended and not _GOES_ON.match(rest, at):
        return False
    return is_reason(rest[at - ended :], scale, value)


def _is_other_word(word: str, rated: bool, text: str, end: int) -> bool:
    """Say whether a number is no value: 十分 is "very", and ``1. … 2. …`` counts reasons."""
    if word == "十" and rated:
        return True
    if word in HAN and not rated and text[end : end + 1] == "、":
        return True
    return not rated and word in ("1", "一") and _LIST_OF_REASONS.match(text, end) is not None


def bare_value(text: str, scale: Scale) -> Value:
    """Return the value that a text is, without anything else, or `UNCLEAR`."""
    found = read_value(text, 0, scale)
    return found.value if found is not None and found.end == len(text) else UNCLEAR


def whole_value(text: str, scale: Scale) -> Value:
    """Return the value that a short text gives, or `UNCLEAR`."""
    found = read_value(text.strip(), 0, scale)
    return UNCLEAR if found is None else found.value


def listed_values(text: str, scale: Scale) -> list[Value] | None:
    """Return the values of a list such as ``3 4 4 2``, ``[3, 4, 4, 2]`` or ``3/5, 4/5``; else None."""
    unbroken = all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}", "<>"))
    unbroken = unbroken and not any(text.count(quote) % 2 for quote in "\"'")
    text = _UNIT.sub("-", _MAXIMUM.sub("/", text.strip().strip("[](){}<> .。!\"'")))
    if len(text) > _LONGEST_LIST or not unbroken:
        return None
    values: list[Value] = []
    for item in _BETWEEN.split(text):
        value = bare_value(item, scale)
        if value is UNCLEAR:
            return None
        values.append(value)
    return values
