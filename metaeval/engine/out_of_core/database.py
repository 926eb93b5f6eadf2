"""DuckDB: a connection with bounds, whose temporary files go with it."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from filelock import FileLock, Timeout

from metaeval.base.errors import DataError, MissingExtraError
from metaeval.engine.out_of_core.files import FILE, available_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    import duckdb
    import pyarrow as pa

    from metaeval.engine.out_of_core.files import Parquet

ROW = "metaeval_row"
"""The column of a view that orders its rows as the files do."""
T = TypeVar("T")

_SHARE = 4
"""DuckDB gets one part in so many of the memory that is available."""
_LOCK = "lock"
_ROWS = 2**20  # handed over at a time


@contextlib.contextmanager
def database() -> Iterator[DuckDatabase]:
    """Open DuckDB in memory; what does not fit goes to a temporary folder, which goes with the connection.

    Raises `MissingExtraError` if it is not installed.
    """
    try:
        import duckdb
    except ModuleNotFoundError:
        raise MissingExtraError("engine 'duckdb'", "duckdb") from None
    with _temporary_folder() as folder:
        options: dict[str, str | bool | int | float | list[str]] = {
            "threads": os.cpu_count() or 1,
            "memory_limit": f"{available_memory() // _SHARE}B",
            "temp_directory": str(folder),
            "preserve_insertion_order": False,
        }
        with ThreadPoolExecutor(1) as thread, duckdb.connect(config=options) as connection:
            yield DuckDatabase(connection, thread)


class DuckDatabase:
    """A connection to DuckDB; what it says of a file becomes a `DataError`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, thread: Executor) -> None:
        self._connection, self._thread = connection, thread

    def rows(self, sql: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query; ``values`` stand for its question marks."""
        return self._done(lambda: self._connection.execute(sql, values).fetchall())

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query as they come."""
        with self._done(lambda: self._connection.sql(sql).to_arrow_reader(_ROWS)) as reader:
            batches = iter(reader)
            while (batch := self._done(lambda: next(batches, None))) is not None:
                yield batch

    def table(self, sql: str) -> pa.Table:
        """Return the rows of a query as one table."""
        return self._done(lambda: self._connection.sql(sql).to_arrow_table())

    def _done(self, query: Callable[[], T]) -> T:
        """Wait for a query in another thread, so that an interrupt stops it at once."""
        with _said():
            found = self._thread.submit(query)
            try:
                return found.result()
            except KeyboardInterrupt:
                self._connection.interrupt()
                found.exception()  # waits until it has stopped
                raise

    def register(self, name: str, table: pa.Table) -> None:
        """Copy a table into the database."""
        self._connection.register("handed_over", table)
        self.rows(f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS SELECT * FROM handed_over")
        self._connection.unregister("handed_over")

    def view(self, name: str, of: Parquet) -> dict[str, str]:
        """Give Parquet files a name; return the type of each of their columns."""
        files = ", ".join(text(glob.escape(file)) for file in of.files)
        options = f"hive_partitioning = {bool(of.folders)}, hive_types_autocast = false, union_by_name = true"
        self.rows(
            f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT *, file_index * {FILE} + file_row_number "
            f"AS {ROW} FROM read_parquet([{files}], {options})"
        )
        types = {column: kind for column, kind, *_ in self.rows(f"DESCRIBE {quoted(name)}")}
        del types[ROW]
        return types


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return a text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


@contextlib.contextmanager
def _said() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise DataError(
            "DuckDB has too little memory or temporary disk for this table; free some, or let TMPDIR name a "
            f"larger disk ({_first_line(error)})"
        ) from error
    except duckdb.Error as error:
        raise DataError(f"DuckDB cannot read the table: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Yield a folder that is removed afterwards; those that killed processes left are removed before."""
    base = Path(tempfile.gettempdir())
    prefix = f"metaeval-duckdb-{getattr(os, 'getuid', int)()}"
    with FileLock(base / f"{prefix}.{_LOCK}"):  # no folder of a living process is without its lock meanwhile
        for left in base.glob(f"{prefix}-*"):
            lock = FileLock(left / _LOCK)
            with contextlib.suppress(Timeout, OSError), lock.acquire(blocking=False):
                shutil.rmtree(left, ignore_errors=True)
        folder = tempfile.TemporaryDirectory(prefix=f"{prefix}-", ignore_cleanup_errors=True)
        held = FileLock(Path(folder.name) / _LOCK).acquire()
    with folder, held:
        yield Path(folder.name)
