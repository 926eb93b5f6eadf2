"""Tables in Parquet files: which files they are, and whether they are read into memory or by DuckDB."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from metaeval.base.errors import DataError
from metaeval.engine.alignment.policy import allowed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Engine: TypeAlias = Literal["auto", "memory", "duckdb"]
ENGINES = ("auto", "memory", "duckdb")
FilePath: TypeAlias = "str | os.PathLike[str]"

FILE = 2**40
"""More rows than a file has: rows are numbered on from a multiple of it."""
BYTES_PER_ROW = 200
"""Memory that a row of scores takes in the engine of frames: its columns, and what matching them takes."""
BYTES_PER_RATING = 500
"""Memory that a row of the truth takes while it is worked with, its units and groups included."""
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

        Raises `DataError` if there are none, one of them is no Parquet file, or their folders do not name the
        same columns.
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
        table = cls(name, tuple(sorted(found)))
        for file in table.files:
            values = dict(_HIVE.findall(Path(file).as_posix()))
            if lacking := ", ".join(table.folders.keys() - values.keys()):
                raise DataError(f"{name}: {file} lies in no folder that names its {lacking}, as others do")
            if odd := next((f"{c}={v}" for c, v in values.items() if "=" in v), None):
                raise DataError(f"{name}: the folder {odd} has a second =; write it as %3D")
        return table

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
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            empty: pd.DataFrame = pq.read_schema(self.files[0]).empty_table().to_pandas()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: {self.files[0]} cannot be read: {error}") from error
        return empty.assign(**dict.fromkeys(self.folders, ""))

    @cached_property
    def rows(self) -> int:
        """The number of rows, as the footers of the files say."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        total = 0
        for file in self.files:
            try:
                total += pq.read_metadata(file).num_rows
            except (pa.ArrowException, OSError) as error:
                raise DataError(f"{self.name}: {file} cannot be read: {error}") from error
        return total

    @property
    def parts(self) -> int:
        """In how many parts a truth is worked with; each takes half of the available memory at most."""
        return max(1, -(-2 * self.rows * BYTES_PER_RATING // max(1, available_memory())))

    def row_text(self, row: int) -> str:
        """Return where a row is, of a number that counts on from file to file as those of DuckDB do."""
        file, at = divmod(row, FILE)
        return str(at) if len(self.files) == 1 else f"{at} of {self.files[file]}"

    def frame(self) -> pd.DataFrame:
        """Read the table into memory."""
        import pyarrow as pa
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


def head_of(given: pd.DataFrame | FilePath, name: str) -> pd.DataFrame:
    """Return the columns of a table that may lie in Parquet files."""
    return Parquet.of(given, name).head() if isinstance(given, str | os.PathLike) else given


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
