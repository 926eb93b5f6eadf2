"""Any table → duels of slates, by a map: drawn of a user's interactions, or as the table has them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.records import FIRST, SECOND
from metaeval.base.validation import read_model
from metaeval.kinds.files.checks import TableChecker, blank
from metaeval.kinds.files.loading import Imported
from metaeval.kinds.slates.data.imports.collecting import Candidates, collected, newest
from metaeval.kinds.slates.data.imports.map import SlateMap
from metaeval.kinds.slates.data.loading import refuse_if_in_the_way, save, slate_set_of
from metaeval.kinds.slates.data.sampling import GAIN
from metaeval.kinds.slates.data.similarity import similarities
from metaeval.kinds.slates.data.slate_set import DUEL, ITEM, POSITION, SLATE, USER
from metaeval.kinds.slates.data.utilities import by_position, rescaled
from metaeval.sources.hub.repository import any_table
from metaeval.sources.tables.columns import number_column, text_column
from metaeval.sources.tables.table import Table, read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from metaeval.kinds.slates.data.slate_set import SlateSet

_TIME = "timestamp"
_UTILITIES = (f"utility_{FIRST}", f"utility_{SECOND}")


def import_table(
    source: str | os.PathLike[str],
    map_file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    force: bool = False,
) -> Imported[SlateSet]:
    """Make duels of a table.

    Parameters
    ----------
    source
        A CSV, TSV, JSONL or Parquet file, a local folder that the ``datasets`` library can load, or the name
        of a data set on the hub.
    map_file
        What each column means, a YAML file.
    out
        The folder to write; with ``force`` it replaces one that is there.

    Raises
    ------
    DataError
        If the map or the table cannot be used; each problem names the row and column of the table itself.
    """
    refuse_if_in_the_way(Path(out), force=force)
    table_map = sound(read_model(Path(map_file), SlateMap))
    table = any_table(source, table_map.split)
    columns = (table_map.interactions or table_map.duels or table_map).model_dump(exclude_none=True)
    given = [str(c) for c in table.frame.columns]
    named = [*columns.values(), *table_map.items.values(), *table_map.users.values()]
    absent = [
        Problem(Path(map_file).name, None, None, f"the column {c!r} is not in the table{nearest(c, given)}")
        for c in dict.fromkeys(named)
        if c not in given
    ]
    if absent:
        raise DataError(absent)
    if table_map.interactions is not None:
        return _drawn(_Cells(table, columns, table_map.missing), table_map, out, force=force)
    place = Path(map_file).parent
    beside = {str(kind): sound(read_table(place / file)) for kind, file in table_map.tables.items()}
    return _as_they_are(_Cells(table, columns, table_map.missing), table_map, beside, out, force=force)


class _Cells(TableChecker):
    """The columns that a map names, by our names."""

    def __init__(self, table: Table, columns: Mapping[str, str], missing: list[str]) -> None:
        super().__init__({"": table})
        self.table, self.columns, self.missing = table, columns, missing
        self.frame = pd.DataFrame(index=table.frame.index)

    def read_names(self, *names: str) -> None:
        """Read texts, none of which may be empty."""
        for name in names:
            self.frame[name] = self._texts(self.columns[name])
            self.refuse(name, blank(self.frame[name]), "is empty; every row needs one")

    def read_numbers(self, name: str) -> NDArray[np.float64]:
        """Read numbers, NaN where there is none."""
        numbers, found = number_column(self.table, self.columns[name], self.missing)
        self.problems += found
        self.frame[name] = numbers
        return numbers

    def read_times(self) -> None:
        """Read numbers, or dates as seconds since 1970."""
        numbers, wrong = number_column(self.table, self.columns[_TIME], self.missing)
        if wrong:
            texts = self._texts(self.columns[_TIME])
            dates = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
            numbers = np.asarray((dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), np.float64)
        self.frame[_TIME] = numbers
        self.refuse(
            _TIME, np.isnan(numbers), "is not a time; it may be a number, or a date such as 2024-05-31"
        )

    def refuse(self, name: str, wrong: NDArray[np.bool_], message: str) -> None:
        """Add a problem for each row that is wrong."""
        self.report("", self.columns[name], wrong, message)

    def once(self, key: str, fields: Mapping[str, str]) -> pd.DataFrame | None:
        """Return fields of an item, or a user, as they are in its first row; None if there are none."""
        if not fields:
            return None
        told = {name: self._texts(column) for name, column in fields.items()}
        return pd.DataFrame({key: self.frame[key], **told}).drop_duplicates(key)

    def _texts(self, column: str) -> pd.Series[str]:
        texts, found = text_column(self.table, column)
        self.problems += found
        return pd.Series(texts, self.frame.index, dtype="str")


def _drawn(
    cells: _Cells, table_map: SlateMap, out: str | os.PathLike[str], *, force: bool
) -> Imported[SlateSet]:
    how, scale = table_map.draw, table_map.scale
    cells.read_names(USER, ITEM)
    worth = next(name for name in ("rating", GAIN, "position") if name in cells.columns)
    numbers = cells.read_numbers(worth)
    if _TIME in cells.columns:
        cells.read_times()
    if scale is not None:
        ends = scale.scale()
        off = (numbers < ends.min) | (numbers > ends.max) | (ends.integer & (numbers % 1 > 0))
        cells.refuse(worth, off, f"is not on the scale; allowed are {ends}")
    cells.refuse(worth, (numbers < 0) & (worth == GAIN), "is below 0; a gain is 0 or more")
    items, profiles = (cells.once(key, of) for key, of in ((ITEM, table_map.items), (USER, table_map.users)))
    if cells.problems:
        raise DataError(cells.problems)
    there = cells.frame[~np.isnan(numbers)]
    notes = []
    if lacking := len(numbers) - len(there):
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
    about = table_map.about()
    if worth == "rating" and scale is not None:
        about["history_scale"] = scale.model_dump()
    found = Candidates(gains.assign(gain=gain), histories[told], items, profiles)
    return collected(about, found, out, how, notes=notes, force=force)


def _as_they_are(
    cells: _Cells,
    table_map: SlateMap,
    beside: Mapping[str, Table],
    out: str | os.PathLike[str],
    *,
    force: bool,
) -> Imported[SlateSet]:
    cells.read_names(USER, "task")
    lists = [_lists(cells, side, table_map.separator) for side in (FIRST, SECOND)]
    for name in _UTILITIES:
        cells.refuse(name, np.isnan(cells.read_numbers(name)), "is empty; every row needs one")
    if cells.problems:
        raise DataError(cells.problems)
    duels = cells.frame
    names: dict[tuple[str, tuple[str, ...]], str] = {}
    for side, slates in zip((FIRST, SECOND), lists, strict=True):
        of_user = zip(duels[USER], slates, strict=True)
        duels[side] = [names.setdefault(slate, f"s{len(names) + 1}") for slate in of_user]
    pair = pd.Series([frozenset(p) for p in zip(duels[FIRST], duels[SECOND], strict=True)], duels.index)
    duels["repeat"] = duels.groupby([duels[USER], duels["task"], pair]).cumcount()
    duels.insert(1, DUEL, cells.table.rows.astype(str))
    places = [
        (user, name, place, item)
        for (user, items), name in names.items()
        for place, item in enumerate(items, start=1)
    ]
    listed = pd.DataFrame(places, columns=[USER, SLATE, POSITION, ITEM])
    duels["similarity"] = similarities(duels, listed, _texts(beside.get("items")))
    about = table_map.about()
    if table_map.history_scale is not None:
        about["history_scale"] = table_map.history_scale.model_dump()
    table = Table(cells.table.name, duels, cells.table.rows, cells.columns)
    data = slate_set_of(about, {"duels": table, "slates": listed, **beside})
    save(data, out, force=force)
    return Imported(data, ())


def _lists(cells: _Cells, side: str, separator: str) -> list[tuple[str, ...]]:
    """Return the items of each slate."""
    found = []
    for row, value in enumerate(cells.table.frame[cells.columns[side]].astype(object)):
        items = _items(value, separator)
        again = next((item for item in items if items.count(item) > 1), None)
        if not all(items):
            message = "has an empty place; name an item in each"
        elif again is not None:
            message = f"has the item {again!r} twice; a slate has different items"
        else:
            message = "" if items else "names no item; name one or more"
        if message:
            cells.problems.append(cells.table.problem(row, cells.columns[side], message))
        found.append(tuple(items))
    return found


def _items(value: object, separator: str) -> list[str]:
    """Return the items that a cell holds: a list, the text of one, or a text with a separator."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, list | np.ndarray):
        return ["" if item is None else str(item).strip() for item in value]
    text = "" if value is None or value != value else str(value)  # noqa: PLR0124 NaN
    return [item.strip() for item in text.split(separator)] if text.strip() else []


def _texts(table: Table | None) -> pd.DataFrame | None:
    """Return a table as text; what is wrong with it is said when it is checked."""
    if table is None or ITEM not in table.frame:
        return None
    return pd.DataFrame({c: text_column(table, c)[0] for c in map(str, table.frame)}, dtype="str")
