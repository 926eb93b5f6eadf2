"""Who said the values of a column: a person, a tool, or nobody that is named.

What decides is never guessed: only what a name, a neighbour or the user says makes a value a person's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from metaeval.data.proposals.roles import RATING, TOOL, WORDS
from metaeval.data.tables.columns import NUMBER

_CALLED = {name: "|".join(words) for name, words in WORDS["called"].items()}
_PEOPLE = re.compile(
    rf"(.*\W)?({_CALLED['user']}|{_CALLED['me']}|{_CALLED['people']})[\W_]*(id|nr|no|\d+|[a-z])?([\W_]*ratings?)?",
    re.IGNORECASE,
)
_UNCLEAR = re.compile(rf"(.*\W)?({_CALLED['unclear']})", re.IGNORECASE)
_FEW = 6  # rows in which numbers may count up by chance
_LARGEST = 100  # score
_FEWEST = 12  # rows from which whole numbers that are all different are no ratings


def named_for_people(name: str) -> bool:
    """Say whether a name is one of people and of nothing else, such as ``human_2`` or ``WorkerId``."""
    plain = re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).strip()
    return bool(_PEOPLE.fullmatch(plain)) and not TOOL.search(name)


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
