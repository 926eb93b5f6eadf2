"""Tables in Parquet files: which files they are, whether they fit in memory, and their rows one by one."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd
import pyarrow as pa

from metaeval.base.errors import DataError
from metaeval.engine.alignment.policy import allowed

if TYPE_CHECKING:
    import pyarrow.dataset as ds

Engine: TypeAlias = Literal["auto", "memory", "duckdb"]
ENGINES = ("auto", "memory", "duckdb")
FilePath: TypeAlias = "str | os.PathLike[str]"
RowName: TypeAlias = "Callable[[int], int | str]"
"""What errors call a row of a table that is read in pieces, from its number in the piece."""

BYTES_PER_ROW = 200
"""Memory that a row of scores takes when all are read: its columns, and what matching them takes."""
_ROWS = 2**20  # read at a time
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

    @cached_property
    def rows(self) -> int:
        """The number of rows, as the footers of the files say."""
        import pyarrow.parquet as pq

        total = 0
        for file in self.files:
            with self._reading(file):
                total += pq.read_metadata(file).num_rows
        return total

    def head(self, rows: int = 0) -> pd.DataFrame:
        """Return the first rows, or the columns without a row; `DataError` if a file cannot be read."""
        with self._reading(self.files[0]):
            table = self._dataset().head(rows, batch_readahead=1, fragment_readahead=1)
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def frame(self) -> pd.DataFrame:
        """Read the table into memory."""
        try:
            frame: pd.DataFrame = self._dataset().to_table().to_pandas()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: {error}") from error
        return frame

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[RowName, pa.RecordBatch]]:
        """Yield the rows in order, texts as codes with a dictionary, and what errors call each row."""
        dataset = self._dataset(coded=True)
        for file, fragment in zip(self.files, dataset.get_fragments(), strict=True):
            schema = dataset.schema
            for field in fragment.physical_schema:
                if pa.types.is_dictionary(field.type):
                    schema = schema.set(schema.get_field_index(field.name), field)
            batches = fragment.to_batches(schema, columns, batch_size=_ROWS, batch_readahead=2)
            first = 0
            with self._reading(file):
                for batch in batches:
                    if len(batch):  # a file may have no row
                        yield partial(self._row_name, file, first), batch
                    first += len(batch)

    def first_rows(self, columns: Sequence[str]) -> pd.DataFrame:
        """Return the first row of each distinct value of some columns, in order."""
        schema = self._dataset().schema
        of = [column for column in columns if column in schema.names]
        if not of:
            return self.head(1)
        seen: set[tuple[str, ...]] = set()
        kept = []
        for _, batch in self.batches():
            values = batch.select(of).to_pandas().astype("str").fillna("")
            distinct = values[~values.duplicated()]
            fresh = [row for row, *value in distinct.itertuples(name=None) if tuple(value) not in seen]
            seen.update(distinct.itertuples(index=False, name=None))
            kept.append(pa.table(batch.take(pa.array(fresh, pa.int64()))).cast(schema))
        frame: pd.DataFrame = pa.concat_tables(kept).to_pandas()
        return frame

    @cached_property
    def _schema(self) -> pa.Schema:
        """The columns of all files."""
        import pyarrow.parquet as pq

        schema = None
        for file in self.files:
            with self._reading(file):
                own = pq.read_schema(file)
            schema = own if schema is None else _joined(schema, own)
        return schema

    def _dataset(self, *, coded: bool = False) -> ds.Dataset:
        """Open the files as one table."""
        import pyarrow.dataset as ds

        texts = [field.name for field in self._schema if coded and _is_text(field.type)]
        folders = pa.schema([(column, pa.string()) for column in self.folders])
        return ds.dataset(
            list(self.files),
            pa.unify_schemas([self._schema, folders]),
            ds.ParquetFileFormat(dictionary_columns=texts),
            partitioning=ds.partitioning(folders, flavor="hive"),
        )

    @contextlib.contextmanager
    def _reading(self, file: str) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: {file} cannot be read: {error}") from error

    def _row_name(self, file: str, first: int, row: int) -> int | str:
        return first + row if len(self.files) == 1 else f"{first + row} of {file}"


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def _joined(schema: pa.Schema, other: pa.Schema) -> pa.Schema:
    """Return the columns of both; a column whose types have none in common has that of the first."""
    for field in other:
        at = schema.get_field_index(field.name)
        if at < 0:
            schema = schema.append(field)
        elif schema.field(at).type != field.type:
            with contextlib.suppress(pa.ArrowTypeError):
                both = [pa.schema([schema.field(at)]), pa.schema([field])]
                schema = schema.set(at, pa.unify_schemas(both, promote_options="permissive").field(0))
    return schema


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

    They are read in pieces if as frames they would take more than half of the memory that is available.
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
