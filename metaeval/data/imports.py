"""Load a data set of any kind: from a folder or the hub; or say all that is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import pandas as pd
from pydantic import Field

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.validation import Line, Strict, read_model
from metaeval.data.folder import DataFolder
from metaeval.data.hub import any_tables
from metaeval.data.tables.formats import read_any
from metaeval.data.tables.table import Table, read_headerless
from metaeval.data.units import summary

if TYPE_CHECKING:
    from pydantic import BaseModel

    from metaeval.base.records import DataSet

D = TypeVar("D", bound="DataSet")


class Imported(NamedTuple, Generic[D]):
    """A data set, and what is odd about the files it is made of."""

    data: D
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return a summary in one line, and one line per note."""
        return [summary(self.data), *self.notes]


class Files(NamedTuple):
    """What an importer makes of files."""

    about: Mapping[str, Any]
    """The keys of ``dataset.yaml`` without ``kind``."""
    tables: Mapping[str, Table | pd.DataFrame]
    notes: Sequence[str] = ()
    """What is odd about the files."""


def importer(
    folder: DataFolder[D], read: Callable[..., Files], notes: Callable[[D], Sequence[str]] = lambda _: ()
) -> Callable[..., Imported[D]]:
    """Return a function that saves what ``read`` makes of files.

    Its arguments are those of ``read`` and, after the first one, ``out``, the folder to write; by name also
    ``name``, that of the data set, and ``force``, to replace one that is there. Without a name the data set
    has that of ``about``, or else of the folder.
    """

    def run(
        source: object,
        out: str | os.PathLike[str],
        *given: object,
        name: str | None = None,
        force: bool = False,
        **options: object,
    ) -> Imported[D]:
        folder.refuse_if_in_the_way(Path(out), force=force)
        about, tables, told = read(source, *given, **options)
        called = name or about.get("name") or Path(out).resolve().name
        data = folder.make({**about, "name": called}, tables)
        folder.save(data, out, force=force)
        return Imported(data, (*told, *notes(data)))

    run.__name__, run.__doc__ = read.__name__, read.__doc__
    return run


def table_importer(
    folder: DataFolder[D], model: type[BaseModel]
) -> Callable[[Callable[..., Files]], Callable[..., Imported[D]]]:
    """Make of a function an import of any table by a map, which is a ``model``.

    The function takes the table, its map, the name of the map's file, and the tables that the map names.
    """

    def decorate(read: Callable[..., Files]) -> Callable[..., Imported[D]]:
        def read_mapped(source: str | os.PathLike[str] | Sequence[str], place: Path) -> Files:
            table_map: Any = sound(read_model(place, model))
            header, quote = getattr(table_map, "header", None), table_map.quote
            sources = [source] if isinstance(source, str | os.PathLike) else source
            bare = read_headerless(Path(sources[0]), header, quote=quote or "") if header else None
            table = sound(bare) if bare else any_tables(sources, table_map.split, quote=quote)
            beside = {str(k): _beside(place.parent, file) for k, file in table_map.tables.items()}
            return read(table, table_map, place.name, beside)

        def import_table(
            source: str | os.PathLike[str] | Sequence[str],
            map_file: str | os.PathLike[str],
            out: str | os.PathLike[str],
            *,
            force: bool = False,
        ) -> Imported[D]:
            """Make a data set of a table.

            Parameters
            ----------
            source
                A CSV, TSV, JSONL or Parquet file, a local folder that the ``datasets`` library can load, or
                the name of a data set on the hub; or several, of which those with the same columns are put
                below each other and others side by side.
            map_file
                What each column means, a YAML file.
            out
                The folder to write; with ``force`` it replaces one that is there.

            Raises
            ------
            DataError
                If the map or the table cannot be used; each problem names the row and column of the table
                itself.
            """
            return importer(folder, read_mapped)(source, out, Path(map_file), force=force)

        return import_table

    return decorate


class TableFile(Strict):
    """A file beside a map whose columns have other names, or none."""

    file: Line
    columns: dict[Line, Line] = Field(default_factory=dict)
    """Our name of a column → its name in the file; no others are read. All, if left out."""
    header: list[Line] | None = None
    """Names of the columns of a file without a header, tabs between them."""


def _beside(folder: Path, given: str | TableFile) -> Table:
    """Read a file beside a map."""
    if isinstance(given, str):
        return sound(read_any(folder / given))
    path = folder / given.file
    table = sound(read_headerless(path, given.header)) if given.header else sound(read_any(path))
    if problems := absent_columns(table, given.columns):
        raise DataError([Problem(given.file, None, None, text) for text in problems])
    return renamed(table, given.columns) if given.columns else table


def absent_columns(table: Table, *maps: Mapping[str, str]) -> list[str]:
    """Say which columns that maps name are not in the table."""
    given = [str(c) for c in table.frame.columns]
    absent = dict.fromkeys(c for named in maps for c in named.values() if c not in given)
    return [f"the column {c!r} is not in the table{nearest(c, given)}" for c in absent]


def renamed(table: Table, columns: Mapping[str, str]) -> Table:
    """Return some columns of a table, by other names."""
    frame = table.frame[list(columns.values())].set_axis(list(columns), axis="columns")
    return Table(table.name, frame, table.rows, columns)


def once(table: Table, key: str) -> Table:
    """Return the first row of each value of a key, without rows that have none."""
    first = (table.frame[key].notna() & ~table.frame[key].duplicated()).to_numpy()
    return Table(table.name, table.frame[first].reset_index(drop=True), table.rows[first], table.labels)
