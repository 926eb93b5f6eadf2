"""What the lines of a reply claim about the fields."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from metaeval.llm.replies.beside import is_gloss, is_head, leads_elsewhere, leads_here
from metaeval.llm.replies.claims.statements import SCORE, statements_of
from metaeval.llm.replies.numerals import says_other_scale
from metaeval.llm.replies.values import FEW, listed_values, read_value
from metaeval.llm.replies.words import MAY_HOLD_VALUE, UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from metaeval.base.records import Scale
    from metaeval.llm.replies.names import Names
    from metaeval.llm.replies.values import Reading
    from metaeval.llm.replies.words import Value

Claim: TypeAlias = "Callable[[str, Value], None]"

_LABEL = re.compile(
    rf"(?:(?:my|the|final|overall|最终|总) ?){{0,4}}"
    rf"(?:summary|answers?|results?|总结|汇总|答案|结果|{SCORE})"
    r" ?(?::|=|\bis\b|为|是) ?",
    re.IGNORECASE,
)
_ENDS_IN_SCORE = re.compile(
    rf"(?:^|\b(?:my|the|final|overall) |最终|总体?){SCORE}(?: is)? ?:?$", re.IGNORECASE
)
_LAST_VALUE = re.compile(
    r"(?:^|[ (\[–—:-])(?=[^ (\[]{1,12} ?(?:/|out of) ?[0-9.]{1,9}[)\].。 ]*$)|\| ?(?=[0-9.]{1,9} ?\|?$)",
    re.IGNORECASE,
)
_OTHER_TOPIC = re.compile(
    r"(?:overall|average|total|summary|conclusion|mean|综合|总体|总结|平均|总分)", re.IGNORECASE
)
_OTHER_LABEL = re.compile(r"[^\W\d][^:=|()0-9.,;]{1,40}(?:[:=|(]| - )", re.IGNORECASE)
_OWN_LABEL = re.compile(
    r"\b(?:edit|note|but|so|wait|therefore|thus|hence|final|after|now|then|second|adjust|revis|correct|updat|chang|"
    r"new|amend|actual|my|the|max|min|scale|answer|result|out of|overall|total|stars?|points?|verdict|grade"
    rf"|{SCORE} ?\W)|最终|修改|更正|调整|总",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\s*(?:#|\*\*[^*]{1,200}\*\*\s*:?\s*$)")
_TAG = re.compile(r"<(?P<tag>[^\W\d][^<>/\n]{0,60})>\s{0,9}(?P<inner>[^<>\n]{0,200}?)\s{0,9}</(?P=tag)>")
_MARKUP = re.compile(r"\*+|__+|`{3}\w{0,20}|`+|</?(?:b|i|em|strong|u|p|span|code)>|<br ?/?>|\$\$")
_NO_MARKUP = re.compile(r"[^*_`<$]*")
_MATH = re.compile(r"\$([^$\n]{1,60})\$")
_BULLET = re.compile(
    r"(?:[#>|•●▪◦·+]|-(?= ?[^\W\d])|[0-9]{1,2}[.)、](?= *[^\W\d])|\([0-9]{1,2}\)(?= *[^\W\d]) ?"
    r"|[一二三四五六七八九十]、|(?:aspect|criterion|方面|维度) ?[0-9]{1,2} ?[-:.)]| )+",
    re.IGNORECASE,
)
_BLANKS = re.compile(r" +")
_ORDER = re.compile(
    r"^(?:aspects|criteria|dimensions)\b|\b(?:order|ordered|sorted|revers\w*|sequence)\b|顺序|倒序",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:=_-]+")
_FEW_WORDS = 2
_SHORT = 100  # characters of a line that other replies are likely to have too


def without_markup(text: str) -> str:
    """Return the text without emphasis, with tags such as ``<score>4</score>`` as lines of their own."""
    if _NO_MARKUP.fullmatch(text):
        return text
    return _MARKUP.sub(" ", _MATH.sub(r" \1 ", _TAG.sub(r"\n\g<tag>: \g<inner>\n", text)))


def claim_lines(raw: str, names: Names, scale: Scale, claim: Claim) -> list[Other]:
    """Tell ``claim`` every field and value that the lines of a reply name; return the other lines."""
    if not raw.strip():
        return []
    text = without_markup(raw)
    values = listed_values(text, scale)
    if values is not None and len(values) == len(names.fields):
        for field, value in zip(names.fields, values, strict=True):
            claim(field, value)
        return []
    lines = _Lines(names, scale, claim)
    quoted = is_partly_quoted(raw)
    for line in _headings_marked(raw):
        lines.read(*line, quoted=quoted and line[1].lstrip().startswith(">"))
    if lines.listed and lines.ordered:
        for field in names.fields:
            claim(field, UNCLEAR)
    return lines.others


def is_partly_quoted(raw: str) -> bool:
    """Say whether some lines are quoted and others not: quoted ones are then of somebody else."""
    said = [line.lstrip().startswith(">") for line in raw.split("\n") if line.strip()]
    return any(said) and not all(said)


def _headings_marked(raw: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each line without markup, the line itself, and whether it is a heading."""
    for line in _TAG.sub(r"\n\g<tag>: \g<inner>\n", raw).split("\n"):
        plain = _BLANKS.sub(" ", without_markup(line)).strip()
        bullet = _BULLET.match(plain)
        bare = plain[bullet.end() :] if bullet else plain
        if bare:
            yield bare, line, bool(_HEADING.match(line))


