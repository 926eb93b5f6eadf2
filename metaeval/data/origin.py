"""Who said a value, in a column or in an export: a person, a tool, or nobody that is named.

What decides is never guessed: only the file, a name, a neighbour or the user makes a value a person's.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from metaeval.data.exports.export import METADATA, Judged, Mark, number_of
from metaeval.data.proposals.roles import PEOPLE, PERSON, RATING, TOOL, WORDS, plain
from metaeval.data.tables.columns import NUMBER

_PEOPLE = re.compile(rf"(.*\W)?{PERSON}\W*(id|nr|no|\d+|[a-z])?(\W*ratings?)?", re.IGNORECASE)
_BEFORE = re.compile(rf"(?P<who>{PEOPLE}s?(\W*\d+)?)(?![^\W\d_])\W*(?P<rest>.*)", re.IGNORECASE)
_A_RATING = {"", "rating", "score", "label", "feedback"}
"""What may follow in a name that is named for people, if it is no aspect that is judged in the same file."""
_UNCLEAR = re.compile(rf"(.*\W)?({'|'.join(WORDS['called']['unclear'])})", re.IGNORECASE)
_FEW = 6  # rows in which numbers may count up by chance
_LARGEST = 100  # score
_FEWEST = 12  # rows from which whole numbers that are all different are no ratings


def named_for_people(name: str) -> bool:
    """Say whether a name is one of people and of nothing else, such as ``human_2`` or ``WorkerId``."""
    return bool(_PEOPLE.fullmatch(plain(name))) and not TOOL.search(name)


def rated_beside(column: str, beside: Sequence[str]) -> bool:
    """Say whether a column is called a rating, and stands beside one of users or raters."""
    return bool(beside) and bool(RATING.fullmatch(column))


def asks_people(column: str) -> bool:
    """Say whether a column's name is a question, a row of a form's grid, or an aspect that people rate."""
    aspects = (re.search(words, column, re.IGNORECASE) for words in WORDS["aspects"].values())
    return column.endswith(("?", "]", ".")) or any(aspects)


def people_among(raters: Sequence[str], column: str) -> list[str]:
    """Return the raters of a column who are people.

    They are all, if the column is named for people and none has a tool's name; else those so named.
    """
    if not _UNCLEAR.fullmatch(column) and not any(TOOL.search(r) for r in raters):
        return [*raters]
    return [r for r in raters if named_for_people(r)]


def is_counter(texts: Sequence[str]) -> bool:
    """Say whether whole numbers are no opinions.

    They count up, are equal, or are large and different in each of many rows.
    """
    if len(texts) < _FEW or not all(NUMBER.fullmatch(t) and float(t).is_integer() for t in texts):
        return False
    numbers = [float(t) for t in texts]
    steps = {b - a for a, b in itertools.pairwise(numbers)}
    large = len(texts) >= _FEWEST and max(numbers) > _LARGEST
    return steps in ({0.0}, {1.0}) or (large and len({*numbers}) == len(numbers))


def looks_like(texts: Sequence[str]) -> str:
    """Return three values, the range, and how many differ."""
    distinct = [*dict.fromkeys(texts)]
    shown = ", ".join(t[:30] for t in distinct[:3]) + ", …" * (len(distinct) > 3)
    numbers = [float(t) for t in texts if NUMBER.fullmatch(t)]
    ends = f"; {min(numbers):g} to {max(numbers):g}" if numbers else ""
    return f"{shown}{ends}; {len(distinct):,} different in {len(texts):,} rows"


def given_by(
    judged: Sequence[Judged], people: Sequence[str], roles: Mapping[str, str]
) -> Iterator[tuple[int, Mark, bool | None]]:
    """Yield the place of each mark's record, the mark, and whether a person gave it: None if nobody is named.

    ``people`` and ``roles`` are as for `metaeval.kinds.explanations.data.imports.table.data_set`.
    """
    marks = [(at, mark) for at, unit in enumerate(judged) for mark in unit.marks]
    aspects = {plain(mark.aspect).casefold(): mark.aspect for _, mark in marks if mark.who != METADATA}
    said = Counter(roles.values())
    for at, mark in marks:
        role, _, who = roles.get(mark.aspect, "").partition(":")
        if role in {"score", "tool"}:
            alone = who and plain(mark.aspect).casefold() not in aspects and said[roles[mark.aspect]] == 1
            aspect = who if alone else mark.aspect
            yield at, replace(mark, who=who or mark.aspect, aspect=aspect), False
        elif role == "rating" or {mark.aspect, mark.who} & {*people}:
            yield at, replace(mark, who=who or ("human" if mark.who == METADATA else mark.who)), True
        elif role != "ignore":
            yield at, *_by_name(mark, aspects)


def _by_name(mark: Mark, aspects: Mapping[str, str]) -> tuple[Mark, bool | None]:
    """Return a mark that is named for people and nothing else as that of a person.

    Its name is `human`, `annotator_2`, …, or one of these before an aspect that is rated in the same file.
    What else begins so, such as `human_likeness`, is nobody's.
    """
    match = None if TOOL.search(mark.aspect) else _BEFORE.fullmatch(plain(mark.aspect))
    if match is None or not (mark.person or mark.who in {METADATA, mark.aspect}):
        return mark, None if mark.who == METADATA else mark.person
    rest = match["rest"].casefold()
    if rest not in aspects and (mark.person or rest not in _A_RATING):
        return mark, mark.person or None
    who = mark.who if mark.person else match["who"].casefold()
    return replace(mark, aspect=aspects.get(rest, rest or "rating"), who=who), True


def listed(marks: Iterable[Mark]) -> dict[str, str]:
    """Return each name with its values, as `looks_like` says them."""
    values: dict[str, list[str]] = {}
    for mark in marks:
        if (number := number_of(mark.value)) is not None:
            values.setdefault(mark.aspect, []).append(f"{number:g}")
    return {name: f"{name} ({looks_like(given)})" for name, given in values.items()}
