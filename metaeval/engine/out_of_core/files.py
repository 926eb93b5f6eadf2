"""Tables in Parquet files: which files they are, whether DuckDB reads them, and its connection."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import pandas as pd
import pyarrow as pa

from metaeval.base.errors import DataError, MissingExtraError
from metaeval.engine.alignment.policy import allowed

if TYPE_CHECKING:
    import duckdb


Engine: TypeAlias = Literal["auto", "memory", "duckdb"]
ENGINES = ("auto", "memory", "duckdb")
FilePath: TypeAlias = "str | os.PathLike[str]"

FILE = 2**40
"""More rows than a file has: rows are numbered on from a multiple of it."""
BYTES_PER_ROW = 200
"""Memory that a row of scores takes in the engine of frames: its columns, and what matching them takes."""
_SUFFIXES = (".parquet", ".pq")
_HIVE = re.compile(r"([^/=]+)=([^/]*)/")


@dataclass(frozen=True)
class Parquet:
    """A table in Parquet files, which may lie in folders such as ``evaluator=bleu``."""

    name: str
    """What it holds, for errors: the scores, or the truth."""
    files: tuple[str, ...]
    """In order, which is that of the rows."""

    @classmethod
    def of(cls, given: FilePath, name: str) -> Parquet:
        """Find the files of a path, of a glob such as ``scores/*.parquet``, or in a folder.

        Raises `DataError` if there are none, or one of them is no Parquet file.
        """
        path = os.fspath(given)
        if not path:
            found, none = [], "the path is empty"
        elif Path(path).is_dir():
            found = [str(f) for suffix in _SUFFIXES for f in Path(path).rglob(f"*{suffix}")]
            none = f"the folder {path} holds no Parquet file"
        elif Path(path).exists():
            found, none = [path], ""
        else:
            found = [f for f in glob.glob(path, recursive=True) if Path(f).is_file()]  # noqa: PTH207 - takes absolute ones
            none = f"there is no file {path}"
        other = next((f for f in found if not f.endswith(_SUFFIXES)), None)
        if other is not None or not found:
            problem = none if other is None else f"{other} is no Parquet file"
            raise DataError(
                f"{name}: {problem}; give a Parquet file, a glob of them, or a folder that holds them"
            )
        return cls(name, tuple(sorted(found)))

    @staticmethod
    def named(given: FilePath) -> bool:
        """Say whether a path is that of a Parquet file, by its suffix, or a glob."""
        path = os.fspath(given)
        return path.endswith(_SUFFIXES) or (glob.has_magic(path) and not Path(path).exists())

    @cached_property
    def folders(self) -> dict[str, None]:
        """The columns that the names of folders hold, such as ``evaluator`` in ``evaluator=bleu``."""
        return {column: None for file in self.files for column, _ in _HIVE.findall(Path(file).as_posix())}

    def head(self) -> pd.DataFrame:
        """Return the columns, without a row; `DataError` if the first file cannot be read."""
        import pyarrow.parquet as pq

        with self._reading(self.files[0]):
            empty: pd.DataFrame = pq.read_schema(self.files[0]).empty_table().to_pandas()
        return empty.assign(**dict.fromkeys(self.folders, ""))

    @cached_property
    def rows(self) -> int:
        """The number of rows, as the footers of the files say."""
        import pyarrow.parquet as pq

        total = 0
        for file in self.files:
            with self._reading(file):
                total += pq.read_metadata(file).num_rows
        return total

    @contextlib.contextmanager
    def _reading(self, file: str) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: {file} cannot be read: {error}") from error

    def row_text(self, row: int) -> str:
        """Return where a row is, of a number that counts on from file to file as those of DuckDB do."""
        file, at = divmod(row, FILE)
        return str(at) if len(self.files) == 1 else f"{at} of {self.files[file]}"

    def frame(self) -> pd.DataFrame:
        """Read the table into memory."""
        import pyarrow.dataset as ds

        texts = pa.schema([(column, pa.string()) for column in self.folders])
        try:
            table: pa.Table = ds.dataset(
                list(self.files), format="parquet", partitioning=ds.partitioning(texts, flavor="hive")
            ).to_table()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: {error}") from error
        frame: pd.DataFrame = table.to_pandas()
        return frame


def in_memory(given: Any, name: str) -> Any:  # noqa: ANN401 - a frame, or what is not one and refused later
    """Return a table that may lie in Parquet files as a frame."""
    return Parquet.of(given, name).frame() if isinstance(given, str | os.PathLike) else given


def refuse_duckdb(engine: Engine) -> None:
    """Check the engine of scores that are a frame."""
    allowed("engine", [engine], ENGINES)
    if engine == "duckdb":
        raise DataError(
            "engine 'duckdb' reads scores in Parquet files; give their path, or leave the engine out"
        )


def chosen(engine: Engine, scores: Parquet) -> Engine:
    """Return the engine of scores in files.

    It is DuckDB if as frames they would take more than half of the memory that is available.
    """
    allowed("engine", [engine], ENGINES)
    if engine != "auto":
        return engine
    return "duckdb" if scores.rows * BYTES_PER_ROW > available_memory() // 2 else "memory"


def available_memory() -> int:
    """Return how many bytes of memory are free, or half of all that there are if the system does not say."""
    try:
        said = Path("/proc/meminfo").read_text(encoding="ascii")
        free = int(said.split("MemAvailable:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    container = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):  # no container, or one without a limit
        limit, used = (int((container / name).read_text()) for name in ("memory.max", "memory.current"))
        free = min(free, max(0, limit - used))
    return free


ROW = "metaeval_row"
"""The column of a view that orders its rows as the files do."""
T = TypeVar("T")

_SHARE = 4
"""DuckDB gets one part in so many of the memory that is available."""
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
    with tempfile.TemporaryDirectory(prefix="metaeval-duckdb-", ignore_cleanup_errors=True) as folder:
        options: dict[str, str | bool | int | float | list[str]] = {
            "threads": os.cpu_count() or 1,
            "memory_limit": f"{available_memory() // _SHARE}B",
            "temp_directory": folder,
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
        with _errors_of_duckdb():
            running = self._thread.submit(query)
            try:
                return running.result()
            except KeyboardInterrupt:
                self._connection.interrupt()
                running.exception()  # waits until it has stopped
                raise

    def register(self, name: str, table: pa.Table) -> None:
        """Copy a table into the database."""
        self._connection.register("handed_over", table)
        self.rows(f"CREATE OR REPLACE TEMP TABLE {quoted(name)} AS SELECT * FROM handed_over")
        self._connection.unregister("handed_over")

    def view(self, name: str, table: Parquet) -> dict[str, str]:
        """Give Parquet files a name; return the type of each of their columns."""
        files = ", ".join(text(glob.escape(file)) for file in table.files)
        hive = f"hive_partitioning = {bool(table.folders)}, hive_types_autocast = false"
        self.rows(
            f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT *, file_index * {FILE} + file_row_number "
            f"AS {ROW} FROM read_parquet([{files}], {hive}, union_by_name = true)"
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
def _errors_of_duckdb() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise DataError(
            "DuckDB has too little memory or temporary disk for this table; free some, or let TMPDIR name a "
            f"larger disk ({str(error).splitlines()[0]})"
        ) from error
    except duckdb.Error as error:
        raise DataError(f"DuckDB cannot read the table: {str(error).splitlines()[0]}") from error