class _Patterns(NamedTuple):
    """The ways in which a line names a field."""

    direct: re.Pattern[str]  # "clarity: 4", up to the value
    weak: re.Pattern[str]  # "clarity is 4/5", up to the value, which must say that it is a rating
    bracket: re.Pattern[str]  # "clarity (4/5)", up to the value
    begins: re.Pattern[str]  # a line that begins with a field, so that what follows is about it
    next: re.Pattern[str]  # the name of a field, after a value
    sentence: re.Pattern[str]  # "The clarity of this explanation is 4", up to the value, which ends the line


@functools.lru_cache(maxsize=64)
def _patterns(names: str, negative: bool) -> _Patterns:
    """Return the patterns for fields whose names are a pattern; a dash is a minus on a scale below zero."""
    quote = "[\"'“”「」]?"
    dash = "" if negative else "| - | [–] |—"
    qualifier = r"(?: ?[(\[](?P<qualifier>[^()\[\]]{0,160})[)\]])?"
    name = rf"{quote}{names}{quote}(?:[ _-]?{SCORE})?"
    separator = rf" ?(?::|=|\||→|=>|->{dash}) ?"
    start = r"(?:^|(?<=[,;|.。、；(\[>:])|(?<=[0-9分星] )|(?<=[0-9] and )) ?(?:[0-9]{1,2}[.)] ?|and )?"
    about = rf"(?:(?:I(?:'d| would)? )?(?:rate|give) (?:the )?|{SCORE} (?:for|of) (?:the )?)?"
    score = rf"(?:{SCORE} ?[:=]? ?)?"
    verb = r"(?: (?:is|as|at|gets)(?: an?)? | ?(?:为|是|给|打)? ?)"
    of_text = "of (?:this|the) (?:explanation|text|recommendation|summary)"
    sentence = rf"^(?:I(?:'d| would)? rate )?the {names} {of_text} (?:is|as|at)(?: an?)? (?=[0-9])"
    patterns = (
        rf"{start}{about}{name}{qualifier}{separator}{score}[(\[<\"'“]?(?=\S)",
        rf"{start}{about}{name}{verb}",
        rf"{start}{name} ?[(\[] ?{score}",
        rf"{about}{name}(?: ?[(\[][^()\[\]]{{0,160}}[)\]])?(?= ?(?:$|[:=|–—-]))",
        rf"(?<!\w)(?:and )?{quote}{names}{quote}(?= ?(?:$|[:=|(→–—0-9-]|->|{SCORE}|\bis\b|为|是))",
        sentence,
    )
    return _Patterns(*(re.compile(p, re.IGNORECASE) for p in patterns))


class Other(NamedTuple):
    """A line without a value."""

    text: str
    after: bool
    """Whether it comes after a value."""


class _Named(NamedTuple):
    """A field and its value on a line."""

    start: int
    field: str
    value: Value


@functools.lru_cache(2048)  # many replies have a line such as "clarity: 4"
def _named_in(line: str, names: Names, scale: Scale) -> tuple[_Named, ...]:
    """Return every ``name: value`` of a line."""
    found: list[_Named] = []
    patterns = _patterns(names.pattern, scale.min < 0)
    for pattern in (*patterns[:3], patterns.sentence):
        for match in pattern.finditer(line):
            reading = read_value(line, match.end(), scale, patterns.next)
            if reading is None or not _counts(pattern, reading, line, patterns):
                continue
            field = names.field(match["name"])
            if field is not None:
                qualifier = match.groupdict().get("qualifier")  # in brackets, after the name
                own = qualifier is None or is_gloss(qualifier, scale, None)
                found.append(_Named(match.start(), field, reading.value if own else UNCLEAR))
    found.sort()
    lead = line[: found[0].start] if found else ""
    if not leads_here(lead) or says_other_scale(lead, scale):
        return tuple(one._replace(value=UNCLEAR) for one in found)
    return tuple(found)


def _counts(pattern: re.Pattern[str], reading: Reading, line: str, patterns: _Patterns) -> bool:
    if pattern is patterns.weak:
        return reading.rated  # "accuracy is 3" may say anything; "accuracy is 3/5" does not
    if pattern is patterns.sentence:
        return line[reading.end :].strip(" .!") == ""
    if pattern is patterns.bracket:
        return line[reading.end : reading.end + 1] in (")", "]")
    return True


