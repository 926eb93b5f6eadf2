"""Any table → duels of slates, by a map: drawn of a user's interactions, or as the table has them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, sound
from metaeval.base.records import FIRST, SECOND
from metaeval.base.validation import Strict
from metaeval.data.checks import NAME, NUMBER, DataColumn, DataTable, TableChecker
from metaeval.data.imports import Files, TableFile, absent_columns, once, renamed, table_importer
from metaeval.data.manifest import About, ScaleModel, about
from metaeval.data.tables.columns import TimeUnit, text_column, timed
from metaeval.data.tables.entries import Name
from metaeval.data.tables.table import Quote, Table
from metaeval.kinds.slates.data.imports.collecting import Candidates, duels_of, newest
from metaeval.kinds.slates.data.loading import FOLDER, DomainModel
from metaeval.kinds.slates.data.sampling import GAIN, Sampling, by_position, rescaled, similarities
from metaeval.kinds.slates.data.slate_set import DUEL, ITEM, POSITION, QUESTION, SLATE, USER

_TIME = "timestamp"
_UTILITIES = (f"utility_{FIRST}", f"utility_{SECOND}")


_FOREIGN = {
    "duels": ("items", "users", "scale", "draw", "time_unit"),
    "interactions": ("separator", "history_scale"),
}
"""Form of a map → the keys that are the other's."""


class InteractionTable(Strict):
    """Which column is what, in a table with a row per user and item."""

    user_id: Name
    item_id: Name
    rating: Name | None = None
    gain: Name | None = None
    position: Name | None = None
    timestamp: Name | None = None

    @model_validator(mode="after")
    def _say_what_an_item_is_worth(self) -> Self:
        if sum(column is not None for column in (self.rating, self.gain, self.position)) != 1:
            raise ValueError("interactions: name one of rating, gain and position")
        return self


class DuelColumns(Strict):
    """Which column is what, in a table with a row per duel."""

    user_id: Name
    task: Name
    first: Name
    second: Name
    utility_first: Name
    utility_second: Name


class SlateMap(About):
    """The content of a map file."""

    kind: Literal["slates"]
    interactions: InteractionTable | None = None
    duels: DuelColumns | None = None
    items: dict[Name, Name] = Field(default_factory=dict)
    users: dict[Name, Name] = Field(default_factory=dict)
    scale: ScaleModel | None = None
    draw: Sampling = Field(default_factory=Sampling)
    separator: str = Field(default="|", min_length=1)
    tables: dict[Literal["items", "histories", "profiles"], Name | TableFile] = Field(default_factory=dict)
    history_scale: ScaleModel | None = None
    tasks: dict[Name, Name] = Field(default_factory=dict)
    domain: DomainModel = DomainModel()
    statement: Name = QUESTION
    missing: list[str] = Field(default_factory=list)
    split: Name | None = None
    time_unit: TimeUnit | None = None
    quote: Quote | None = None

    @model_validator(mode="after")
    def _is_of_one_form(self) -> Self:
        if (self.interactions is None) == (self.duels is None):
            raise ValueError("name the columns of either `interactions` or `duels`")
        form = "duels" if self.duels else "interactions"
        for key in _FOREIGN[form]:
            if key in self.model_fields_set:
                raise ValueError(f"{key} does not apply to {form}; leave it out")
        for key, fields in (("items", self.items), ("profiles", self.users)):
            if fields and key in self.tables:
                raise ValueError(f"fields of {key} come from the table or from `tables`, not from both")
        if self.interactions and self.interactions.rating and self.scale is None:
            raise ValueError("the key 'scale' is missing; ratings need one, such as {min: 1, max: 5}")
        return self

    def about(self) -> dict[str, Any]:
        """Return the keys of ``dataset.yaml`` that the map says."""
        domain = self.domain.model_dump()
        return {**about(self), "statement": self.statement, "domain": domain, "tasks": dict(self.tasks)}


