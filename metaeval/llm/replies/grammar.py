"""The grammar of replies in text: statements, each the value of a field in a place.

The place of a number begins a sentence or follows a mark; before it are only names and words of a rating:
``Clarity score: 4``, ``so I give it a 4``. A choice is the whole of its place. No other words are read.
The strongest form that a reply has decides; two statements of that form that differ make the value unclear.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from metaeval.base.records import Scale
from metaeval.llm.replies.fields import (
    ANY_NAME,
    LEAD,
    NUMBER,
    Choice,
    Field,
    Given,
    Names,
    Number,
    Text,
    numbers_in,
    range_of,
    rises,
    value_of,
)

FINAL, NAMED, OUTER = range(3)
MARKED, LAST, LABELLED, ALONE, BEGINS = range(5)
_HEADS = ("choice", "verdict", "winner", "answer", "decision", "preference")  # labels of any choice
_BEGINS = re.compile(LEAD)
_TRAILS = re.compile(r"[\s.!)\]*_`\"'。]*\Z")
_CLOSES = re.compile(r"[^()\w]*\)\W*?(?:$|[:.,;|–—-])")
_SENTENCE = re.compile(rf"(?:^|[.!?。]){LEAD}$")
_ITEM = re.compile(r"[\s*_]*[0-9]{1,2}[.)]\s")
_STRAIGHT = str.maketrans("“”„«»「」‘’", '"""""""\'\'')
_QUOTED = re.compile(
    r"""["'](?<!\w.)(?=[^\W\d])(?:(?<=")[^"\s]*?[\s一-鿿][^"\n]*?([.!?]?)"|(?<=')(?=[^'\s]*\s)(?:[^'\n]|'(?=\w)){1,300}?"""
    r"""([.!?]?)'(?!\w))(?!\s*[:=|–—-])"""
)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_TAGGED = re.compile(r"<([a-z][\w -]{0,40})>((?:[^<]|<(?![a-z/]))*)</\1>", re.IGNORECASE)
_MARK = re.compile(r"\[\[([^\[\]\n]{1,60})\]\]")
_FIRST = re.compile(r"(.{1,60}?)[*_`\"')\]]*(?:[:.!]|\s[-–—])(?=\s)")
_LIST = re.compile(
    rf"(?i)(?:(?:\w+ )?(?:{ANY_NAME}|summary|总结)[\s:*]*)?\[?([0-9./-]+(?:[,;|\s]+[0-9./-]+)+)\]?\.?"
)

Statement: TypeAlias = tuple[str, Given | None, int]  # a field, its value (None: not clear), the form
Scales: TypeAlias = Mapping[str, Scale]  # of each field
Matches: TypeAlias = Sequence[re.Match[str]]  # of numbers


def stated(text: str, fields: Sequence[Field], names: Names) -> dict[str, list[Given | None]]:
    """Return the different values that a tidy text states of each field in the strongest form that it has."""
    found = list(_statements(text, fields, names))
    values: dict[str, list[Given | None]] = {}
    for field in fields:
        strongest = min((form for name, _, form in found if name == field.name), default=None)
        same = (value for name, value, form in found if name == field.name and form == strongest)
        values[field.name] = list(dict.fromkeys(same))
    return values


def _statements(text: str, fields: Sequence[Field], names: Names) -> Iterator[Statement]:
    if texts := {f.name: f for f in fields if isinstance(f, Text)}:
        text, said = _without_texts(text, names, texts)
        yield from said
    if "</" in text:
        text = _TAGGED.sub(lambda match: _label_of(match, names), text)
    if numbers := {f.name: f.scale for f in fields if isinstance(f, Number)}:
        yield from _numbers(text, numbers, names)
    choices = [f for f in fields if isinstance(f, Choice)]
    for choice in choices:
        yield from _choices(text, choice, alone=len(choices) == 1)


def _label_of(tagged: re.Match[str], names: Names) -> str:
    """Return the tag of an answer as a label; what stands in another tag is no answer."""
    tag = tagged[1].strip().lower()
    known = names.field(tag) or re.fullmatch(ANY_NAME, tag) or tag in _HEADS
    return f"\n{tag}: {tagged[2]}\n" if known else ""


def _numbers(text: str, scales: Scales, names: Names) -> Iterator[Statement]:
    """Yield what a text says of numbers; of the only field, also without its name."""
    heading: str | None = None  # the field whose name was a line of its own
    only = names.only
    own = _QUOTED_LINE.sub("", text) if ">" in text else text
    own = _QUOTED.sub(r"\1\2", own if own.isascii() else own.translate(_STRAIGHT))
    text = own if any(map(str.isalnum, own)) else text
    for ends, whole in map(range_of, dict.fromkeys(scales.values())):
        text = whole.sub("", text) if ends.search(text) else text
    lines = text.split("\n")
    seen: list[tuple[int, re.Match[str]]] = []
    for i, line in enumerate(lines):
        if head := names.heading(line):
            heading = names.field(head["name"]) if "name" in head else only or heading
            continue
        if here := numbers_in(line):
            yield from _in_line(here, scales, names, heading)
            seen += [(i, match) for match in here]
        heading = None if only and line.strip() else heading
    if only and seen:
        yield from _outer(lines, seen, only, scales[only])
    elif len(seen) >= len(scales):
        for part in (text, *lines):
            if len(part) < 200 and (row := _LIST.fullmatch(part.strip())):
                numbers = [NUMBER.fullmatch(n) for n in re.split(r"[,;|\s]+", row[1].rstrip("."))]
                for (name, scale), number in zip(scales.items(), numbers, strict=False):
                    value = value_of(number, scale) if number and len(numbers) == len(scales) else None
                    yield (name, value, NAMED)


