"""What the lines of a reply claim about the fields."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from metaeval.llm.reply_words import MAY_HOLD_VALUE, UNCLEAR, read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from metaeval.llm.reply_words import Names, Reading, Value
    from metaeval.types import Scale

Claim: TypeAlias = "Callable[[str, Value], None]"

_SCORE = r"(?:scores?|ratings?|rated|评分|得分|分数|打分)"
_LABEL = re.compile(
    rf"(?:(?:my|the|final|overall|最终|总) ?)*(?:summary|answers?|results?|总结|汇总|答案|结果|{_SCORE})"
    r" ?(?::|=|\bis\b|为|是) ?",
    re.IGNORECASE,
)
_SCORE_LINE = re.compile(
    rf"(?:(?:my|the|final|最终) )?{_SCORE} ?(?::|=|-|\bis\b|为|是) ?[(\[<\"]?", re.IGNORECASE
)
_SCORE_INSIDE = re.compile(rf"(?:^|[.。;,、(\[–—-] ?){_SCORE} ?[:=] ?[(\[<\"]?", re.IGNORECASE)
_LAST_VALUE = re.compile(
    r"(?:^|[ (\[–—:-])(?=[^ (\[]+ ?(?:/|out of) ?[0-9.]+[)\].。 ]*$)|\| ?(?=[0-9.]+ ?\|?$)", re.IGNORECASE
)
_OTHER_TOPIC = re.compile(
    r"(?:overall|average|total|summary|conclusion|mean|综合|总体|总结|平均|总分)", re.IGNORECASE
)
_HEADING = re.compile(r"\s*(?:#|\*\*[^*]+\*\*\s*:?\s*$)")
_TAG = re.compile(r"<(?P<tag>[^\W\d][^<>/\n]{0,60})>\s*(?P<inner>[^<>\n]{0,200}?)\s*</(?P=tag)>")
_MARKUP = re.compile(r"\*+|__+|`{3}\w*|`+|<br ?/?>|\$+")
_BULLET = re.compile(
    r"(?:[#>|•●▪◦·+]|-(?= ?[^\W\d])|[0-9]{1,2}[.)、](?= *[^\W\d])|\([0-9]{1,2}\) ?"
    r"|[一二三四五六七八九十]、|(?:aspect|criterion|方面|维度) ?[0-9]{1,2} ?[-:.)]| )+",
    re.IGNORECASE,
)
_MAXIMUM = re.compile(r" ?(?:/|out of) ?(?=[0-9])")
_BLANKS = re.compile(r" +")
_BETWEEN = re.compile(r"[ ,;|、\n]+")


def without_markup(text: str) -> str:
    """Return the text without emphasis, with tags such as ``<score>4</score>`` as lines of their own."""
    return _MARKUP.sub(" ", _TAG.sub(r"\n\g<tag>: \g<inner>\n", text))


def claim_lines(raw: str, names: Names, scale: Scale, claim: Claim) -> None:
    """Tell ``claim`` every field and value that the lines of a reply name."""
    if not raw.strip():
        return
    text = without_markup(raw)
    in_order = _in_order(text.strip(), names, scale)
    if in_order is not None:
        for field, value in zip(names.fields, in_order, strict=True):
            claim(field, value)
        return
    lines = _Lines(names, scale, claim)
    for line in _headings_marked(raw):
        lines.read(*line)


def _headings_marked(raw: str) -> Iterator[tuple[str, bool]]:
    """Yield each line that says something, without markup, and whether it is written as a heading."""
    for line in _TAG.sub(r"\n\g<tag>: \g<inner>\n", raw).split("\n"):
        plain = _BLANKS.sub(" ", _MARKUP.sub(" ", line)).strip()
        bullet = _BULLET.match(plain)
        bare = plain[bullet.end() :] if bullet else plain
        if bare:
            yield bare, bool(_HEADING.match(line))


def _in_order(text: str, names: Names, scale: Scale) -> list[Value] | None:
    """Return the values of a text that is nothing but values, one a field; None for any other text."""
    values = _values(text, scale)
    return values if values is not None and len(values) == len(names.fields) else None


def _values(text: str, scale: Scale) -> list[Value] | None:
    """Return the values of a list such as ``3 4 4 2``, ``[3, 4, 4, 2]`` or ``3/5, 4/5``; else None."""
    text = _MAXIMUM.sub("/", text.strip().strip("[](){}<> .。\"'"))
    values: list[Value] = []
    for item in _BETWEEN.split(text):
        found = read_value(item, 0, scale)
        if found is None or found.end != len(item) or found.value is UNCLEAR:
            return None
        values.append(found.value)
    return values


class _Patterns(NamedTuple):
    """The ways in which a line names a field."""

    direct: re.Pattern[str]
    """``clarity: 4``, up to the value."""
    weak: re.Pattern[str]
    """``clarity is 4/5``, up to the value, which must say that it is a rating."""
    bracket: re.Pattern[str]
    """``clarity (4/5)``, up to the value."""
    begins: re.Pattern[str]
    """A line that begins with a field, so that what follows is about it."""
    next: re.Pattern[str]
    """The name of a field, right after a value."""


@functools.lru_cache(maxsize=64)
def _patterns(names: str, negative: bool) -> _Patterns:
    """Return the patterns for fields whose names are a pattern; a dash is a minus on a scale below zero."""
    quote = "[\"'“”「」]?"
    dash = "" if negative else "| - "
    qualifier = r"(?: ?[(\[][^()\[\]]{0,160}[)\]])?"
    name = rf"{quote}{names}{quote}(?:[ _-]?{_SCORE})?"
    separator = rf" ?(?::|=>|->|=|\||→|–|—{dash}) ?"
    start = r"(?:^|(?<=[,;|.。、；(\[>:])|(?<=[0-9分星] )|(?<=[0-9] and )) ?(?:[0-9]{1,2}[.)] ?|and )?"
    about = rf"(?:(?:I(?:'d| would)? )?(?:rate|give) (?:the )?|{_SCORE} (?:for|of) (?:the )?)?"
    score = rf"(?:{_SCORE} ?[:=]? ?)?"
    verb = r"(?: (?:is|as|at|gets)(?: an?)? | ?(?:为|是|给|打)? ?)"
    patterns = (
        rf"{start}{about}{name}{qualifier}{separator}{score}[(\[<\"'“]?(?=\S)",
        rf"{start}{about}{name}{verb}",
        rf"{start}{name} ?[(\[] ?{score}",
        rf"{about}{name}{qualifier}(?: ?[:=|–—-].*)? ?$",
        rf" *(?:and )?{quote}{names}{quote}",
    )
    return _Patterns(*(re.compile(p, re.IGNORECASE) for p in patterns))


class _Lines:
    """Reads line by line, and remembers whose section it is in."""

    def __init__(self, names: Names, scale: Scale, claim: Claim) -> None:
        self.names, self.scale, self.claim = names, scale, claim
        self.section: str | None = names.fields[0] if len(names.fields) == 1 else None
        self.label_open = False
        self.patterns = _patterns(names.pattern, scale.min < 0)

    def read(self, line: str, heading: bool) -> None:
        """Take in the next line."""
        if self._take_list(line):
            return
        said = self._take_named(line)
        begins = self.patterns.begins.match(line)
        if begins:
            self.section = self._field(begins)
        elif len(self.names.fields) > 1 and _is_another_topic(line, heading):
            self.section = None
        if self.section is not None and not said:
            self._take_score(line, self.section, begins=bool(begins))

    def _take_list(self, line: str) -> bool:
        """Read ``Summary: 3 4 4 2``, the numbers on the same line or on the next; say whether it was one."""
        label = _LABEL.match(line)
        rest = line[label.end() :] if label else line if self.label_open else ""
        self.label_open = bool(label) and not rest.strip()
        values = _values(rest, self.scale) if rest.strip() else None
        if values is None:
            return False
        wanted = len(self.names.fields)
        if len(values) == 1 and wanted > 1:
            return False  # the score of a section
        for at, field in enumerate(self.names.fields):
            self.claim(field, values[at] if len(values) == wanted else UNCLEAR)
        return True

    def _take_named(self, line: str) -> bool:
        """Read every ``name: value`` of a line; say whether there was one."""
        said = False
        if not MAY_HOLD_VALUE.search(line):
            return said
        for pattern in self.patterns[:3]:
            for match in pattern.finditer(line):
                found = read_value(line, match.end(), self.scale, self.patterns.next)
                if found is None or not self._counts(pattern, found, line):
                    continue
                field = self._field(match)
                if field is not None:
                    self.claim(field, found.value)
                    said = True
        return said

    def _counts(self, pattern: re.Pattern[str], found: Reading, line: str) -> bool:
        if pattern is self.patterns.weak:
            return found.rated  # "accuracy is 3" may say anything; "accuracy is 3/5" does not
        if pattern is self.patterns.bracket:
            return line[found.end : found.end + 1] in (")", "]")
        return True

    def _take_score(self, line: str, field: str, *, begins: bool) -> None:
        """Read the score of a section: ``Score: 4`` on a line or inside one, or ``… 4/5`` at the end."""
        match = _SCORE_LINE.match(line) or _SCORE_INSIDE.search(line)
        if match is None and begins:
            match = _LAST_VALUE.search(line)
        if match is not None and (found := read_value(line, match.end(), self.scale)) is not None:
            self.claim(field, found.value)

    def _field(self, match: re.Match[str]) -> str | None:
        return self.names.field(match["name"])


def _is_another_topic(line: str, heading: bool) -> bool:
    """Say whether a line ends the section of a field; one in bold that is its score does not."""
    return _OTHER_TOPIC.match(line) is not None or (heading and not _SCORE_LINE.match(line))
