"""What the parts of a reply look like: names of fields, and values with what may stand around them."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from metaeval.types import Scale

UNCLEAR = None
"""The claim that a field has a value which cannot be read as one number of the scale."""

Value: TypeAlias = float | None

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BLANKS = dict.fromkeys(map(ord, "\u3000\u00a0\u2007\u2009\u202f\t"), " ")
_NOTHING = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\ufe0f\r"), None)
_SIGNS = {ord("−"): "-", ord("⁄"): "/", ord("∕"): "/"}
_TABLE: dict[int, int | str | None] = {**_FULL_WIDTH, **_BLANKS, **_NOTHING, **_SIGNS}

_COUNT = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS: dict[str, float] = {word: float(number) for number, word in enumerate(_COUNT)}
_HAN = dict(zip("零一二三四五六七八九", range(10), strict=True)) | {"〇": 0, "两": 2, "十": 10}

_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]+)?"
_ONE_VALUE = (
    rf"(?P<number>{_NUMBER}|(?:{'|'.join(_WORDS)})(?![a-z])|[{''.join(_HAN)}])"
    # An Arabic numeral may go straight on with its unit; 分 before 制, 之 or 钟 is another word.
    r"(?P<rated> ?(?:/|out of|of) ?(?P<maximum>[0-9]+(?:\.[0-9]+)?)"
    r"(?: ?(?:points?|stars?|分|星))?(?![\w.]*[0-9])"
    r"|分(?![制之钟])|星(?![级期])| ?(?:points?|pts|stars?)(?: out of (?P<maximum2>[0-9]+))?\b)?"
)
"""One value, as a pattern: ``4``, ``4.5``, ``4/5``, ``4 out of 5``, ``four``, ``四``, ``4分``."""

MAY_HOLD_VALUE = re.compile(rf"[0-9{''.join(_HAN)}]|\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
"""What a text without a value does not have."""

_VALUE = re.compile(_ONE_VALUE, re.IGNORECASE)
_OTHER = re.compile(
    r" ?(?P<between>-|–|—|~|\.\.+|/|\||,|、|\bto\b|\bor\b|\band\b|至|到|或)? ?"
    rf"(?P<other>{_NUMBER}|[{''.join(_HAN)}](?=[分星\s]|$))",
    re.IGNORECASE,
)
_CLEAR = re.compile(
    r"\s*(?:$|[;:!)\]}>|\"'”’。、；…]|\.(?![0-9])|,(?! ?[0-9])|[-–—=→←(\[](?! ?[0-9])"
    r"|(?:because|since|as|due|agree|disagree|strongly|somewhat|neutral|neither|slightly)\b"
    r"|因为|理由|原因|非常|比较|同意|不同意)",
    re.IGNORECASE,
)
_LIST_OF_REASONS = re.compile(r"[.)、](?=.*?(?<![0-9])(?:2|二)[.)、])")


class Reading(NamedTuple):
    """A value that was read at a place of a text."""

    value: Value
    """The number; infinite if it is on another scale; `UNCLEAR` if there are several."""
    rated: bool
    """Whether it says itself that it is a rating: ``4/5``, ``4 points``, ``四分``."""
    end: int


def tidy(text: str) -> str:
    """Return the text with full-width characters and blanks in their plain form."""
    return text.translate(_TABLE)


def read_value(text: str, at: int, scale: Scale, follows: re.Pattern[str] | None = None) -> Reading | None:
    """Read the value that stands at ``at``, or return None if none does.

    What comes after it decides too: ``3 reasons``, ``4th`` and the scale itself (``1-5``) are no values;
    ``3-4`` and ``3 or 4`` are values that are unclear.

    Parameters
    ----------
    follows
        What else may stand after a value, after blanks: the name of the next field.
    """
    match = _VALUE.match(text, at)
    if match is None:
        return None
    word, end, rated = match["number"].casefold(), match.end(), match["rated"] is not None
    value = _number(word)
    maximum = match["maximum"] or match["maximum2"]
    if maximum is not None and float(maximum) != scale.max:
        value = inf  # such as 8/10 where 1 to 5 was asked for
    other = _OTHER.match(text, end)
    if other is not None and (not rated or (other["between"] or ",") not in ",|、"):
        ends = {value, _number(other["other"].lstrip("+-"))}
        return None if ends == {scale.min, scale.max} else Reading(UNCLEAR, rated, other.end())
    if _is_other_word(word, rated, text, end):
        return None
    if _CLEAR.match(text, end) or (follows and follows.match(text, end)):
        return Reading(value, rated, end)
    # 「4分因为…」: Chinese goes on without a blank; after a Chinese numeral that is most often another word.
    goes_on = rated and word not in _HAN and re.match(r"[\u3400-\u9fff]", text[end : end + 1])
    return Reading(value, True, end) if goes_on else None


def _is_other_word(word: str, rated: bool, text: str, end: int) -> bool:
    """Say whether a number is no value: 十分 is "very", and ``1. … 2. …`` counts reasons."""
    if word == "十" and rated:
        return True
    if word in _HAN and not rated and text[end : end + 1] == "、":
        return True
    return not rated and word in ("1", "一") and _LIST_OF_REASONS.match(text, end) is not None


def whole_value(text: str, scale: Scale) -> Value:
    """Return the value that a short text gives, or `UNCLEAR`."""
    found = read_value(text.strip(), 0, scale)
    return UNCLEAR if found is None else found.value


def _number(text: str) -> float:
    if text in _WORDS:
        return _WORDS[text]
    return float(_HAN[text]) if text in _HAN else float(text)


_SUFFIX = re.compile(r"(?:scores?|ratings?|评分|得分|分数)$")
_PUNCTUATION = re.compile(r"[\s_\-.:*\"'`]+")


class Names:
    """The names under which the fields may stand in a reply.

    Parameters
    ----------
    fields
        What was asked for, in order.
    aliases
        Other names of a field. A name that would stand for two fields stands for neither.
    """

    def __init__(self, fields: Sequence[str], aliases: Mapping[str, Iterable[str]] | None = None) -> None:
        self.fields = tuple(fields)
        owners: defaultdict[str, set[str]] = defaultdict(set)
        spellings: dict[str, str] = {}
        for field in self.fields:
            for name in (field, *(aliases or {}).get(field, ())):
                key = _key(name)
                if key:
                    owners[key].add(field)
                    spellings.setdefault(key, tidy(name).strip())
        # The name of a field itself is stronger than an alias of another one.
        for field in self.fields:
            if sum(_key(f) == _key(field) for f in self.fields) == 1:
                owners[_key(field)] = {field}
        self._field = {key: next(iter(of)) for key, of in owners.items() if len(of) == 1}
        named = sorted((spellings[k] for k in self._field), key=len, reverse=True)
        self.pattern = "(?P<name>" + "|".join(map(_pattern, named)) + ")" if named else "(?P<name>(?!))"

    def field(self, name: str) -> str | None:
        """Return the field that a name stands for, or None; ``Clarity score`` stands for ``clarity``."""
        if name in self.fields:
            return name
        key = _key(name)
        return self._field.get(key) or self._field.get(
            re.sub(r"(?:scores?|ratings?|评分|得分|分数)$", "", key)
        )


def names_of(fields: Sequence[str], aliases: Mapping[str, Iterable[str]] | None = None) -> Names:
    """Return the names of the fields; those that were asked for lately are kept."""
    others = aliases or {}
    return _names(tuple(fields), tuple(tuple(others.get(f, ())) for f in fields))


@functools.lru_cache(maxsize=64)
def _names(fields: tuple[str, ...], aliases: tuple[tuple[str, ...], ...]) -> Names:
    return Names(fields, dict(zip(fields, aliases, strict=True)))


def _key(name: str) -> str:
    return _PUNCTUATION.sub("", tidy(name)).casefold()


def _pattern(name: str) -> str:
    words = [re.escape(w) for w in re.split(r"[\s_-]+", name.rstrip(" .:。")) if w]
    return r"[ _-]*".join(words)
