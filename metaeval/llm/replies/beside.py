"""The text beside a value in a reply, and whether it changes the value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from metaeval.llm.replies.numerals import FIRST_NUMBER, loose_numbers, says_other_scale, without_scale
from metaeval.llm.replies.phrases import (
    CORRECTS,
    DOUBTS,
    HARMLESS,
    HEAD,
    LEADS_ELSEWHERE,
    OWN,
    SENTENCE,
    SPEAKS_OF_SCORES,
    TAKES_BACK,
    TURNS,
)
from metaeval.llm.replies.words import FARTHEST, number_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from metaeval.base.records import Scale


_BRIEF = re.compile(r"\W*(?:[^\W\u3400-\u9fff]+\W*){0,2}[\u3400-\u9fff]{0,4}\W*")
_TITLE = re.compile(r"\W*(?:[^\W\u3400-\u9fff]+\W*){0,3}[\u3400-\u9fff]{0,6}[^.!?。]?\s*")


def is_gloss(text: str, scale: Scale, value: float | None) -> bool:
    """Say whether a text in brackets leaves the value or the name before it as it is."""
    text = without_scale(text, scale)
    if not any(map(str.isalpha, text)):
        return not text.strip()  # (?)
    return not (TURNS.search(text) or DOUBTS.search(text) or loose_numbers(text, scale, value))


def is_reason(text: str, scale: Scale, value: float) -> bool:
    """Say whether the text after a value on its line is a reason for it, and no other value."""
    first, *others = SENTENCE.split(text[:FARTHEST], maxsplit=3)
    if is_brief(first) and DOUBTS.search(first):
        return False
    if FIRST_NUMBER.match(first) or TURNS.search(first) or loose_numbers(first, scale, value):
        return False
    return not any(speaks_of_another(s, scale, [value], after=True) for s in others[:2])


def last_sentence(text: str) -> str:
    """Return what stands after the last full stop."""
    return SENTENCE.split(text[-FARTHEST:].replace("’", "'").strip("`") + " ")[-1]


def leads_elsewhere(text: str) -> bool:
    """Say whether a text before values, such as ``For example:``, says that they are no answer."""
    plain = HARMLESS.sub(" ", last_sentence(text))
    return LEADS_ELSEWHERE.search(plain) is not None


def leads_here(text: str) -> bool:
    """Say whether what stands before the first value of a line leaves it an answer."""
    lead = text.strip(" `")
    if lead.endswith((":", "：")) and not OWN.search(lead[-FARTHEST:]):
        return False
    return not leads_elsewhere(lead)


def is_brief(text: str) -> bool:
    """Say whether a text is too short for a reason, such as ``the maximum``."""
    return len(text) < 40 and _BRIEF.fullmatch(text) is not None


def corrects(text: str, scale: Scale) -> bool:
    """Say whether a remark takes a value back for another."""
    return any(CORRECTS.search(s) and loose_numbers(s, scale, None) for s in sentences_of(text[:FARTHEST]))


def is_status(text: str) -> bool:
    """Say whether a short text beside values says that they are no answer, such as ``draft``."""
    return any(p.search(text[:FARTHEST]) for p in (TURNS, DOUBTS, TAKES_BACK))


def is_head(line: str) -> bool:
    """Say whether a line introduces the lines below it."""
    return HEAD.search(line) is not None or (len(line) < 40 and _TITLE.fullmatch(line) is not None)


def sentences_of(text: str) -> list[str]:
    """Split a text at its full stops and line ends."""
    return [s for s in SENTENCE.split(text) if s.strip()]


def takes_back(text: str) -> str | None:
    """Return the words that say of the whole reply that it gives no values, or None."""
    match = TAKES_BACK.search(text.replace("’", "'"))
    return match.group() if match else None


def speaks_of_another(
    sentence: str, scale: Scale, values: Collection[float], *, named: bool = False, after: bool = False
) -> bool:
    """Say whether a sentence without a value that was read speaks of another value.

    Parameters
    ----------
    values
        What was read of the fields that the sentence may be about; it may repeat that.
    named
        Whether it names a field.
    after
        Whether it comes after a value, where any number may be a correction.
    """
    sentence = sentence[:FARTHEST]
    correction = CORRECTS.search(sentence) is not None
    short = len(sentence.split()) < 3
    if not (correction or named or after or short or SPEAKS_OF_SCORES.search(sentence)):
        return False
    of_scale = says_other_scale(sentence, scale)
    same = next(iter(values)) if len(set(values)) == 1 else None
    for said in loose_numbers(sentence, scale, same):
        number = number_in(said)
        if (
            correction
            or number is None
            or of_scale
            or (scale.min <= number <= scale.max and number not in values)
        ):
            return True
    return False
