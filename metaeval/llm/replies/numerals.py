"""The numbers of a text, and what explains them.

An unexplained number may be another value, another scale or a correction. Explained are the value itself, the
scale that was asked for, and counts such as ``2 friends``.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from metaeval.llm.replies.finder import words_of
from metaeval.llm.replies.words import FARTHEST, WORDS, number_in

if TYPE_CHECKING:
    from metaeval.base.records import Scale

_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|"
    "seventy|eighty|ninety|hundred|and a half|halves|thirds|quarters|fifths|tenths"
)
NUMBER = re.compile(
    r"(?P<digits>[0-9]{1,15}(?:[.,'’:/][0-9]{1,9}){0,3})|[\u00bc-\u00be\u2150-\u218b\u2460-\u249b★☆⭐]"
    rf"|\b(?:{_NUMBER_WORDS})\b|\b(?:one|zero)\b(?=\s*(?:$|[.,;:!?)/]|points?|stars?|out of|half|hundred))"
    r"|[零〇一二三四五六七八九十两百半](?=[分星点颗]|\s*(?:$|[,.;:!?。、)]))",
    re.IGNORECASE,
)
_NO_NOUN = (
    r"(?:is|was|has|does|seems?|looks|feels|fits|suits|appears|sounds|makes|means|works|goes|comes|remains|"
    r"stands|equals|says|gets|needs|applies|reflects|captures|represents|describes|indicates|denotes|points?|"
    r"stars?|marks?|scores?|ratings?|as|this|its|plus|minus|yes|always|perhaps|thus|unless|less|towards|else|"
    r"times|percents?|pts|grades?|levels?|notches|given|for|because|since|with|and|but|if|when|would|might|due|"
    r"overall|than|rather|instead|after|before|in|on|at|by|to|of|or|considering|considers|despite)\b"
)
_COUNTED = re.compile(
    # 2 friends, 21,503 people, 61% of them, a 56-year-old, 1980s, 4th
    r"(?: %)?(?:(?:%| percent)? of (?:the|them|its|my|their|these|those|all|people|users)\b"
    r"|-(?:year|minute|hour|part|person|day)|(?:st|nd|rd|th|s)\b(?! (?:score|rating))"
    rf"| (?:(?:or|to) (?:[0-9]+|two|three|four|five|six) )?(?!{_NO_NOUN})"
    rf"(?:[a-z][a-z'-]{{2,20}} (?!{_NO_NOUN})){{0,2}}"
    r"(?:[a-z'-]{2,20}(?<!s)s\b|people\b|men\b|women\b|children\b)"
    r"|[个部位名人次条种年月日岁万千亿集本首家项类场处句段%])",
    re.IGNORECASE,
)
_HERALD = re.compile(
    r"(?:^|[=→>(\[~<≥≤+*/|-]|\b(?:to|or|now|then|actually|no|not|but|say|give|gave|be|it|out of|max|"
    r"maximum|min|minimum|score|rating|from|was|so|rather|make|than|just|only|minus|plus))\s*$",
    re.IGNORECASE,
)
_REFERRED = re.compile(
    r"(?:\b(?:explanation|text|option|version|recommendation|paragraph|sentence|aspect|film|movie|season|part|"
    r"chapter|episode|step|summary|article|passage) ?|文本|解释|推荐|第)$",
    re.IGNORECASE,
)
FIRST_NUMBER = re.compile(rf"\W{{0,9}}(?:{NUMBER.pattern})", re.IGNORECASE)
_SCALE_SAID = re.compile(
    r"(?:\b(?:out of|max(?:imum)?(?: of| is)?|(?:scale|ranges?|ranging) (?:of|is|from)?"
    r"(?: ?[0-9]+ ?(?:-|–|to))?)|^\W*of|/|满分(?:为|是)?)\W{0,3}[0-9]"
    r"|(?:[0-9]|seven|nine|ten|twenty|hundred)(?:[- ]point| ?分制)|\bfrom [0-9]+ (?:up )?to [0-9]"
    r"|\b(?:scale|range)\w?\W+(?:\w+\W+){0,3}[0-9]"
    r"|[(\[][01] ?(?:-|–|to|\.\.+) ?[0-9]"
    r"|(?<![0-9])[0-9]{1,3} (?:is|being|=|means|meaning) "
    r"(?:the )?(?:best|highest|max\w*|perfect|excellent|top)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"[0-9]")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")


def _in_words(number: float) -> str:
    """Return the alternative of a pattern that is the word of a number, if it has one."""
    return "".join(rf"|\b{word}\b" for word, of in WORDS.items() if of == number)


@functools.lru_cache(maxsize=32)
def _scale_said(low: float, high: float) -> re.Pattern[str]:
    """Return the pattern of the ways in which a reply repeats the scale."""
    a, b = (rf"(?:{re.escape(f'{x:g}')}(?:\.0+)?{_in_words(x)})" for x in (low, high))
    dash = r"(?:-|–|—|~|to|and|through|至|到|\.\.+)"
    return re.compile(
        rf"(?:(?<![0-9.,/-]){a} ?(?:\([^()0-9]{{0,60}}\) ?)?{dash} ?{b}(?: ?\([^()0-9]{{0,60}}\))?"
        rf"|(?:out of|of a (?:possible|maximum)|/|满分(?:为|是)?) ?{b}"
        rf"|(?<![0-9.]){b}(?:[- ](?:point|star)s? scale| ?分制)"
        rf"|(?:perfect|maximum|max|highest|full|top)(?: possible)?"
        rf"(?: (?:score|rating|mark)s?(?: of| is|:))? {b}"
        rf"|(?:one|a|half a|(?<![0-9.]){a}) points? (?:deducted|off|lost|taken off))(?![0-9/%]|[.,][0-9])",
        re.IGNORECASE,
    )


@functools.lru_cache(maxsize=32)
def _anchor_said(low: float, high: float) -> re.Pattern[str]:
    """Return the pattern of an end of the scale with its meaning, as in ``where 1 is poor``."""
    ends = "|".join(re.escape(f"{x:g}") for x in (low, high))
    return re.compile(
        rf"(?<![0-9.,/-])\b(?:{ends})"
        rf"(?= ?(?:=|:|(?:is|means?|being|meaning|stands? for|indicat\w+|represent\w*|for)\b))",
        re.IGNORECASE,
    )


def loose_numbers(text: str, scale: Scale, value: float | None) -> list[str]:
    """Return the numbers of a text that nothing explains."""
    text = without_scale(text, scale)
    found = []
    for token in NUMBER.finditer(text):
        before, after = text[max(0, token.start() - 24) : token.start()], token.end()
        said = token.group()
        if value is not None and number_in(said) == value and not _unit_follows(text, after):
            continue
        heralded = _HERALD.search(before) is not None
        if not heralded and (_COUNTED.match(text, after) or said.casefold() == "one"):
            continue  # "the best one"
        if _REFERRED.search(before) and not _unit_follows(text, after):
            continue
        if before[-1:] in "$€£¥" and before:
            continue
        if _YEAR.fullmatch(said) and not heralded and scale.max < 1900:
            continue
        found.append(said)
    return found


def _may_say_scale(text: str) -> bool:
    """Say whether a text has what every way to name a scale has: a number, or points."""
    if _DIGIT.search(text):
        return True
    plain, words = words_of(text)
    return not words.isdisjoint(WORDS) or "point" in plain or "分制" in plain


def without_scale(text: str, scale: Scale) -> str:
    """Return the text without the scale that was asked for, and without what its ends mean."""
    if not _may_say_scale(text):
        return text
    text, times = _scale_said(scale.min, scale.max).subn(" ", text)
    return _anchor_said(scale.min, scale.max).sub(" ", text) if times else text


def _unit_follows(text: str, at: int) -> bool:
    return (
        re.match(r" ?(?:%|‰|percent|out of|/|of [0-9]|成|折)", text[at : at + 12], re.IGNORECASE) is not None
    )


def is_count(text: str, at: int) -> bool:
    """Say whether a number that ends at ``at`` counts something: ``3 reasons``, ``4th``."""
    return _COUNTED.match(text, at) is not None


def says_scale(text: str, at: int, scale: Scale) -> bool:
    """Say whether the scale that was asked for stands at ``at``, such as ``1-5``."""
    return _scale_said(scale.min, scale.max).match(text, at) is not None


def says_other_scale(text: str, scale: Scale) -> bool:
    """Say whether a text names a scale that was not asked for."""
    text = text[-FARTHEST:]
    return _may_say_scale(text) and _SCALE_SAID.search(without_scale(text, scale)) is not None
