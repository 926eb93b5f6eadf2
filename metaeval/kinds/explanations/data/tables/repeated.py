"""Columns that repeat for each of several explanations in a row: text_1, rating_1, text_2, rating_2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from metaeval.kinds.explanations.data.tables.labels import numbers_of
from metaeval.kinds.explanations.data.tables.names import (
    NTH,
    NUMBERED_ITEM,
    NUMBERED_SYSTEM,
    NUMBERED_TEXT,
    PERSON,
    role_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACE = re.compile(r"(?<![\d.])\d{1,2}(?![\d.])|(?<![^\W_])[A-Z](?![^\W_])|(?<=_)[a-z](?![^\W_])")
_LONG = 30  # characters, on average, of a text


class Repeated(NamedTuple):
    """Columns that stand once per explanation."""

    families: Mapping[str, Mapping[str, str]]
    """Pattern, such as ``text_{n}`` → value of ``n`` → column."""
    likely: str
    """The key that the values of ``n`` probably are: ``item_id`` or ``generator``."""

    @property
    def columns(self) -> set[str]:
        """The columns of all patterns."""
        return {c for of in self.families.values() for c in of.values()}


def repeated(texts: Mapping[str, list[str]]) -> Repeated | None:
    """Return the columns that stand once per explanation; None if there are none.

    There are some if the columns of a text repeat, or are named by a numbered explanation or item. ``texts``
    are the cells of each column that are not empty.
    """
    families: dict[str, dict[str, str]] = {}
    for column in texts:
        for found in _PLACE.finditer(column):
            before = column[: found.start()]
            apart = re.search(r"\)\W*$|\s-\s$", before)  # from the person who is named before it
            if apart or not PERSON.fullmatch(re.split(r"[\s_(]", before.rstrip(" _-"))[-1]):
                families.setdefault(f"{before}{NTH}{column[found.end() :]}", {})[found[0]] = column
    families = {p: of for p, of in families.items() if len(of) > 1}
    of_texts = [p for p, of in families.items() if all(_is_text(p, texts[c]) for c in of.values())]
    named = [p for p in families if NUMBERED_TEXT.search(p) or NUMBERED_ITEM.search(p)]
    if not of_texts and not named:
        return None
    anchor = (of_texts or named)[0]
    kept: dict[str, dict[str, str]] = {}
    for pattern in sorted(families, key=lambda p: p not in (*of_texts, *named)):
        of = families[pattern]
        taken = {c for columns in kept.values() for c in columns.values()}
        if of.keys() <= families[anchor].keys() and not taken & {*of.values()}:
            kept[pattern] = of
    if not any(numbers_of(texts[c]) is not None for of in kept.values() for c in of.values()):
        return None
    order = [*texts]
    kept = dict(sorted(kept.items(), key=lambda item: order.index(next(iter(item[1].values())))))
    if NUMBERED_SYSTEM.search(anchor):
        return Repeated(kept, "generator")
    return Repeated(kept, "item_id" if of_texts or NUMBERED_ITEM.search(anchor) else "generator")


def _is_text(pattern: str, cells: list[str]) -> bool:
    role = role_of(pattern, cells, numeric=False, taken={})
    long = sum(map(len, cells)) > _LONG * len(cells)
    return numbers_of(cells) is None and (role == "explanation" or (not role and long))
