"""Make a data set of any table, by a column map or by its columns; or of the export of a tool."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.errors import DataError, sound
from metaeval.base.validation import model_of, read_model
from metaeval.data.hub import any_table, any_tables, dataset_table, split_table
from metaeval.data.imports import Files, Imported
from metaeval.data.tables.converting import converted
from metaeval.data.tables.maps import KEYS, TableMap
from metaeval.data.tables.table import Quote, Table, from_frame
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import FOLDER, from_frames, refuse_if_in_the_way, save

if TYPE_CHECKING:
    import datasets

_SAID = ("rater", "aspect", "rating")


@dataclass(frozen=True, slots=True)
class TableImport:
    """The data set, and the columns of the table that the map does not name."""

    data: ExplanationSet
    unmapped: tuple[str, ...]


def import_table(
    source: str | os.PathLike[str] | Sequence[str],
    map_file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    force: bool = False,
    cache: Path | None = None,
) -> TableImport:
    """Make a data set of a table.

    Parameters
    ----------
    source
        A CSV, TSV, XLSX, JSON, JSONL or Parquet file, a local folder that the ``datasets`` library can load,
        or the name of a data set on the hub; or several, see ``metaeval.data.tables.several``.
    map_file
        What each column means, a YAML file.
    out
        The data-set folder to write; with ``force`` it replaces one that is there.
    cache
        Where the ``datasets`` library keeps its copy.

    Raises
    ------
    DataError
        If the map or the table cannot be used; each problem names the row and column of the table itself.
    """
    refuse_if_in_the_way(Path(out), force=force)
    table_map = sound(read_model(Path(map_file), TableMap))
    sources = [source] if isinstance(source, str | os.PathLike) else source
    table = any_tables(sources, table_map.split, cache, table_map.quote, below=table_map.below)
    result = convert(table, table_map, Path(map_file).name)
    save(result.data, out, force=force)
    return result


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
    return convert(_table(table, given.split, given.quote), given, name).data


def of_columns(table: object) -> ExplanationSet:
    """Return the data set of a table with one row per rating, whose columns have the names of this package.

    `DataError` is raised if a column is missing, or the rows contradict each other.
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


def _table(table: object, split: str | None, quote: Quote | None = None) -> Table:
    if isinstance(table, str | os.PathLike):
        return any_table(table, split, quote=quote)
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


def convert(table: Table, table_map: TableMap, map_name: str = "the map") -> TableImport:
    """Return the data set that ``table_map`` makes of ``table``."""
    tables, unmapped = converted(table, table_map, map_name)
    return TableImport(FOLDER.make(table_map.about(), tables), unmapped)


def data_set(files: Files) -> Imported[ExplanationSet]:
    """Return the data set of what `metaeval.data.exports.known.files_of` makes of an export."""
    return Imported(FOLDER.make(files.about, files.tables), tuple(files.notes))
