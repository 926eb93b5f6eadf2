"""Columns whose names cross aspects with whoever rated them, such as ``Clarté (Anna)``, in any language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from metaeval.kinds.explanations.data.tables.names import (
    PERSON,
    QUESTION,
    SUFFIX,
    TOOL,
    is_aspect,
    without_place,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SPLIT = re.compile(r"\s+by\s+|\s*[_.:/|-]\s*|\s+|(?<=[a-z])(?=[A-Z])")
_CLEAR = re.compile(r"\s*\(|\s+[-/|]\s+|\s*:\s+")  # between two things, whatever they are


class Cell(NamedTuple):
    """What a column of numbers holds: by whom, and of which aspect, as the column's name says it."""

    column: str
    who: str
    """A rater or evaluator; empty if a column says it row by row."""
    aspect: str
    """The aspect, as in the column's name; empty if it holds for all, or a column says it."""
    pattern: str
    """The name of the column with ``{who}`` and ``{aspect}`` in their places."""


def splits(name: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the two sides into which a name may be split, with what is between and behind them."""
    suffix = SUFFIX.fullmatch(name)
    core, end = (suffix[1], suffix[2]) if suffix else (name, "")
    question = len(core.split()) > QUESTION
    if core.endswith(("?", "]", ".", "!")):
        return
    if bracket := core.endswith(")"):  # the rater, or the aspect, in brackets
        core, end = core[:-1], f"){end}"
    for at in re.finditer(r"\s*\(", core) if bracket else _SPLIT.finditer(core):
        left, right = core[: at.start()], core[at.end() :]
        if left and right and (not question or _CLEAR.fullmatch(at[0])):
            yield left, at[0], right, end


def grid(columns: Sequence[str], *, sure: bool = False) -> dict[str, Cell]:
    """Return the cells of the columns that cross two or more aspects with two or more raters.

    Parameters
    ----------
    columns
        Names of columns of numbers.
    sure
        Whether names of two words hold two things, as under a header of two rows.
    """
    styles: dict[tuple[str, str, str], dict[tuple[str, str], str]] = {}
    for column in (c for c in columns if not re.fullmatch(r"\w+(\.\w+)+", c)):  # a path into JSON
        before, name, after = column.partition(without_place(column))
        for left, between, right, end in splits(name):
            styles.setdefault((before, between, end + after), {})[left, right] = column
    found: dict[str, Cell] = {}
    for (before, between, after), pairs in styles.items():
        of: dict[str, set[str]] = {}
        for left, right in pairs:
            of.setdefault(right, set()).add(left)
        crossed = max((_crossed(of, lefts) for lefts in of.values()), key=len, default=set())
        right_rates = _right_rates(crossed)
        if right_rates is None and (sure or _CLEAR.fullmatch(between)):
            right_rates = True
        if len(crossed) > len(found) and right_rates is not None:
            pattern = ("{aspect}", "{who}") if right_rates else ("{who}", "{aspect}")
            text = f"{before}{pattern[0]}{between}{pattern[1]}{after}"
            found = {
                pairs[pair]: Cell(pairs[pair], pair[right_rates], pair[not right_rates], text)
                for pair in pairs
                if pair in crossed
            }
    return found


def _crossed(of: Mapping[str, set[str]], lefts: set[str]) -> set[tuple[str, str]]:
    """Return the pairs of the right sides that stand with most of the left sides, if there are several."""
    rights = [r for r, has in of.items() if 2 * len(has & lefts) > len(lefts)]
    pairs = {(left, right) for right in rights for left in of[right]}
    return pairs if len(lefts) > 1 and len(rights) > 1 else set()


def _right_rates(pairs: set[tuple[str, str]]) -> bool | None:
    """Say whether the right side is who rated, by the words on both sides; None if they do not say it."""
    lefts, rights = ({pair[side] for pair in pairs} for side in (0, 1))
    for known, answer in ((is_aspect, True), (_is_known, False)):
        if (on_left := any(map(known, lefts))) != any(map(known, rights)):
            return on_left == answer
    return None


def _is_known(who: str) -> bool:
    return bool(PERSON.fullmatch(who) or TOOL.search(who))


def is_tool(who: str) -> bool:
    """Say whether whoever rated is a model or tool by name."""
    named = TOOL.search(who) or re.match(r"scores?[\W_]", who, re.IGNORECASE)
    return bool(named) and not PERSON.fullmatch(who)
