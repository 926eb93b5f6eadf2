"""How replies write names and numbers: the names of fields, and the numbers of a scale."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.base.records import Scale
    from metaeval.llm.replies.fields import Field

ASPECT_ALIASES: Mapping[str, tuple[str, ...]] = {
    "persuasiveness": ("persuasive", "persuasion", "convincingness", "说服力", "说服性", "説服力"),
    "transparency": ("transparent", "透明度", "透明性", "透明"),
    "accuracy": ("accurate", "准确性", "准确度", "准确率", "精确性", "準確性"),
    "satisfaction": ("satisfied", "满意度", "满意程度", "满意", "滿意度"),
}
"""Aspect → its other names; the aspects are those of the RecSys 2024 study."""
_ANY_NAMES = (
    *("score", "rating", "grade", "star", "answer", "response", "result", "评分", "打分", "得分", "分数"),
    *("bewertung", "punktzahl", "puntuación", "calificación", "valutazione", "punteggio"),
)
ANY_NAME = rf"(?:{'|'.join(_ANY_NAMES)})s?"
"""What one field may be called whatever its name, in the languages of the data that are there."""
LEAD = r"[\s>#•·*|_`\"'(\[-]*"
"""Marks before a name or a value at the beginning of a line."""

_SUFFIX = r"(?:scores?|ratings?|评分|得分|分数)"
_MARKS = r"[*_`\"' ]*"
_BEGINS = r"(?:^|(?<=[.!?;,|:()<>。，；*#•·-])|(?<=\band ))[*_`\"'#>•·\- ]*"
_BEFORE_VALUE = (
    rf"{_MARKS}(?:\((?P<aside>[^()\n]{{0,40}})\))?{_MARKS}"
    r"(?:[:=|(>]|->|→|[-–—](?=[ –—-])|\bis\b|\bas\b|为|是|(?<=[^\x00-\x7f]))[*_`\"' (]*(?:an? )?$"
)
_PUNCTUATION = re.compile(r"[\s_\-.:*\"'`]+")

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_HAN = "零一二三四五六七八九十"
_VALUES = {said: float(n) for words in (_WORDS, _HAN) for n, said in enumerate(words)} | {"两": 2.0}
_WORD = rf"\b(?:{'|'.join(f'[{w[0]}{w[0].upper()}]{w[1:]}' for w in _WORDS)})\b"
_PLAIN: dict[int, int | str | None] = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full width
    | dict.fromkeys(map(ord, "\u3000\u00a0\u2007\u2008\u2009\u202f\t\u2028\x0c\u2062"), " ")
    | dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\ufe0f"), None)
    | {ord("−"): "-", ord("⁄"): "/", ord("∕"): "/", ord("\r"): "\n"}
)
_LATEX = re.compile(r"\\(?:text|textbf|mathbf)\{([^{}\\]{0,999})\}")
_BOXED = re.compile(r"\\boxed\{([^{}\\]{0,999})\}")
_STARS = re.compile(r"(?<![0-9] )(?<![0-9])(?P<given>[★⭐](?: ?[★⭐]){0,9})(?P<left>☆{0,9})")

NUMBER = re.compile(
    # Not a part of a word, of a decimal, or of a name such as GPT-4.
    rf"(?<![A-Za-z0-9_.,/])(?<![A-Za-z0-9]-)(?P<number>[+-]?[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?"
    rf"|{_WORD}|[{_HAN}两](?=[分星颗]))"
    r"(?P<stars>[- ]?stars?\b|[颗个]?星(?!半)| ?★)?(?:[- ]?(?:points?|pts)\b|分(?![制之])|点(?![0-9]))?"
    rf"(?: ?\(?(?:/|out of|of|von|de|sur|su) ?(?P<top>[0-9]{{1,9}}\b|(?<=out of ){_WORD})"
    rf"|(?:-| - | ?(?:–|—|―|~|→|/|\.\.+|\bto\b|\bor\b|到|至) ?)(?P<range>[0-9]{{1,9}}|{_WORD}))?"
    r"(?P<of_stars> ?stars?\b)?(?: ?points?\b|分)?"
)
"""A number with its unit, its top (``4 out of 5``) or the other end of a range (``3-4``)."""
_LIKELY = re.compile(f"[0-9{_HAN}两]")  # one set of characters is searched for ten times as fast
_ENDS = re.compile(
    r"[ )]*(?:$|\n|[.!](?![0-9\w])|[,;:](?![0-9])|[|*\"()\[\]。，；、<]|'(?!\w)|[-–—](?= |$)"
    r"|(?:because|since|as|for|in)\b)"
)


class Names:
    """The names of fields and their aliases; a name that would stand for two fields stands for neither.

    ``line`` is the pattern of a name at the beginning of a line, with what stands between it and a value;
    ``alone`` that of a line that holds a name and nothing else.
    """

    def __init__(self, fields: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        self.fields = tuple(name for name, _ in fields)
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for name, aliases in fields:
            for said in (name, *aliases):
                owners[_key(said)].add(name)
        owners |= {_key(name): {name} for name in self.fields}  # its own name is stronger than an alias
        self._field = {key: next(iter(of)) for key, of in owners.items() if key and len(of) == 1}
        spelled = {tidy(said).strip(" .:。") for name, aliases in fields for said in (name, *aliases)}
        words = [
            re.split(r"[\s_-]+", s) for s in sorted(spelled, key=len, reverse=True) if _key(s) in self._field
        ]
        name = "|".join(r"[ _-]*".join(map(re.escape, parts)) for parts in words) or "(?!)"
        named = (
            r"(?:(?P<final>final(?:ly)?|最终|最后)|my|the|overall|total|综合|总体)? ?(?:(?:my|the|overall) )?"
            rf"(?:(?P<name>{name})(?:[ _]?{_SUFFIX})?|{ANY_NAME})(?: (?:for|of|as)(?: [^\W\d_]+){{1,5}})?"
        )
        numbered = rf"{LEAD}(?:[0-9]{{1,2}}[.)] *)?{_MARKS}"
        self._head = re.compile(rf"{_BEGINS}{named}{_BEFORE_VALUE}", re.IGNORECASE)
        self._mentions = tuple({*(parts[0].casefold() for parts in words), *_ANY_NAMES})
        self.line = re.compile(rf"{numbered}(?P<name>{name}){_MARKS}[:=][*_` ]*", re.IGNORECASE)
        self.alone = re.compile(rf"{numbered}{named}[\W_]*", re.IGNORECASE)

    def field(self, name: str) -> str | None:
        """Return the field that a name stands for, or None; ``Clarity score`` stands for ``clarity``."""
        key = _key(name)
        bare = re.sub(rf"{_SUFFIX}$", "", key)
        return name if name in self.fields else self._field.get(key) or self._field.get(bare)

    def before(self, left: str) -> re.Match[str] | None:
        """Return the name before a value as a match with ``name``, ``final`` and ``aside``, or None.

        Parameters
        ----------
        left
            What stands left of the value. Without a ``name``, it names whatever was asked, as ``score`` does.
        """
        low = left.casefold()
        return self._head.search(left) if any(word in low for word in self._mentions) else None


def names_of(fields: Sequence[Field]) -> Names:
    """Return the names of the fields; those that were asked for lately are kept."""
    return _names(tuple((field.name, tuple(field.aliases)) for field in fields))


def names_any(key: str) -> bool:
    """Say whether a key may name whatever was asked, such as ``score``."""
    return re.fullmatch(ANY_NAME, _key(key)) is not None


_names = functools.lru_cache(maxsize=64)(Names)


@functools.lru_cache(4096)
def _key(name: str) -> str:
    return _PUNCTUATION.sub("", tidy(name)).casefold()


def tidy(text: str) -> str:
    """Return the text in plain characters, with ``★★★☆`` as ``3/4`` and LaTeX's ``boxed{4}`` as ``[[4]]``."""
    text = text.translate(_PLAIN)
    if "\\" in text:
        text = _BOXED.sub(r"[[\1]]", _LATEX.sub(r"\1", text))
    return _STARS.sub(_counted, text) if "★" in text or "⭐" in text else text


