"""Small files that stand for large tables: one sentence, and little memory."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaeval.sources.tables.parquet import TooLargeError, read_parquet
from metaeval.sources.tables.pickles import read_frame
from metaeval.sources.tables.table import read_table
from tests.sources import old_pickle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WITH_LITTLE = """
import resource, sys
from metaeval.base.errors import DataError
from pathlib import Path
from metaeval.sources.tables.pickles import read_frame
from metaeval.sources.tables.table import read_table
with open("/proc/self/status") as status:
    before = next(int(line.split()[1]) for line in status if line.startswith("VmSize"))
more = 600 << 20
resource.setrlimit(resource.RLIMIT_AS, ((before << 10) + more, (before << 10) + more))
path = Path(sys.argv[1])
try:
    if path.suffix == ".pkl":
        print(len(read_frame(path)))
    else:
        table, problems = read_table(path)
        print(table and len(table.frame), *problems)
except DataError as error:
    print(error)
"""


def read_with_little(path: Path) -> str:
    """Read a file with 600 MB of memory beside what the libraries take, and return what was said."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux says how much memory a process takes, and limits it")
    done = subprocess.run(
        [sys.executable, "-c", WITH_LITTLE, path], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.count("\n") == 1
    return done.stdout


def block(values: bytes, placement: bytes) -> bytes:
    return old_pickle.call("pandas._libs.internals._unpickle_block", values, placement, old_pickle.value(2))


def manager(blocks: bytes, names: bytes) -> bytes:
    axes = old_pickle.group([names, names], b"l")
    made = old_pickle.call("pandas.core.internals.managers.BlockManager", blocks, axes)
    state = b"}" + old_pickle.group([old_pickle.value("_mgr"), made], b"u")
    return b"\x80\x04" + old_pickle.name("pandas.core.frame.DataFrame") + b")\x81" + state + b"b."


NAMES = old_pickle.index("pandas.core.indexes.base.Index", np.array(["a"], dtype=object))
ONE = old_pickle.array(np.array([[1, 2]], dtype="i8"))
FIRST = old_pickle.call("builtins.slice", *map(old_pickle.value, (0, 1, 1)))
LONG_TEXT = old_pickle.array(np.array([["x" * 300_000] * 2], dtype=object))


def times(part: bytes, number: int) -> bytes:
    """The same object, many times: it is noted once and taken again."""
    return b"(" + part + b"r\x00\x01\x00\x00" + b"j\x00\x01\x00\x00" * number + b"t"


PICKLES: dict[str, bytes] = {
    "a slice over all": manager(
        b"(" + block(ONE, old_pickle.call("builtins.slice", *map(old_pickle.value, (0, 2**30, 1)))) + b"t",
        NAMES,
    ),
    "a place far away": b"\x80\x04Nr" + struct.pack("<I", 2**29) + b".",
    "bytes of five gigabytes": b"\x80\x05\x96" + struct.pack("<Q", 5 << 30) + b".",
    "a frame of five gigabytes": b"\x80\x04\x95" + struct.pack("<Q", 5 << 30) + b"N.",
    "a text of four gigabytes": b"\x80\x04X" + struct.pack("<I", 2**32 - 1) + b".",
    "blocks many times": manager(
        times(block(old_pickle.array(np.zeros((1, 50_000), dtype="i8")), FIRST), 2_000), NAMES
    ),
    "a long text many times": manager(times(block(LONG_TEXT, FIRST), 100), NAMES),
    "a list in itself": b"\x80\x04]q\x00h\x00a.",
}


@pytest.mark.parametrize("kind", PICKLES)
def test_a_small_pickle_takes_little(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(PICKLES[kind])
    assert "x.pkl is not a pickled DataFrame of the expected layout" in read_with_little(path)


def test_a_text_that_is_repeated_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(old_pickle.frame({"a": ["a title that is long enough"] * 300, "n": [1] * 300}))
    assert len(read_frame(path)) == 300
    path.write_bytes(PICKLES["a slice over all"].replace(old_pickle.value(2**30), old_pickle.value(1)))
    assert read_frame(path)["a"].tolist() == [1, 2]


def repeated(path: Path) -> None:
    """A text of a megabyte, named a million times, in 50 kB."""
    indices = pa.array(np.zeros(1_000_000, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"user_id": column}), path)


def many_rows(path: Path) -> None:
    """160 million zeros: more than a gigabyte, in some kB."""
    zeros = pa.array(np.zeros(4_000_000, dtype=np.int64))
    part = pa.table(dict.fromkeys("abcdefgh", zeros))
    with pq.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(5):
            writer.write_table(part)


@pytest.mark.parametrize("make", [repeated, many_rows])
def test_a_small_parquet_takes_little(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "x.parquet"
    make(path)
    assert path.stat().st_size < 1_000_000
    said = read_with_little(path)
    assert said.startswith("None x.parquet: ")
    assert "memory" in said


def test_how_large_a_table_would_be_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    repeated(path)
    with pytest.raises(
        TooLargeError, match=r"1,000,000 values, which take about 1,000 GB in memory; this comp"
    ):
        read_parquet(path.read_bytes())


def test_parquet_is_read_as_it_is(tmp_path: Path) -> None:
    """Texts are read in two steps; no type may be lost on the way."""
    texts = ["a", None, "007", "", "a"] * 10
    table = pa.table(
        {
            "plain": pa.array(texts),
            "large": pa.array(texts, pa.large_string()),
            "view": pa.array(texts, pa.string_view()),
            "bytes": pa.array([t and t.encode() for t in texts]),
            "category": pa.array(texts).dictionary_encode(),
            "with.dot": pa.array(texts),
            "list": pa.array([t and [t, t] for t in ["a", None, "b", None, "c"] * 10]),
            "struct": pa.array([{"plain": t} for t in texts]),
            "number": pa.array([1, None, 3, 4, 5] * 10),
            "none": pa.nulls(50),
        }
    )
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    expected = pq.read_table(path)
    found = read_parquet(path.read_bytes())
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()


def test_a_jsonl_file_in_which_each_line_has_a_key_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps({f"k{i}": 1}) for i in range(20_000)), encoding="utf-8")
    assert "has 20,000 keys in 20,000 lines" in read_with_little(path)
    path.write_text("\n".join(json.dumps({"a": i, f"k{i}": 1}) for i in range(30)), encoding="utf-8")
    table, problems = read_table(path)
    assert problems == []
    assert table is not None
    assert table.frame.shape == (30, 31)