@table_importer(FOLDER, SlateMap)
def import_table(table: Table, table_map: SlateMap, map_name: str, beside: Mapping[str, Table]) -> Files:
    """Make duels of a table."""
    columns = (table_map.interactions or table_map.duels or table_map).model_dump(exclude_none=True)
    absent = absent_columns(table, columns, table_map.items, table_map.users)
    if absent:
        raise DataError([Problem(map_name, None, None, text) for text in absent])
    if table_map.duels:
        return _as_they_are(renamed(table, columns), table_map, beside)
    known = {
        kind: _texts(once(renamed(table, {key: columns[key], **fields}), key))
        for kind, key, fields in (("items", ITEM, table_map.items), ("profiles", USER, table_map.users))
        if fields
    }
    keys = {"items": [ITEM], "profiles": [USER], "histories": [USER, ITEM]}
    for kind, other in beside.items():
        if lacking := [key for key in keys[kind] if key not in other.frame]:
            raise DataError(f"{other.name} has no column {lacking[0]!r}, which the table {kind!r} needs")
        known[kind] = _texts(other if kind == "histories" else once(other, keys[kind][0]))
    return _drawn(renamed(table, columns), table_map, known)


class _Checker(TableChecker):
    """Reads the columns that a map names, by our names."""

    def __init__(self, table: Table, missing: Sequence[str], specified: Mapping[str, DataColumn]) -> None:
        """Leave out words for no number."""
        numbers = {c: table.frame[c] for c, column in specified.items() if column.number}
        cells = {c: v.mask(v.astype(str).str.strip().isin(missing)) for c, v in numbers.items()}
        self.table = replace(table, frame=table.frame[[*specified]].assign(**cells))
        super().__init__({"": self.table})
        self.specified = specified

    def frame(self) -> pd.DataFrame:
        """Return the columns, or raise `DataError` with every problem."""
        frames = self.read_all({"": DataTable(self.specified)})
        if self.problems:
            raise DataError(self.problems)
        return frames[""]


def _drawn(table: Table, table_map: SlateMap, known: Mapping[str, pd.DataFrame]) -> Files:
    how, scale = table_map.draw, table_map.scale
    worth = next(name for name in ("rating", GAIN, "position") if name in table.frame)
    specified = {USER: NAME, ITEM: NAME, worth: DataColumn(number=True, filled=False)}
    if scale is not None:
        ends = scale.scale()
        specified[worth] = specified[worth]._replace(
            wrong=lambda n: (n < ends.min) | (n > ends.max) | (ends.integer & (n % 1 > 0)),
            says=f"is not on the scale; allowed are {ends}",
        )
    elif worth == GAIN:
        below = "is below 0; a gain is 0 or more"
        specified[worth] = specified[worth]._replace(wrong=lambda n: n < 0, says=below)
    notes: list[str] = []
    if _TIME in table.frame:
        table, notes = timed(table, _TIME, table_map.time_unit)
        specified[_TIME] = DataColumn(number=True, filled=False)
    checker = _Checker(table, table_map.missing, specified)
    if _TIME in specified:
        message = "is not a time; it may be a number, or a date such as 2024-05-31"
        checker.report("", _TIME, table.frame[_TIME].isna().to_numpy(), message)
    frame = checker.frame()
    there = frame[frame[worth].notna()]
    if lacking := len(frame) - len(there):
        notes.append(f"{counted(lacking, 'row')} without a {worth}, left out")
    if scale is not None:
        low, high = scale.min, scale.max
    else:
        low, high = 0.0, float(there[worth].max()) or 1.0
    by = next((name for name in (_TIME, "position") if name in there), None)
    if by is None:
        how = how.model_copy(update={"history": 0, "candidates": len(there)})
    kept = [USER, ITEM, *dict.fromkeys([worth, *([by] if by else [])])]
    gains, histories = newest(there[kept], by or ITEM, how)
    gain = (
        by_position(gains[USER], gains[worth])
        if worth == "position"
        else rescaled(gains[worth].to_numpy(), low, high)
    )
    told = [c for c in (USER, ITEM, "rating", _TIME) if c in histories]
    past = histories[told]
    if (further := known.get("histories")) is not None:
        past = pd.concat([past, _earlier(further, gains, table_map.time_unit)], ignore_index=True)
    described = table_map.about()
    if worth == "rating" and scale is not None:
        described["history_scale"] = scale.model_dump()
    found = (past, known.get("items"), known.get("profiles"), notes)
    return duels_of(Candidates(described, gains.assign(gain=gain), *found, worth != "rating"), how)


