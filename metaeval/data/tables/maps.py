"""The column map of `import_table`: what the columns of a table mean; docs/reference/maps.md has examples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from metaeval.base.errors import DataError, Problem, nearest, sound, unknown
from metaeval.base.validation import Strict
from metaeval.data.manifest import About, OnScale, RatedAspect, RatingScale, about
from metaeval.data.tables.columns import number_column, text_column
from metaeval.data.tables.entries import (
    Constant,
    Name,
    Names,
    RatingEntry,
    ScoreEntry,
    Word,
    Words,
    pattern_of,
    placeholders,
)
from metaeval.data.tables.nested import flattened
from metaeval.data.tables.table import Quote, Table

KEYS: tuple[str, ...] = ("user_id", "item_id", "generator")
"""The columns that name a unit; a study without users has no ``user_id``."""
_MOST_SHOWN = 20  # columns, or values of one, in a sentence


class Aspect(RatedAspect):
    """An aspect: the statement that raters saw, and how the table abbreviates it."""

    code: Name | None = None


def _said(aspects: object) -> object:
    """Return aspects that are listed by name alone with their names as statements."""
    if isinstance(aspects, list | tuple) and all(isinstance(a, str) for a in aspects):
        return {a: {"statement": a} for a in aspects}
    return aspects


_COMBINED: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "mean": lambda numbers: numbers.mean(axis=0),
    "geometric mean": lambda numbers: numbers.prod(axis=0) ** (1 / len(numbers)),
    "min": lambda numbers: numbers.min(axis=0),
    "max": lambda numbers: numbers.max(axis=0),
    "sum": lambda numbers: numbers.sum(axis=0),
}


class CombinedColumns(Strict):
    """Several columns of numbers as one; empty where one of them is."""

    columns: Names
    by: Literal["mean", "geometric mean", "min", "max", "sum"]


class Preparation(Strict):
    """How a table is read, and what is done to it before its columns are looked at."""

    split: Name | None = None
    quote: Quote | None = None
    below: bool = False
    parts: dict[Name, Name] = Field(default_factory=dict)
    join: dict[Name, Names] = Field(default_factory=dict)
    combine: dict[Name, CombinedColumns] = Field(default_factory=dict)
    missing: list[str] = Field(default_factory=list)
    explode: Names = Field(default_factory=list)
    where: dict[Name, Words] = Field(default_factory=dict)
    rename: dict[Name, dict[Word, Word | None]] = Field(default_factory=dict)

    @property
    def made_of(self) -> set[str]:
        """The columns of which others are made."""
        lists = [*self.join.values(), *(how.columns for how in self.combine.values())]
        return {*self.parts, *(column for columns in lists for column in columns)}


class TableMap(Preparation, About, OnScale):
    """The content of a map file."""

    kind: Literal["explanations"] = "explanations"
    aspects: Annotated[dict[Name, Aspect], Field(min_length=1), BeforeValidator(_said)]
    scale: RatingScale | None
    units: dict[Name, Constant | Name]
    users: dict[Name, Name] = Field(default_factory=dict)
    ratings: list[RatingEntry] = Field(default_factory=list)
    scores: list[ScoreEntry] = Field(default_factory=list)

    @field_validator("units")
    @classmethod
    def _has_keys(cls, units: dict[str, str | Constant]) -> dict[str, str | Constant]:
        for key in KEYS[1:]:
            if key not in units:
                raise ValueError(f"must say which column is {key!r}{nearest(key, units)}")
        return units

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if "ratings" not in self.model_fields_set and not self.scores:
            raise ValueError("the map names no ratings (`[]` if nobody has rated yet) and no scores")
        if self.users and "user_id" not in self.units:
            raise ValueError("`users` names profiles, but `units` says no user_id")
        if len(self.codes) != len(set(self.codes)):
            raise ValueError("two aspects have one code")
        for entry in self.ratings:
            if entry.aspect is None and any(
                not {"aspect", "code"} & set(placeholders(c)) for c in entry.columns
            ):
                raise ValueError(f"ratings in {entry.columns[0]!r}: say of which `aspect`")
        return self

    @property
    def codes(self) -> list[str]:
        """What abbreviates the aspects in names of columns."""
        return [a.code for a in self.aspects.values() if a.code]

    @property
    def texts(self) -> bool:
        """Whether the table holds the explanations themselves."""
        return "explanation" in self.units

    @property
    def in_words(self) -> bool:
        """Whether an aspect is rated in words."""
        scales = (self.scale, *(a.scale for a in self.aspects.values()))
        return any(scale is not None and scale.labels for scale in scales)

    @property
    def aspect_names(self) -> Mapping[str, str]:
        """Name or code of an aspect → its name."""
        codes = {a.code: name for name, a in self.aspects.items() if a.code}
        return {**codes, **{name: name for name in self.aspects}}

    def about(self) -> dict[str, Any]:
        """Return the content of ``dataset.yaml``."""
        aspects = {
            name: a.statement if a.scale is None else RatedAspect(statement=a.statement, scale=a.scale)
            for name, a in self.aspects.items()
        }
        return {**about(self), "texts": self.texts, "aspects": aspects, "scale": self.scale}


def prepared(table: Table, table_map: TableMap, map_name: str) -> tuple[Table, dict[str, str]]:
    """Return the table as the map wants it, and the column of each key and field of units.

    `DataError` is raised if the map names a column or value that the table does not have.
    """
    table = _with_made(flattened(table, table_map.explode, table_map.where), table_map, map_name)
    for column, words in table_map.where.items():
        table = kept(table, column, words, map_name)
    frame = table.frame.copy(deep=False)
    given = [str(c) for c in frame.columns]
    for columns, renamed in table_map.rename.items():
        for column, _ in matching(columns, table_map, given, map_name):
            texts = pd.Series(_texts(table, column), dtype=object).str.strip()
            frame[column] = np.array([renamed.get(t, t) or "" for t in texts], dtype=object)
    units: dict[str, str] = {}
    for key, source in table_map.units.items():
        units[key] = source if isinstance(source, str) else f"{key} (of the map)"
        if isinstance(source, Constant):
            frame[units[key]] = table.rows.astype(str) if source.row else source.constant
    return replace(table, frame=frame), units


def _with_made(table: Table, table_map: TableMap, map_name: str) -> Table:
    """Return the table with the columns that the map makes: parts of texts, texts joined, numbers."""
    frame = table.frame.copy(deep=False)

    def known(columns: Sequence[str]) -> Sequence[str]:
        there = [str(c) for c in frame.columns]
        if absent := [not_there(c, there, map_name) for c in columns if c not in there]:
            raise DataError(absent)
        return columns

    def add(name: str, values: NDArray[Any]) -> None:
        if name in frame.columns:
            raise DataError([Problem(map_name, None, None, f"makes the column {name!r}, which is there")])
        frame[name] = values

    for column, pattern in table_map.parts.items():
        texts = _texts(table, *known([column]))
        found = [pattern_of(pattern, table_map.where).fullmatch(text) for text in texts]
        if None in found:
            problem = table.problem(found.index(None), column, f"does not fit the pattern {pattern!r}")
            raise DataError([problem])
        for name in placeholders(pattern):
            add(name, np.array([match and match[name] for match in found], dtype=object))
    made = replace(table, frame=frame)
    for name, columns in table_map.join.items():
        cells = [_texts(made, column) for column in known(columns)]
        add(name, np.array([" ".join(row) for row in zip(*cells, strict=True)], dtype=object))
    for name, how in table_map.combine.items():
        numbers = [sound(number_column(made, c, table_map.missing)) for c in known(how.columns)]
        add(name, _COMBINED[how.by](np.stack(numbers)))
    return made


def matching(
    columns: str,
    table_map: TableMap,
    given: Sequence[str],
    map_name: str,
    where: Mapping[str, list[str]] | None = None,
) -> list[tuple[str, dict[str, str]]]:
    """Return the columns of the table that a name or pattern means, and what its placeholders stand for."""
    if not placeholders(columns):
        if columns not in given:
            raise DataError([not_there(columns, given, map_name)])
        return [(columns, {})]
    allowed = {"code": table_map.codes, "aspect": list(table_map.aspects), **(where or {})}
    allowed |= {n: [f"{{{n}}}"] for path in table_map.explode for n in placeholders(path)}  # rows by now
    pattern = pattern_of(columns, allowed)
    found = [(c, m.groupdict()) for c in given if (m := pattern.fullmatch(c))]
    if not found:
        near = nearest(columns, given)
        message = f"no column of the table fits the pattern {columns!r}{near} (it has: {few(given)})"
        raise DataError([Problem(map_name, None, None, message)])
    return found


def not_there(column: str, given: Sequence[str], map_name: str) -> Problem:
    """Return the problem of a column that the table does not have."""
    message = f"the column {column!r} is not in the table{nearest(column, given)} (it has: {few(given)})"
    return Problem(map_name, None, None, message)


def few(given: Sequence[str]) -> str:
    """Return the names of columns, or as many as a sentence bears."""
    more = f", and {len(given) - _MOST_SHOWN:,} more" if len(given) > _MOST_SHOWN else ""
    return f"{', '.join(given[:_MOST_SHOWN])}{more}"


def kept(table: Table, column: str, words: Collection[str], map_name: str) -> Table:
    """Return the rows of the table that have one of these values."""
    if column not in table.frame.columns:
        raise DataError([not_there(column, [str(c) for c in table.frame.columns], map_name)])
    texts = _texts(table, column)
    there = [*dict.fromkeys(texts)]
    for word in words:
        if word not in there:
            few = there[:_MOST_SHOWN] + ["…"] * (len(there) > _MOST_SHOWN)
            message = unknown(f"no row of the table has in {column!r} the value", word, few, "there are")
            raise DataError([Problem(map_name, None, None, message)])
    rows = np.flatnonzero(np.isin(texts.astype(str), list(words)))
    return replace(table, frame=table.frame.iloc[rows].reset_index(drop=True), rows=table.rows[rows])


def _texts(table: Table, column: str) -> NDArray[np.object_]:
    return sound(text_column(table, column))
