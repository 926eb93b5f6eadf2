"""Key columns, which name the units of a table, and the levels and clusters that follow from them.

A data set says what its keys are. The keys of a bare table are its columns without those that hold values,
such as scores and ratings, and without numbers that are not whole. One rule says what keys are for:

- A key that ends in ``_id`` (``user_id``, ``item_id``) names a group: units are correlated within each.
- Any other key (``generator``, ``document``) names what groups have in common: its values are compared by the
  means of their units. Where no key ends in ``_id``, this holds for the last key alone.
- The first key names what is resampled. In a bare table users come first, then items, then other groups.
- A value is called by the name of its key without ``_id``: a ``user``, an ``item``, a ``generator``.
- A row without a key is refused with its number, in a frame as in a file, of scores as of the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

DATASET, PAIR, UNIT = "dataset", "pair", "unit"
"""All units; those that have the first two keys in common; each alone."""

_SUFFIX = "_id"
USER, ITEM = _FIRST = ("user", "item")
"""What comes first among the keys of a bare table, whatever the order of its columns."""
_VALUES = frozenset(
    {
        *("evaluator", "aspect", "score", "status", "rater", "rating"),
        *("tokens", "usd", "seconds", "reasoning_tokens", "call"),
        *("confidence", "evidence", "invented", "sample_values"),
    }
)
"""Columns of tables of scores and ratings that name no unit."""


@dataclass(frozen=True, slots=True)
class Level:
    """What units are grouped by when they are correlated."""

    name: str
    columns: tuple[str, ...] = ()
    """The key columns that name a group; none if all units are one."""
    between: bool = False
    """Whether the means of the groups are correlated, not the units within each."""


def key_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of a long table that name its units."""
    names = [
        str(column)
        for column, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if column not in _VALUES and (dtype.kind != "f" or _whole(frame[column]))
    ]
    return tuple(sorted(names, key=_rank))


def _whole(column: pd.Series[float]) -> bool:
    """Say whether floats are ids that were read as floats: whole numbers, beside missing ones."""
    known = column.dropna()
    return len(known) > 0 and bool((known % 1 == 0).all())


def index_names(frame: pd.DataFrame) -> list[str]:
    """Return the levels of an index that are columns, not mere numbers of rows."""
    levels = {str(n): frame.index.get_level_values(str(n)) for n in frame.index.names if n}
    return [
        name
        for name, values in levels.items()
        if name.endswith(_SUFFIX) or values.dtype.kind not in "iu" or not values.is_unique
    ]


def matched(frame: pd.DataFrame, other: pd.DataFrame) -> list[str]:
    """Return the key columns that two tables have in common, in order."""
    return [k for k in key_columns(frame) if k in key_columns(other)]


def _rank(column: str) -> int:
    name = noun(column)
    if name in _FIRST:
        return _FIRST.index(name)
    return len(_FIRST) + (not column.endswith(_SUFFIX))


def noun(column: str) -> str:
    """Return what one value of a key column is called: ``user`` for ``user_id``."""
    return column.removesuffix(_SUFFIX) or column


def nouns_of(keys: Iterable[str]) -> dict[str, str]:
    """Return what a value of each key column is called."""
    return {key: noun(key) for key in keys}


def levels_of(keys: Sequence[str]) -> dict[str, Level]:
    """Return the levels at which units with these keys are correlated, by name."""
    within = [k for k in keys if k.endswith(_SUFFIX)] or list(keys[:-1])
    levels = [Level(DATASET), *(Level(noun(k), (k,)) for k in within)]
    if len(within) > 1:
        levels.insert(2, Level(PAIR, tuple(within[:2])))
    # A key that is called as one of the two levels of every data set has none of its own.
    own = [k for k in keys if k not in within and noun(k) not in (DATASET, PAIR)]
    return {level.name: level for level in [*levels, *(Level(noun(k), (k,), between=True) for k in own)]}


def compared_key(keys: Sequence[str]) -> str | None:
    """Return the first key whose values are compared by their means; None if there is none."""
    return next((level.columns[0] for level in levels_of(keys).values() if level.between), None)


def preferred_levels(keys: Sequence[str]) -> tuple[str, ...]:
    """Return the levels of a study that names none: the first three, without groups of one unit each."""
    return tuple(name for name, level in levels_of(keys).items() if {*level.columns} != {*keys})[:3]


def cluster_columns(keys: Sequence[str]) -> Mapping[str, str]:
    """Return what units can be resampled by → its column; the first is the default."""
    return {noun(k): k for k in keys}


def author_key(of: Mapping[str, str]) -> str:
    """Return the key column whose values are called generators, which wrote the units; empty if none is."""
    return next((key for key, called in of.items() if called == "generator"), "")