def _in_line(here: Matches, scales: Scales, names: Names, heading: str | None) -> Iterator[Statement]:
    line, only = here[0].string, names.only
    low = line.lower()
    before: tuple[str, float | None] | None = None  # what was named in this line
    for match in here:
        left, head = line[: match.start()], names.before(low, match.start())
        boxed = left.endswith("[[")
        field: str | None = None
        if "name" in head or "says" in head:
            field = names.field(head["name"]) if "name" in head else heading or only
        elif heading and _BEGINS.fullmatch(left):
            field = heading
        elif boxed or (not head and (match["top"] or match["stars"] or match["of_stars"])):
            field = only
        scale = scales.get(field or only or "") or next(iter(scales.values()))
        value = value_of(match, scale) if left[-1:] != "(" or _CLOSES.match(line, match.end()) else None
        # Else a sentence goes on: a score of 4 is what it deserves.
        says = value is not None or boxed or "name" in head or "link" in head or rises(match)
        if field is not None and field in scales and says:
            before = (field, value)
            yield (field, value, FINAL if boxed or "final" in head else NAMED)
        elif before and value != before[1] and _meant(match, scale):
            yield (before[0], None, NAMED)


def _meant(match: re.Match[str], scale: Scale) -> bool:
    """Say whether a number beside a value may be meant too: not one below a scale of 0 or more."""
    value = value_of(match, scale)
    if value is None and scale.min < 0:
        return True  # a sign or a dash: not to be told apart
    digits = match["number"][0].isdigit() or scale.min < 0 or match.string[: match.start()].endswith("(")
    return rises(match) or match["top"] is not None or (value is not None and value >= scale.min and digits)


def _outer(
    lines: Sequence[str], seen: Sequence[tuple[int, re.Match[str]]], field: str, scale: Scale
) -> Iterator[Statement]:
    """Yield the number that begins a reply, and the one that is its last sentence."""
    (i, first), (j, last) = seen[0], seen[-1]
    begins = _BEGINS.fullmatch(lines[i][: first.start()]) and not "".join(lines[:i]).strip()
    if begins and not (_ITEM.match(lines[i]) and any(map(_ITEM.match, lines[i + 1 :]))):  # else a list
        beside = any(_meant(match, scale) for k, match in seen[1:] if k == i)
        yield (field, None if beside else value_of(first, scale), OUTER)
    after = "\n".join([lines[j][last.end() :], *lines[j + 1 :]])
    ends = last["number"][-1].isdigit() and _TRAILS.match(after)
    if ends and _SENTENCE.search(lines[j][: last.start()]):
        yield (field, value_of(last, scale), OUTER)


def _without_texts(text: str, names: Names, texts: Mapping[str, Text]) -> tuple[str, list[Statement]]:
    """Return a text without its fields that are texts, and these: each ends at an empty line or a name."""
    kept: list[str] = []
    said: list[tuple[str, list[str]]] = []
    within = kept
    for line in text.split("\n"):
        match = names.line.match(line)
        field = names.field(match["name"]) if match else None
        if match or not line.strip():
            within = kept
        if match and field is not None and field in texts:
            within = []
            said.append((field, within))
        within.append(line[match.end() :] if match and within is not kept else line)
    found: list[Statement] = [(f, texts[f].given("\n".join(lines)), NAMED) for f, lines in said]
    return "\n".join(kept), found


def _choices(text: str, field: Choice, *, alone: bool) -> Iterator[Statement]:
    """Yield each value that is the whole of a place; ``alone``: the only choice, which needs no label."""
    lines = [line for line in text.split("\n") if line.strip()]
    label = _label((field.name, *field.aliases, *(_HEADS if alone else ())))
    widest = 60 + max(len(word) for said in field.words.values() for word in said)
    found: list[tuple[Given | None, int]] = []
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if len(line) <= widest and (match := label.match(line)):
            found.append((field.said(line[match.end() :].strip(" *_`|") or below), LABELLED))
    if alone:
        whole = [field.said(x, side=len(lines) == 1) if len(x) <= widest else None for x in lines]
        ends = whole[-2:-1] in ([], [None], whole[-1:])  # not a list of choices
        found += [(value, ALONE) for value in whole] + [(value, LAST) for value in whole[-1:] if ends]
        found += [(field.said(mark), MARKED) for mark in _MARK.findall(text)]
        at = label.match(text)
        if (first := _FIRST.match(text, at.end() if at else 0)) and not _ITEM.match(text):
            value = field.said(first[1], side=at is not None)
            found += [(value, BEGINS)] if field.named_in(text[first.end() :]) <= {value} else []
    yield from ((field.name, value, form) for value, form in found if value is not None)


@functools.lru_cache(64)
def _label(heads: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a label at the beginning of a line."""
    before = r"[\s#•·*|_`\"'(\[-]*(?:(?:so|thus|therefore|my|the|our|final|overall)\b[, ]+)*"
    one = "|".join(map(re.escape, heads))
    return re.compile(rf"{before}(?:{one})\b(?: is)?[*_`\"' ]*(?:[:=|]|->|→|[-–—](?= ))", re.IGNORECASE)
