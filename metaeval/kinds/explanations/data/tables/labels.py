"""Answers of people: which number a label of a questionnaire stands for, and the scale of the answers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MISSING = frozenset(
    {
        *("n/a", "na", "n.a.", "#n/a", "nan", "none", "null", "-", "--", "?", "don't know", "do not know"),
        *("i don't know", "i do not know", "not sure", "unsure", "no answer", "prefer not to say"),
        *("not applicable", "can't say", "k.a.", "k. a.", "keine angabe", "weiß nicht", "weiss nicht"),
        *("n/d", "n.d.", "n. d.", "nd", "n.a", "s/o", "ns/nc", "sin dato", "sin respuesta", "no sabe"),
        *("sans réponse", "sans avis", "ne sait pas", "nsp", "sans objet", "nvt", "n.v.t.", "weet niet"),
        *("geen antwoord", "geen mening", "non so", "nessuna risposta", "não sei", "sem resposta"),
        *("不知道", "无", "\u2013", "\u2014"),
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
    "strongly disagree|somewhat disagree|neutral|somewhat agree|strongly agree",
    "strongly disagree|disagree|somewhat disagree|neutral|somewhat agree|agree|strongly agree",
    "very dissatisfied|dissatisfied|neutral|satisfied|very satisfied",
    "very unlikely|unlikely|neutral|likely|very likely",
    "extremely dissatisfied|somewhat dissatisfied|neutral|somewhat satisfied|extremely satisfied",
    "extremely unlikely|somewhat unlikely|neutral|somewhat likely|extremely likely",
    "definitely not|probably not|neutral|probably yes|definitely yes",
    "very poor|poor|fair|good|very good",
    "poor|fair|good|very good|excellent",
    "terrible|poor|fair|good|excellent",
    "very bad|bad|ok|good|very good",
    "never|rarely|sometimes|often|always",
    "never|sometimes|about half the time|most of the time|always",
    "not at all|slightly|moderately|very|extremely",
    "not at all|a little|somewhat|quite a bit|very much",
    "none at all|a little|a moderate amount|a lot|a great deal",
    "nein|ja",
    "stimme gar nicht zu|stimme eher nicht zu|teilsteils|stimme eher zu|stimme voll zu",
    "trifft gar nicht zu|trifft eher nicht zu|teilsteils|trifft eher zu|trifft voll zu",
    "否|是",
    "非常不同意|不同意|一般|同意|非常同意",
)
"""Labels from the lowest on; the first of two is 0, of more 1."""
_SAME = {
    "neither agree nor disagree": "neutral",
    "undecided": "neutral",
    "neither": "neutral",
    "neither likely nor unlikely": "neutral",
    "neither satisfied nor dissatisfied": "neutral",
    "might or might not": "neutral",
    "slightly agree": "somewhat agree",
    "slightly disagree": "somewhat disagree",
    "okay": "ok",
    "average": "fair",
    "stimme überhaupt nicht zu": "stimme gar nicht zu",
    "stimme voll und ganz zu": "stimme voll zu",
    "trifft überhaupt nicht zu": "trifft gar nicht zu",
    "trifft voll und ganz zu": "trifft voll zu",
    "中立": "一般",
} | {
    f"{much} {what}": f"strongly {what}"
    for much in ("fully", "totally", "completely")
    for what in ("agree", "disagree")
}
_NUMBERED = re.compile(
    r"\(?(-?\d+)\)?\s*[-\u2013\u2014:.=)]\s*\D.*|(\d+)\s+(?:stars?|points?)|(\d+)\s*\(\D.*\)|\D.*\((-?\d{1,3})\)"
    r"|(\d+)\s*(?:/|out of|von)\s*\d+|AO?(\d{1,2})",  # A1 and AO01 are codes of LimeSurvey
    re.IGNORECASE,
)
_OF = re.compile(r"(\d+)\s*(?:/|out of|von)\s*(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_CLEAR, _MOSTLY = 10, 0.9  # numbers, and share of numbers, from which a column is one of numbers
_MOST = 15  # different answers


def numbers_of(texts: Sequence[str]) -> dict[str, int | None] | None:
    """Return the number of each answer in words, and None for a word that is no answer.

    Nothing if all are numbers, apart from words for no answer; None if they are no answers at all.
    """
    answers = dict.fromkeys(t for t in texts if t.casefold() not in MISSING)
    words = {t: None for t in texts if t.casefold() in MISSING}
    if not answers:
        return None
    numbers = sum(bool(_NUMBER.fullmatch(t)) for t in texts)
    if all(_NUMBER.fullmatch(t) for t in answers) or numbers >= max(_CLEAR, _MOSTLY * len(texts)):
        return {}  # whoever reads the numbers says which cells hold none
    if len(answers) <= _MOST and all(_NUMBER.fullmatch(t) or _NUMBERED.fullmatch(t) for t in answers):
        found = {t: _NUMBERED.fullmatch(t) for t in answers}
        return {t: int(next(filter(None, m.groups()))) for t, m in found.items() if m} | words
    if all(set(t) <= {"★", "*", "☆"} for t in answers):
        return {t: len(t) - t.count("☆") for t in answers} | words
    rungs, n = _rungs([*answers])
    return {t: at + (n > 2) for t, at in rungs.items()} | words if rungs else None


def say_their_numbers(words: Iterable[str]) -> bool:
    """Say whether each label has its number in it, such as ``4 - Agree``; a code may run either way."""
    return all(re.search(r"\d|★|\*", w) and not re.fullmatch(r"AO?\d+", w) for w in words)


def _plain(text: str) -> str:
    plain = re.sub(r"[^\w ]", "", text.casefold()).strip()
    return _SAME.get(plain, plain)


def _rungs(texts: Sequence[str]) -> tuple[dict[str, int], int]:
    """Return each label's place from the lowest, and how many a questionnaire has with these; or nothing.

    What all labels share may be left out: ``not useful at all``, ``very useful``.
    """
    plain = {t: _plain(t) for t in texts}
    shared = set.intersection(*(set(p.split()) for p in plain.values())) if plain else set()
    short = {t: " ".join(w for w in p.split() if w not in shared) for t, p in plain.items()}
    for named in (plain, short):
        for ladder in (text.split("|") for text in _LADDERS):
            if named and {*named.values()} <= {*ladder}:
                return {t: ladder.index(v) for t, v in named.items()}, len(ladder)
    return {}, 0


def scale_of_labels(words: Sequence[str]) -> tuple[float, float] | None:
    """Return the scale of labels of a questionnaire, or such as ``4/5``; None if they have other numbers."""
    if words and all(tops := [_OF.fullmatch(w) for w in words]):
        return scale_of([float(n) for m in tops if m for n in m.groups()])
    _, n = _rungs(words)
    return None if not n else (0, 1) if n == 2 else (1, n)


SCALES = (
    *((0, 1), (1, 3), (1, 5), (0, 5), (1, 7), (0, 7), (1, 10), (0, 10)),
    *((-2, 2), (-3, 3), (0, 100)),
)
_NO_SLIDER = 10  # the top of scales that are not drawn as sliders
_SURE = 30  # ratings from which a shorter scale that is used whole is one of its own


def scale_of(numbers: Sequence[float]) -> tuple[float, float]:
    """Return the usual scale that holds numbers, or their ends."""
    low, high = min(numbers), max(numbers)
    return next((s for s in SCALES if s[0] <= low and high <= s[1]), (low, high if high > low else low + 1))


def scales_of(ratings: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    """Return the scale of each aspect: that of all, unless an aspect clearly has its own."""
    counts = Counter(scale_of(v) for v in ratings.values() if v)
    common = max(counts, key=lambda s: (s[1] - s[0], counts[s])) if counts else (1, 5)
    found = {}
    for aspect, values in ratings.items():
        own = scale_of(values) if values else common
        whole = set(values) >= {float(n) for n in range(int(own[0]), int(own[1]) + 1)}
        outside = bool(values) and not common[0] <= min(values) <= max(values) <= common[1]
        slider = common[1] > _NO_SLIDER >= own[1]
        found[aspect] = own if outside or slider or (whole and len(values) >= _SURE) else common
    return found
