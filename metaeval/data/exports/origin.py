"""Who gave a value of an export: a person, a tool, or nobody that is named.

The file states it, or the name of a value does, or the user says it. Nothing else makes a value a person's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from metaeval.base.counts import counted
from metaeval.data.exports.export import METADATA, Judged, Mark, number_of

_OF_PEOPLE = re.compile(
    r"((?:human|annotator|worker|expert)s?(?:[\W_]*\d+)?)(?![^\W\d_])[\W_]*(.*)", re.IGNORECASE
)
_A_RATING = {"", "rating", "score", "label", "feedback"}
"""What may follow in a name that is named for people, if it is no aspect that is judged in the same file."""


def given_by(
    judged: Sequence[Judged], people: Sequence[str], roles: Mapping[str, str]
) -> Iterator[tuple[int, Mark, bool | None]]:
    """Yield the place of each mark's record, the mark, and whether a person gave it: None if nobody is named.

    ``people`` and ``roles`` are as for `metaeval.kinds.explanations.data.imports.table.data_set`.
    """
    marks = [(at, mark) for at, unit in enumerate(judged) for mark in unit.marks]
    aspects = {mark.aspect.casefold(): mark.aspect for _, mark in marks if mark.who != METADATA}
    said = Counter(roles.values())
    for at, mark in marks:
        role, _, who = roles.get(mark.aspect, "").partition(":")
        if role in {"score", "tool"}:
            alone = who and mark.aspect.casefold() not in aspects and said[roles[mark.aspect]] == 1
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
    match = _OF_PEOPLE.fullmatch(mark.aspect)
    if match is None or not (mark.person or mark.who in {METADATA, mark.aspect}):
        return mark, None if mark.who == METADATA else mark.person
    rest = match[2].casefold()
    if rest not in aspects and (mark.person or rest not in _A_RATING):
        return mark, mark.person or None
    who = mark.who if mark.person else re.sub(r"[\W_]+", " ", match[1].casefold())
    return replace(mark, aspect=aspects.get(rest, rest or "rating"), who=who), True


def listed(marks: Iterable[Mark]) -> dict[str, str]:
    """Return each name with its values: three, the range, and how many differ."""
    values: dict[str, list[float]] = {}
    for mark in marks:
        if (number := number_of(mark.value)) is not None:
            values.setdefault(mark.aspect, []).append(number)
    return {
        name: f"{name} ({', '.join(f'{v:g}' for v in given[:3])}{', …' * (len(given) > 3)}; "
        f"{min(given):g} to {max(given):g}; {counted(len({*given}), 'value')})"
        for name, given in values.items()
    }
