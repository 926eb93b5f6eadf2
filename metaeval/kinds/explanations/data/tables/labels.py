"""Answers in words: which number a label of a questionnaire stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MISSING = frozenset(
    {
        *("n/a", "na", "n.a.", "#n/a", "nan", "none", "null", "-", "--", "?", "don't know", "do not know"),
        *("i don't know", "i do not know", "not sure", "unsure", "no answer", "prefer not to say"),
        *("not applicable", "can't say"),
    }
)
"""Words that stand for no answer, in lower case."""
_LADDERS = (
    "no|yes",
    "false|true",
    "low|medium|high",
    "bad|ok|good",
    "poor|fair|good",
    "strongly disagree|disagree|neutral|agree|strongly agree",
    "strongly disagree|disagree|somewhat disagree|neutral|somewhat agree|agree|strongly agree",
    "very dissatisfied|dissatisfied|neutral|satisfied|very satisfied",
    "very unlikely|unlikely|neutral|likely|very likely",
    "very poor|poor|fair|good|very good",
    "poor|fair|good|very good|excellent",
    "very bad|bad|ok|good|very good",
    "never|rarely|sometimes|often|always",
    "not at all|slightly|moderately|very|extremely",
)
"""Labels from the lowest on; the first of two is 0, of more 1."""
_SAME = {
    "neither agree nor disagree": "neutral",
    "undecided": "neutral",
    "neither": "neutral",
    "slightly agree": "somewhat agree",
    "slightly disagree": "somewhat disagree",
    "okay": "ok",
    "average": "fair",
} | {
    f"{much} {what}": f"strongly {what}"
    for much in ("fully", "totally", "completely")
    for what in ("agree", "disagree")
}
_NUMBERED = re.compile(
    r"\(?(-?\d+)\)?\s*[-\u2013\u2014:.=)]\s*\D.*|(\d+)\s+(?:stars?|points?)|(\d+)\s*\(\D.*\)|\D.*\((-?\d+)\)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MOST = 15  # different answers


def numbers_of(texts: Sequence[str]) -> dict[str, int | None] | None:
    """Return the number of each answer in words, and None for a word that is no answer.

    Nothing if all are numbers, apart from words for no answer; None if they are no answers at all.
    """
    answers = dict.fromkeys(t for t in texts if t.casefold() not in MISSING)
    words = {t: None for t in texts if t.casefold() in MISSING}
    if not answers:
        return None
    if all(_NUMBER.fullmatch(t) for t in answers):
        return {}
    if len(answers) <= _MOST and all(_NUMBER.fullmatch(t) or _NUMBERED.fullmatch(t) for t in answers):
        found = {t: _NUMBERED.fullmatch(t) for t in answers}
        return {t: int(next(filter(None, m.groups()))) for t, m in found.items() if m} | words
    if all(set(t) <= {"★", "*"} for t in answers):
        return {t: len(t) for t in answers} | words
    ladder = _ladder(answers)
    first = 0 if len(ladder) == 2 else 1
    return {t: ladder.index(_plain(t)) + first for t in answers} | words if ladder else None


def _plain(text: str) -> str:
    plain = re.sub(r"[^\w ]", "", text.casefold()).strip()
    return _SAME.get(plain, plain)


def _ladder(texts: Iterable[str]) -> list[str]:
    """Return the labels, from the lowest on, of a questionnaire that has these; nothing if none has."""
    words = {_plain(t) for t in texts}
    return next((ladder for text in _LADDERS if words <= set(ladder := text.split("|"))), [])


def scale_of_labels(words: Sequence[str]) -> tuple[int, int] | None:
    """Return the scale of a questionnaire's labels; None for labels with numbers of their own."""
    ladder = _ladder(words)
    return None if not ladder else (0, 1) if len(ladder) == 2 else (1, len(ladder))