def _earlier(further: pd.DataFrame, gains: pd.DataFrame, unit: TimeUnit | None) -> pd.DataFrame:
    """Return what else users did before the first of their candidates, with other items than these."""
    if _TIME not in further or _TIME not in gains:
        raise DataError(
            "a table of histories needs times, and the interactions, too: what came later is left out"
        )
    rows = np.arange(1, len(further) + 1)
    frame = timed(Table("histories", further, rows), _TIME, unit)[0].frame
    first = frame[USER].map(gains.groupby(USER)[_TIME].min())
    candidates = pd.MultiIndex.from_frame(gains[[USER, ITEM]])
    own = pd.MultiIndex.from_frame(frame[[USER, ITEM]]).isin(candidates)
    return frame[(frame[_TIME] < first) & ~own]


def _as_they_are(table: Table, table_map: SlateMap, beside: Mapping[str, Table]) -> Files:
    specified = dict.fromkeys((USER, "task"), NAME) | dict.fromkeys(_UTILITIES, NUMBER)
    checker = _Checker(table, table_map.missing, specified)
    lists = [_lists(table, side, table_map.separator, checker.problems) for side in (FIRST, SECOND)]
    duels = checker.frame()
    names: dict[tuple[str, tuple[str, ...]], str] = {}
    for side, slates in zip((FIRST, SECOND), lists, strict=True):
        of_user = zip(duels[USER], slates, strict=True)
        duels[side] = [names.setdefault(slate, f"s{len(names) + 1}") for slate in of_user]
    pair = pd.Series([frozenset(p) for p in zip(duels[FIRST], duels[SECOND], strict=True)], duels.index)
    duels["repeat"] = duels.groupby([duels[USER], duels["task"], pair]).cumcount()
    duels.insert(1, DUEL, table.rows.astype(str))
    places = [
        (user, name, place, item)
        for (user, items), name in names.items()
        for place, item in enumerate(items, start=1)
    ]
    listed = pd.DataFrame(places, columns=[USER, SLATE, POSITION, ITEM])
    told = beside.get("items")
    items = None if told is None or ITEM not in told.frame else _texts(told)
    duels["similarity"] = similarities(duels, listed, items)
    described = table_map.about()
    if table_map.history_scale is not None:
        described["history_scale"] = table_map.history_scale.model_dump()
    return Files(described, {"duels": replace(table, frame=duels), "slates": listed, **beside})


def _lists(table: Table, side: str, separator: str, problems: list[Problem]) -> list[tuple[str, ...]]:
    """Return the items of each slate."""
    lists = [tuple(_items(value, separator)) for value in table.frame[side].astype(object)]
    for row, items in enumerate(lists):
        again = next((item for item in items if items.count(item) > 1), None)
        if not items:
            message = "names no item; name one or more"
        elif not all(items):
            message = "has an empty place; name an item in each"
        elif again is not None:
            message = f"has the item {again!r} twice; a slate has different items"
        else:
            continue
        problems.append(table.problem(row, side, message))
    return lists


def _items(value: object, separator: str) -> list[str]:
    """Return the items that a cell holds: a list, the text of one, or a text with a separator."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, list | np.ndarray):
        return ["" if item is None else str(item).strip() for item in value]
    text = "" if value is None or value != value else str(value)  # noqa: PLR0124 NaN
    return [item.strip() for item in text.split(separator)] if text.strip() else []


def _texts(table: Table) -> pd.DataFrame:
    return pd.DataFrame({c: sound(text_column(table, c)) for c in map(str, table.frame)}, dtype="str")
