"""Make a data set of a table in Python, by the same column map as on the command line, or by its columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.errors import DataError, sound
from metaeval.base.validation import model_of, read_model
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.frames import from_frames
from metaeval.kinds.explanations.data.tables.importer import convert
from metaeval.kinds.explanations.data.tables.map import TableMap
from metaeval.sources.hub.repository import any_table, dataset_table, split_table
from metaeval.sources.tables.table import from_frame

if TYPE_CHECKING:
    import datasets

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.sources.tables.table import Table

_SAID = ("rater", "aspect", "rating")


def from_table(
    table: pd.DataFrame | datasets.Dataset | datasets.DatasetDict | str | os.PathLike[str],
    map: Mapping[str, Any] | str | os.PathLike[str] | None = None,  # noqa: A002 - the word of the command line
) -> ExplanationSet:
    """Return the data set that a column map makes of a table, wide or long, in a layout of its own.

    Parameters
    ----------
    table
        A DataFrame, a ``datasets.Dataset``, a ``datasets.DatasetDict`` (the map's ``split`` says which of its
        tables, if there are several), or what `metaeval data import table` takes: the path of a file, or a
        table on the Hugging Face hub.
    map
        Which column is what: the content of a map file, in which ``name`` may be left out, or its path; see
        docs/reference/maps.md. May be left out where there is one row per rating and
        the columns have the names of this package.

    Raises
    ------
    DataError
        If the map or the table cannot be used; rows are counted as in a spreadsheet, the first has number 2.
    """
    if map is None:
        return of_columns(table)
    if isinstance(map, Mapping):
        given, name = model_of({"name": "data", **map}, TableMap, "the map: "), "the map"
    elif isinstance(map, str | os.PathLike):
        given, name = sound(read_model(Path(map), TableMap)), Path(map).name
    else:
        raise DataError(f"the map is a mapping or the path of a map file, not a {type(map).__name__}")
    return convert(_table(table, given.split), given, name).data


def of_columns(table: object) -> ExplanationSet:
    """Return the data set of a table with one row per rating, whose columns have the names of this package.

    Raises
    ------
    DataError
        If a column is missing, or the rows contradict each other.
    """
    frame = _table(table, None).frame
    keys = [key for key in KEYS if key in frame]
    lacking = [c for c in ("item_id", "generator", *_SAID) if c not in frame]
    if lacking:
        raise DataError(
            f"a table without a map has one row per rating and the columns {', '.join((*KEYS, *_SAID))}; "
            f"this one has no {', '.join(lacking)} (it has {', '.join(map(str, frame))}): rename columns, or "
            "say with map= which column is what (`metaeval init` writes a map)"
        )
    return from_frames(frame.drop(columns=list(_SAID)).drop_duplicates(), frame[[*keys, *_SAID]])


def _table(table: object, split: str | None) -> Table:
    if isinstance(table, str | os.PathLike):
        return any_table(table, split)
    if isinstance(table, pd.DataFrame):
        # Named levels of the index count as columns.
        named = [n for n in table.index.names if n is not None and n not in table.columns]
        return from_frame(table.reset_index(named) if named else table, "the table")
    import datasets

    if isinstance(table, datasets.Dataset):
        return dataset_table(table, "the Dataset")
    if isinstance(table, datasets.DatasetDict):
        return split_table(table, split, "the DatasetDict")
    raise DataError(
        f"from_table takes a DataFrame, a Dataset or a DatasetDict, not a {type(table).__name__}; give "
        "one of these, or the path of a file"
    )
