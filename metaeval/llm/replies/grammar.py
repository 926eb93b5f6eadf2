"""The grammar of replies in text: statements, each of a field and its value.

The strongest form of which a reply has any statement decides. Two of that form that differ make the value
unclear. The forms, the strongest first:

1. marked as final: ``Final score: 4``, ``[[A]]``
2. named: ``clarity: 4``, ``Choice: B``. Where one number was asked for, ``score``, ``rating``, … name it too,
   and ``4/5``, ``4 out of 5``, ``4 stars``, ``a score of 4`` state it.
3. a number that begins or ends the reply; a choice that is the whole reply, or begins it
4. a choice that begins another line

Several numbers may also stand in one line, in the order in which they were asked for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metaeval.llm.replies.fields import EVIDENCE, Choice, Field, Given, Number, Text
from metaeval.llm.replies.names import ANY_NAME, LEAD, NUMBER, Names, number_of, numbers_in, tidy, value_of

if TYPE_CHECKING:
    from metaeval.base.records import Scale

FINAL, NAMED, OUTER, LINE = range(4)
_HEADS = ("choice", "verdict", "winner", "answer", "decision", "preference", "better")
"""What a choice follows, beside the name of its field."""
_LEFT = 80  # characters before a number that may name it
_BEGINS = re.compile(LEAD)
_TRAILS = re.compile(r"[\s.!)\]*_`\"'。]*\Z")
_RATED = re.compile(
    r"\b(?P<final>final )?(?:scor(?:es?|ed|ing)|rat(?:es?|ed|ing))\b[^.\n:;<>=]{0,40}$", re.IGNORECASE
)
_SENTENCE = re.compile(r"[.!?](?=\s)|。")
_LABEL = re.compile(r"[:=]\W*$")
_CLOSES = re.compile(r"[^()\w]*\)\W*?(?:$|[:.,;|–—-])")
_NOT = re.compile(r"(?:\bnot|n't|(?:^|[:=\s])[<>~≤≥])\s*$", re.IGNORECASE)
_DENIALS = ("not", "n't", *"<>~≤≥")
_MINUS = re.compile(r"(?:[-–—‑]|\bminus)\s*$", re.IGNORECASE)
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LIST = re.compile(
    rf"(?:(?:\w+ )?(?:{ANY_NAME}|summary|总结)[\s:*]*)?\[?(?P<numbers>[0-9./-]+(?:[,;|\s]+[0-9./-]+)+)\]?\.?",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-*•] +|[0-9]{1,2}[.)] +)?")
_BETWEEN = "|"  # the reason of a rationale and its evidence, in a line


class Statement(NamedTuple):
    """What a reply says of a field."""

    field: str
    value: Given | None  # None: not clear
    form: int


def stated(text: str, fields: Sequence[Field], names: Names) -> dict[str, list[Given | None]]:
    """Return the different values that a text states of each field, in the strongest form that it has."""
    found = list(_statements(tidy(text), fields, names))
    values: dict[str, list[Given | None]] = {}
    for field in fields:
        strongest = min((s.form for s in found if s.field == field.name), default=None)
        same = (s.value for s in found if s.field == field.name and s.form == strongest)
        values[field.name] = list(dict.fromkeys(same))
    return values


def _statements(text: str, fields: Sequence[Field], names: Names) -> Iterator[Statement]:
    if texts := {f.name: f for f in fields if isinstance(f, Text)}:
        text, said = _without_texts(text, names, texts)
        yield from said
    if numbers := {f.name: f.scale for f in fields if isinstance(f, Number)}:
        yield from _numbers(text, numbers, names, only=fields[0].name if len(fields) == 1 else None)
    choices = [f for f in fields if isinstance(f, Choice)]
    for choice in choices:
        for value, form in choices_in(text, choice, alone=len(choices) == 1):
            yield Statement(choice.name, value, form)


def _numbers(text: str, scales: Mapping[str, Scale], names: Names, only: str | None) -> Iterator[Statement]:
    """Yield what a text says of numbers; of ``only`` one, also without its name."""
    heading: str | None = None  # the field whose name was a line of its own
    lines = text.split("\n")
    seen: list[tuple[int, re.Match[str]]] = []
    for i, line in enumerate(lines):
        if len(line) < _LEFT and (head := names.alone.fullmatch(line)):
            heading = names.field(head["name"]) if head["name"] else only or heading
            continue
        if here := numbers_in(line):
            yield from _in_line(here, scales, names, only, heading)
            seen += [(i, match) for match in here]
        heading = None if only and line.strip() else heading
    if only and seen:
        yield from _outer(lines, seen, only, scales[only])
    elif len(seen) >= len(scales):
        for part in (text, *lines):
            if len(part) < 200 and (row := _LIST.fullmatch(part.strip())):
                numbers = [NUMBER.fullmatch(n) for n in re.split(r"[,;|\s]+", row["numbers"].rstrip("."))]
                for (name, scale), number in zip(scales.items(), numbers, strict=False):
                    value = value_of(number, scale) if number and len(numbers) == len(scales) else None
                    yield Statement(name, value, NAMED)


def _in_line(
    here: Sequence[re.Match[str]],
    scales: Mapping[str, Scale],
    names: Names,
    only: str | None,
    heading: str | None,
) -> Iterator[Statement]:
    line = here[0].string
    before: tuple[str, float | None] | None = None  # what was named in this line
    for match in here:
        left = line[max(0, match.start() - _LEFT) : match.start()]
        head = names.before(left)
        if head is not None:
            field = names.field(head["name"]) if head["name"] else heading or only
        else:
            field = heading if heading and _BEGINS.fullmatch(left) else None
        scale = scales.get(field or only or "") or next(iter(scales.values()))
        if _is_scale(match, scale):
            continue
        value = value_of(match, scale)
        value = None if value is None or _denied(left, scale) else value
        if field is not None and field in scales:
            aside = map(float, _DECIMAL.findall((head and head["aside"]) or ""))
            closed = not left.endswith("(") or _CLOSES.match(line, match.end())
            value = value if closed and {scale.min, scale.max}.issuperset(aside) else None
            before = (field, value)
            yield Statement(field, value, FINAL if head and head["final"] else NAMED)
        elif before:  # another number that may be meant makes the first unclear
            clear = value is not None and (match["number"][0].isdigit() or left.endswith("("))
            if match["range"] or match["top"] or (clear and value != before[1]):
                yield Statement(before[0], None, NAMED)
        elif only and left.endswith("[["):
            yield Statement(only, value, FINAL)
        elif only and (match["top"] or match["stars"] or match["of_stars"]):
            if value is not None or not match["top"]:
                rated = _RATED.search(left)
                yield Statement(only, value, FINAL if rated and rated["final"] else NAMED)
        elif only and value is not None and value in scale and (rated := _RATED.search(left)):
            yield Statement(only, value, FINAL if rated["final"] else NAMED)


def _is_scale(match: re.Match[str], scale: Scale) -> bool:
    """Say whether a match is the range of the scale, such as ``1-5``."""
    ends = (match["number"], match["range"])
    return match["range"] is not None and tuple(map(number_of, ends)) == (scale.min, scale.max)


def _denied(left: str, scale: Scale) -> bool:
    """Say whether what stands before a number denies it, or may be its sign on a scale below 0."""
    may = left.rstrip().lower().endswith(_DENIALS)  # the search alone takes ten times as long
    return (may and _NOT.search(left) is not None) or (scale.min < 0 and _MINUS.search(left) is not None)


def _outer(
    lines: Sequence[str], seen: Sequence[tuple[int, re.Match[str]]], field: str, scale: Scale
) -> Iterator[Statement]:
    """Yield the number that begins a reply, and the one that ends it."""
    (i, first), (j, last) = seen[0], seen[-1]
    left, before = lines[i][: first.start()], lines[j][: last.start()]
    if _BEGINS.fullmatch(left) and not any(line.strip() for line in lines[:i]):
        yield Statement(field, None if _denied(left, scale) else value_of(first, scale), OUTER)
    after = "\n".join([lines[j][last.end() :], *lines[j + 1 :]])
    if _TRAILS.match(after) and last["number"][-1].isdigit() and not _LABEL.search(before):
        near = [m.start() for k, m in seen[:-1] if k == j and not _is_scale(m, scale)][-1:]
        several = near and not _SENTENCE.search(before, near[0])
        yield Statement(field, None if several or _denied(before, scale) else value_of(last, scale), OUTER)


def _without_texts(text: str, names: Names, texts: Mapping[str, Text]) -> tuple[str, list[Statement]]:
    """Return a text without its fields that are texts, and these: each ends at an empty line or a name."""
    kept: list[str] = []
    said: list[tuple[str, list[str]]] = []
    within = False
    for line in text.split("\n"):
        match = names.line.match(line)
        field = names.field(match["name"]) if match else None
        if match and field is not None and field in texts:
            said.append((field, [line[match.end() :]]))
            within = True
        elif match or not within or not line.strip():
            within = False
            kept.append(line)
        else:
            said[-1][1].append(line)
    found = [Statement(field, text_value("\n".join(lines), texts[field]), NAMED) for field, lines in said]
    return "\n".join(kept), found


def text_value(value: object, field: Text) -> str | None:
    """Return the value of a text, a line for each piece of evidence; None if it cannot be used."""
    if isinstance(value, str) and field.many:
        lines = (_BULLET.sub("", line, count=1) for line in value.split("\n") if line.strip())
        pieces: list[object] = [line.rpartition(_BETWEEN)[2] for line in lines]
    elif field.many:
        listed = value if isinstance(value, list) else [] if value is None else [value]
        pieces = [of.get(EVIDENCE) if isinstance(of, dict) else of for of in listed]
    else:
        pieces = [] if value is None or value == "" else [value]
    texts = [" ".join(of.split()) if field.many else of.strip() for of in pieces if isinstance(of, str)]
    usable = len(texts) == len(pieces) and all(texts) and (texts or not field.required)
    return "\n".join(texts) if usable else None


def choices_in(text: str, field: Choice, *, alone: bool) -> Iterator[tuple[Given, int]]:
    """Yield each value that a text chooses in its strongest form, 0 to 3, and that form.

    Parameters
    ----------
    alone
        Whether it is the only choice that was asked for: only then it may stand without its name.
    """
    words = {tidy(w).casefold(): value for value, said in field.words.items() for w in said}
    spelled = tuple(tidy(w) for said in field.words.values() for w in said)
    strongest, low = 3 if alone else 1, text.casefold()
    for form, needs, pattern in _ways(spelled, (field.name, *field.aliases, *(_HEADS if alone else ()))):
        for match in pattern.finditer(text) if form <= strongest and any(n in low for n in needs) else ():
            strongest = form
            yield words[match["word"].casefold()], 0 if match.groupdict().get("final") else form


@functools.lru_cache(64)
def _ways(words: tuple[str, ...], heads: tuple[str, ...]) -> list[tuple[int, Sequence[str], re.Pattern[str]]]:
    """Return the forms in which one of some words is chosen, and what a text of that form has."""
    longest_first = sorted(words, key=len, reverse=True)
    one = "|".join(rf"(?-i:{re.escape(w)})" if len(w) == 1 else re.escape(w) for w in longest_first)
    word = rf"[\[(\"'“*_`{{<]{{0,4}}(?P<word>{one})(?![\w/&+>=#-]|<(?!/)|'\w| (?:or|and) )"
    noun = r"(?:(?:the )?[^\W\d_]{1,20} #?)?"  # Assistant A, Summary #1
    ends = r"[\])\"'”*_`}]*"
    head = rf"\b(?P<final>final )?(?:{'|'.join(map(re.escape, heads))})(?: [^\W\d_]{{1,20}})?[*_`\"' ]*"
    patterns = (
        (0, ("[[",), rf"\[\[ ?(?P<word>{one}) ?\]\]"),
        (1, tuple(map(str.casefold, heads)), rf"{head}(?:\bis\b|\bwas\b|:|=|->|>)[*_`\s:]*{noun}{word}"),
        (1, ("choose", "prefer"), rf"\b(?:choose|prefer)s? {noun}{word}"),
        (1, ("better",), rf"{word}(?: [^\W\d_]{{1,20}})?(?= is (?!not )(?:[a-z]+ ){{0,2}}better\b)"),
        (2, ("",), rf"\A[\s>#*_`\"'(-]*{noun}{word}(?={ends}(?:[.:!,;)](?:\s|$)|\s*\n|\s*$| [-–—] ))"),
        (3, ("",), rf"^[ >#*_`\"'(-]*{word}(?={ends}(?:[.:!)](?:\s|$)|$))"),
    )
    return [(form, needs, re.compile(p, re.IGNORECASE | re.MULTILINE)) for form, needs, p in patterns]