def _counted(match: re.Match[str]) -> str:
    given = len(match["given"].replace(" ", ""))
    return f"{given}/{given + len(match['left'])}" if match["left"] else f"{given} stars"


def numbers_in(text: str) -> list[re.Match[str]]:
    """Return the matches of `NUMBER`, tried only where one may begin: that is three times as fast."""
    low = text.lower()
    starts = [match.start() for match in _LIKELY.finditer(text)]
    for word in _WORDS:
        at = low.find(word)
        while at >= 0:
            starts.append(at)
            at = low.find(word, at + 1)
    found: list[re.Match[str]] = []
    end = 0
    for start in sorted(starts):
        if start >= end:
            signed = start > end and text[start - 1] in "+-" and NUMBER.match(text, start - 1)
            if match := signed or NUMBER.match(text, start):
                found.append(match)
                end = match.end()
    return found if len(low) == len(text) else list(NUMBER.finditer(text))


def number_of(text: str) -> float:
    """Return the number that a match of `NUMBER` wrote."""
    return _VALUES[word] if (word := text.casefold()) in _VALUES else float(text)


def value_of(match: re.Match[str], scale: Scale) -> float | None:
    """Return the value that a number stands for; None if it is not one of this scale, such as ``4/10``."""
    end = match.end()
    another = match["range"] or (match["top"] and number_of(match["top"]) != scale.max)
    listed = match["number"].isalpha() and match.string[end : end + 1] == ","  # two, three problems
    return None if another or listed or not _ENDS.match(match.string, end) else number_of(match["number"])


def whole_value(text: str, scale: Scale) -> float | None:
    """Return the value at the beginning of a text that has no other number, or None."""
    found = numbers_in(tidy(text).strip(" *_`\"'"))
    return value_of(found[0], scale) if len(found) == 1 and found[0].start() == 0 else None