class _Lines:
    """Reads line by line, and remembers whose section it is in and what introduced it."""

    def __init__(self, names: Names, scale: Scale, claim: Claim) -> None:
        self.names, self.scale, self._claim = names, scale, claim
        self.section: str | None = names.fields[0] if len(names.fields) == 1 else None
        # Of few points, such as 1 and 2 for the first and the second text, a sentence may say anything.
        self.alone = self.section is not None and scale.max - scale.min >= FEW
        self.patterns = _patterns(names.pattern, scale.min < 0)
        self.label_open = False  # the line before ends in "Summary:", its values may stand here
        self.listed = False  # values were given in a list, without their names
        self.ordered = False  # a line says in which order values stand
        self.quoted = False  # this line is a quotation
        self.elsewhere = False  # the line that introduces these says that what follows is no answer
        self.said = False  # there was a value
        self.headed = False  # the line before is the name of a field or of a score, its value may stand here
        self.others: list[Other] = []  # lines without a value, but for those about something else

    def claim(self, field: str, value: Value) -> None:
        """Pass a value on, unless what introduces it says that it is none."""
        self._claim(field, UNCLEAR if self.elsewhere or self.quoted else value)
        self.said = True

    def read(self, line: str, raw: str, heading: bool, *, quoted: bool) -> None:
        """Take in the next line."""
        self.quoted = quoted
        headed, self.headed = self.headed, False
        if self._take_list(line):
            return
        self.ordered = self.ordered or _ORDER.search(line) is not None
        named = self._named(line) if MAY_HOLD_VALUE.search(line) else ()
        for one in named:
            self.claim(one.field, one.value)
        begins = self.patterns.begins.match(line)
        if begins:
            self.section = self.names.field(begins["name"])
        elif len(self.names.fields) > 1 and _is_another_topic(line, heading):
            self.section = None
        if named:
            return
        headed = headed or (self.alone and not (self.said or self.others))
        self.headed = _ENDS_IN_SCORE.search(line) is not None or (
            begins is not None and not line[begins.end() :].strip(" :")
        )
        if self.section is not None and self._take_score(line, self.section, bool(begins), first=headed):
            return
        if not begins and not _RULE.fullmatch(line):
            self.elsewhere = is_head(raw) and (not leads_here(line) or says_other_scale(line, self.scale))
        if not self._is_about_something_else(line, listed=raw.lstrip() != line):
            self.others.append(Other(line, self.said))

    def _named(self, line: str) -> tuple[_Named, ...]:
        find = _named_in if len(line) <= _SHORT else _named_in.__wrapped__
        return find(line, self.names, self.scale)

    def _take_list(self, line: str) -> bool:
        """Read ``Summary: 3 4 4 2``, on one line or two; say whether it was one."""
        label = _LABEL.match(line)
        rest = line[label.end() :] if label else line if self.label_open else ""
        self.label_open = bool(label) and not rest.strip()
        values = listed_values(rest, self.scale) if rest.strip() else None
        if values is None:
            return False
        wanted = len(self.names.fields)
        if len(values) == 1 and wanted > 1:
            return False  # the score of a section
        self.listed = wanted > 1
        for at, field in enumerate(self.names.fields):
            self.claim(field, values[at] if len(values) == wanted else UNCLEAR)
        return True

    def _take_score(self, line: str, field: str, begins: bool, *, first: bool) -> bool:
        """Read the score of a section: ``Score: 4`` on a line or inside one, or ``… 4/5`` at the end."""
        stated = statements_of(line, self.names.pattern, self.scale, prose=self.alone, first=first)
        if stated.values:
            said = self.said
            for value in stated.values:
                self.claim(field, value)
            if self.alone:
                self.others += (Other(text, said or after) for text, after in stated.rest)
            return True
        match = _LAST_VALUE.search(line) if begins else None
        found = read_value(line, match.end(), self.scale) if match else None
        if match is None or found is None:
            return False
        lead = line[: match.start()]
        other = leads_elsewhere(lead) or says_other_scale(lead, self.scale)
        self.claim(field, UNCLEAR if other else found.value)
        return True

    def _is_about_something_else(self, line: str, *, listed: bool) -> bool:
        """Say whether a line rates what was not asked for, such as ``Overall: 4`` where there are aspects."""
        label = _OTHER_LABEL.match(line)
        if label is None:
            return False
        if len(self.names.fields) > 1 and _OTHER_TOPIC.match(line):
            return True
        words = self.names.search.sub("", label.group()).split()
        named = self.names.search.search(label.group()) is not None
        if self.said and not listed and len(self.names.fields) == 1 and len(words) < _FEW_WORDS:
            return False  # "Erratum: 3"
        return len(words) > 2 * named and _OWN_LABEL.search(label.group()) is None


def _is_another_topic(line: str, heading: bool) -> bool:
    """Say whether a line ends the section of a field."""
    return _OTHER_TOPIC.match(line) is not None or (heading and not _LABEL.match(line))
