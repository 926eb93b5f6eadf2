"""What a reply is asked for: a list of fields, each a number, a choice or a text."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from metaeval.base.records import Scale

Given: TypeAlias = float | str  # a number, the value of a choice, or a text

REASON, EVIDENCE = "reason", "evidence"  # of each of many rationales
THINGS = (
    r"(?:answer|article|assistant|candidate|explanation|item|list|model|option|output|passage|recommendation"
    r"|response|review|story|summary|system|text)"
)
_SIDE = re.compile(rf"^(?:the )?{THINGS} #?")  # Assistant A, Summary #1
_BULLET = re.compile(r"\s*(?:[-*•] +|[0-9]{1,2}[.)] +)?")
_BETWEEN = "|"  # the reason of a rationale and its evidence, in a line
_AROUND = "\"'“”‘’「」()[]*_`. !。"


@dataclass(frozen=True, slots=True)
class Number:
    """A number on a scale."""

    name: str
    """What the reply calls it."""
    scale: Scale = dataclasses.field(hash=False)
    aliases: tuple[str, ...] = dataclasses.field(default=(), hash=False)
    """Other names under which a reply may give it, such as its name in another language."""
    reason: bool = False
    """Whether a reply in JSON gives a reason before it, as in ``{"reason": "…", "score": 4}``."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        scale, kind = self.scale, "integer" if self.scale.integer else "number"
        value: dict[str, Any] = {"type": kind, "minimum": scale.min, "maximum": scale.max}
        if scale.integer and scale.max - scale.min < 100:  # a list is what all providers understand
            value = {"type": kind, "enum": list(range(-int(-scale.min // 1), int(scale.max // 1) + 1))}
        # Models write the keys in this order, so the reason comes first.
        return object_schema({"reason": {"type": "string"}, "score": value}) if self.reason else value


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several values, such as which of two texts is better."""

    name: str
    words: Mapping[Given, Sequence[str]]
    """Value → the words by which a reply may say it; the first is the one that is asked for."""
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self._values) < sum(len({w.casefold() for w in said}) for said in self.words.values()):
            raise ValueError(f"{self.name!r} has one word for two values: {dict(self.words)}")

    @functools.cached_property
    def _values(self) -> dict[str, Given]:
        return {w.casefold().strip(_AROUND): value for value, said in self.words.items() for w in said}

    def chosen(self, value: object) -> Given | None:
        """Return the value that a value of JSON, or what a pattern matches, is or says; or None."""
        said = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
        own = value if isinstance(value, str | float | int) and value in self.words else None
        return own if (found := self.said(tidy(said))) is None else found

    def said(self, text: str, *, side: bool = True) -> Given | None:
        """Return the value whose word a tidy text is, with ``side`` also as ``Assistant A``; or None."""
        plain = text.casefold().strip(_AROUND)
        return self._values.get(plain, self._values.get(_SIDE.sub("", plain)) if side else None)

    def named_in(self, text: str) -> set[Given | None]:
        """Return the values whose words stand anywhere in a text."""
        return {
            value
            for value, said in self.words.items()
            for word in said
            if re.search(rf"(?<!\w)(?{'' if len(word) == 1 else 'i'}:{re.escape(word)})(?!\w)", text)
        }

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        first = [said[0] for said in self.words.values()]
        if all(word.isdecimal() for word in first):
            return {"type": "integer", "enum": sorted(map(int, first))}
        return {"type": "string", "enum": first}


@dataclass(frozen=True, slots=True)
class Text:
    """A free text."""

    name: str
    evidence: tuple[str, ...] = ()
    """Tags of the parts of the prompt, each between ``<tag>`` and ``</tag>`` on lines of their own, in one of
    which it must stand word for word (``metaeval.judging.reading``). Empty: any text."""
    aliases: tuple[str, ...] = ()
    required: bool = True
    """Whether a reply without it is of no use."""
    binding: bool = True
    """Whether a reply without its evidence is of no use; if not, ``Parsed.invented`` names the field, and
    ``Parsed.unfound`` holds what was invented."""
    many: bool = False
    """Whether it is a list of rationales, each with its evidence: in JSON an object with ``reason`` and
    ``evidence``, in text a line ``reason | evidence``. The value is the evidence alone, a line for each."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        text = {"type": "string"}
        return (
            {"type": "array", "items": object_schema({REASON: text, EVIDENCE: text})} if self.many else text
        )

    def given(self, value: object) -> str | None:
        """Return what a value gives, a line for each piece of evidence; None if it cannot be used."""
        if isinstance(value, str) and self.many:
            lines = (_BULLET.sub("", line, count=1) for line in value.split("\n") if line.strip())
            pieces: list[object] = [line.rpartition(_BETWEEN)[2] for line in lines]
        elif self.many:
            listed = value if isinstance(value, list) else [] if value is None else [value]
            pieces = [of.get(EVIDENCE) if isinstance(of, dict) else of for of in listed]
        else:
            pieces = [] if value is None or value == "" else [value]
        texts = [" ".join(of.split()) if self.many else of.strip() for of in pieces if isinstance(of, str)]
        usable = len(texts) == len(pieces) and all(texts) and (texts or not self.required)
        return "\n".join(texts) if usable else None

    def texts(self, value: Given) -> list[str]:
        """Return the texts that a value holds."""
        return str(value).split("\n") if self.many else [str(value)]


Field: TypeAlias = Number | Choice | Text


def json_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """Return the JSON schema of a reply: all fields are required, no other is allowed."""
    return object_schema({field.name: field.schema for field in fields})


def object_schema(values: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with all of these properties and no other."""
    return {"type": "object", "properties": values, "required": list(values), "additionalProperties": False}


# What one field may be called whatever its name, in the languages of the data that are there.
ANY_NAME = (
    r"(?:(?:score|rating|grade|star|answer|response|result)s?|评分|打分|得分|分数|bewertung|punktzahl|puntuación"
    r"|calificación|valutazione|punteggio|ציון|דירוג|التقييم|الدرجة)"
)
LEAD = r"[\s>#•·*|_`\"'(\[-]*"  # before a name or a value at the beginning of a line
_LEFT = 100  # characters before a number that may name it, and of a heading

_SUFFIX = r"(?:scores?|ratings?|评分|得分|分数)"
_MARKS = r"[*_`\"'() ]*"
_FINAL = "final(?:ly)?|最终|最后"
# Words beside a name; words of a sentence that rates an only field; words that may state any field.
_LINKS = rf"my|the|this|its?|overall|total|an?|for|of|as|in|is|{THINGS}(?:'s)?|[该这此本的得为是评分总体综合]"
_SENTENCE = (
    r"i(?:'d)?|we|and|between|would|will|which|to|be|with|perfect|low|high|resulting|results|leading|leads"
    rf"|indicating|[我会因此所以故段篇个条份了出解释文摘要回复推荐]|{_LINKS}"
)
_SAYS = (
    r"giv(?:e|es|ing)|scoring|rate|earn(?:s|ing)|receiv(?:es|ing)|get(?:s|ting)"
    rf"|(?:is|be|making it|makes it) an?|{ANY_NAME}|[给打得]"
)
# Such words begin after a mark or a conjunction. Before a comma a sentence may have begun that denies it.
_THEN = r"(?:and|but|so|thus|hence|therefore|overall|however|finally|with)\b,?"
_AFTER = rf"(?:{_THEN}|based on [^.\n]{{1,70}},) (?=[^\W\d])"
_BEGINS = rf"(?:[.!?;|:()。；、]|,(?! ?(?:i|we|it|its|this|the|my)\b)| (?:[-–—] |{_AFTER}))"
_STATES = r"[*_`\"'#>•·\- ]*(?!(?:give|rate|would|will|be|is|of|in|to|as|for)\b)"
_BEFORE_VALUE = r"(?P<link>[:=|\[]|->|→|[-–—](?=[ –—-]))?[*_`\"' (\[]*(?:an? )?$"
_PUNCTUATION = re.compile(r"[\s_\-.:*\"'`]+")

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_HAN = "零一二三四五六七八九十"
_VALUES = {said: float(n) for words in (_WORDS, _HAN) for n, said in enumerate(words)} | {"两": 2.0}
_WORD = rf"\b(?:{'|'.join(f'[{w[0]}{w[0].upper()}]{w[1:]}' for w in _WORDS)})\b"
_MARKS_OF_DIRECTION = (0x61C, *range(0x202A, 0x202F), *range(0x2060, 0x2070))
_UNSEEN = (0xAD, 0xFE0F, 0xFEFF, *range(0x200B, 0x2010), *_MARKS_OF_DIRECTION)
_WIDE = (*range(0x2000, 0x200B), *map(ord, "\u00a0\u3000\u202f\u205f\t\u2028\u2029\x0b\x0c"))
_PLAIN: dict[int, int | str | None] = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full width
    | dict.fromkeys(_WIDE, " ")
    | dict.fromkeys(_UNSEEN, None)
    | {ord("−"): "-", ord("⁄"): "/", ord("∕"): "/", ord("\r"): "\n", ord("İ"): "I"}
)
BLANKS = dict.fromkeys((*_WIDE, *_UNSEEN), " ")
"""A blank for each blank of any width and each mark that is not seen, as of the direction of writing."""
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
_MINUS = re.compile(r"[-–—‑]\s*$")  # or a dash
_LIKELY = re.compile(f"[0-9{_HAN}两]")  # one set of characters is searched for ten times as fast
_ENDS = re.compile(
    r"[ )]*(?:$|\n|[.!](?![0-9\w])|[,;:](?![0-9])|[|*\"()\[\]。，；、<]|'(?!\w)|[-–—](?= |$)"
    r"|(?:because|since|as|for|in)\b)"
)


class Names:
    """The names of fields and their aliases; a name that would stand for two fields stands for neither."""

    def __init__(self, fields: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        self.fields = tuple(name for name, _ in fields)
        self.only = self.fields[0] if len(fields) == 1 else None
        owners: defaultdict[str, set[str]] = defaultdict(set)
        for name, aliases in fields:
            for said in (name, *aliases):
                owners[_key(said)].add(name)
        owners |= {_key(name): {name} for name in self.fields}  # its own name is stronger than an alias
        self._field = {key: next(iter(of)) for key, of in owners.items() if key and len(of) == 1}
        spelled = {tidy(said).strip(" .:。") for name, aliases in fields for said in (name, *aliases)}
        longest_first = (s for s in sorted(spelled, key=len, reverse=True) if _key(s) in self._field)
        split = (map(re.escape, re.split(r"[\s_-]+", said)) for said in longest_first)
        name = "|".join(map(r"[ _-]*".join, split)) or "(?!)"
        says, links = (_SAYS, _SENTENCE) if self.only else (ANY_NAME, _LINKS)
        named = rf"(?:{name.lower()})(?:[ _]?{_SUFFIX})?"
        # As many words as there are: what is found ahead is not taken back, so that no text takes long.
        words = rf"(?=(?P<words>(?:(?:{named}|{_FINAL}|{says}|{links})(?![a-z]){_MARKS})*))(?P=words)"
        numbered = rf"{LEAD}(?:[0-9]{{1,2}}[.)] *)?{_MARKS}"
        self._word = re.compile(
            rf"(?:(?P<name>{named})|(?P<final>{_FINAL})|(?P<says>{says})|{links})(?![a-z])"
        )
        self._first = re.compile(rf"(?:{_AFTER})?{_STATES}{words}{_BEFORE_VALUE}")
        self._place = re.compile(rf"{_BEGINS}{_STATES}{words}{_BEFORE_VALUE}")
        self._alone = re.compile(rf"{numbered}{words}[\W_]*")
        self.line = re.compile(rf"{numbered}(?P<name>{name}){_MARKS}[:=][*_` ]*", re.IGNORECASE)

    def field(self, name: str) -> str | None:
        """Return the field that a name stands for, or None; ``Clarity score`` stands for ``clarity``."""
        key = _key(name)
        bare = re.sub(rf"{_SUFFIX}$", "", key)
        return name if name in self.fields else self._field.get(key) or self._field.get(bare)

    def before(self, line: str, at: int) -> dict[str, str]:
        """Return what stands before a value in a line of lower case: ``name``, ``says``, … or ``other``."""
        first = self._first.match(line, 0, at) if at <= _LEFT else None
        match = first or self._place.search(line, max(0, at - _LEFT), at)
        return self._parts(match) if match else {"other": " "}

    def heading(self, line: str) -> dict[str, str] | None:
        """Return what a line names that holds a name and nothing else."""
        match = self._alone.fullmatch(line.lower()) if len(line) < _LEFT else None
        parts = self._parts(match) if match else {}
        return parts if "name" in parts or "says" in parts else None

    def _parts(self, match: re.Match[str]) -> dict[str, str]:
        found = (match, *self._word.finditer(match["words"]))
        return {k: v for part in found for k, v in part.groupdict().items() if v}


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
    starts += [match.start() for word in _WORDS if word in low for match in re.finditer(word, low)]
    found: list[re.Match[str]] = []
    for start in sorted(starts):
        end = found[-1].end() if found else 0
        if start >= end:
            signed = start > end and text[start - 1] in "+-" and NUMBER.match(text, start - 1)
            found += [match] if (match := signed or NUMBER.match(text, start)) else []
    return found


def number_of(text: str) -> float:
    """Return the number that a match of `NUMBER` wrote."""
    return _VALUES[word] if (word := text.casefold()) in _VALUES else float(text)


def rises(match: re.Match[str]) -> bool:
    """Say whether a match of `NUMBER` is a range, such as ``3-4``; ``6-1`` is the result of a match."""
    return match["range"] is not None and number_of(match["number"]) < number_of(match["range"])


@functools.lru_cache(64)
def range_of(scale: Scale) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of what may be a scale, and of all that says it, such as ``On a scale of 1 to 5:``."""
    words = [f"|{_WORDS[int(end)]}" if 0 <= end <= 10 else "" for end in (scale.min, scale.max)]
    low = rf"(?:{re.escape(f'{scale.min:g}')}{words[0]})"
    high = rf"(?:{re.escape(f'{scale.max:g}')}{words[1]})"
    ends = rf"(?<![\w.,/-]){low}(?: - |-| ?(?:–|—|~|→|\.\.+|\bto\b|到|至) ?){high}(?![\w/]|[.,]\d)"
    whole = rf"[\[(]?(?:\b[Oo]n )?(?:\b(?:an?|the) )?(?:\b[Ss]cale (?:of |from )?)?{ends}[\])]?(?: scale\b)?"
    return re.compile(rf"{low} ?[^ ]{{1,3}} ?{high}"), re.compile(rf"(?m)^[ \t]*{whole}[ ,:]*|{whole}")


def value_of(match: re.Match[str], scale: Scale) -> float | None:
    """Return the value that a number stands for; None if it is not one of this scale, such as ``4/10``."""
    end = match.end()
    minus = scale.min < 0 and _MINUS.search(match.string[: match.start()])
    another = match["range"] or (match["top"] and number_of(match["top"]) != scale.max)
    listed = match["number"].isalpha() and match.string[end : end + 1] == ","  # two, three problems
    clear = not (another or listed or minus) and _ENDS.match(match.string, end)
    return number_of(match["number"]) if clear else None


def whole_value(text: str, scale: Scale) -> float | None:
    """Return the value at the beginning of a text that has no other number, or None."""
    found = numbers_in(tidy(text).strip(" *_`\"'"))
    return value_of(found[0], scale) if len(found) == 1 and found[0].start() == 0 else None
