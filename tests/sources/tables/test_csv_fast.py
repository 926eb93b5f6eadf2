"""Arrow and `csv` read the same; what a file holds stays as it is written."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaeval.base.errors import Problem
from metaeval.sources.tables import csv_fast
from metaeval.sources.tables.columns import number_column, text_column
from metaeval.sources.tables.csv_fast import read_sound
from metaeval.sources.tables.table import read_table

if TYPE_CHECKING:
    from pathlib import Path

CELLS = ["", "007", "NA", "NaN", "null", "1e5", " 1", "1 ", "  ", "1.", ".5", "+5", "-0", "True", "None",
         "\\N", "好", "1e400", "inf", "0x1", "1_0", "#N/A", "a\tb", "'", "1,5", 'a"b', '""', "a\nb",
         "a\r\nb", "\u2028", "nan", "ⅷ", "４", "\x1f1", "\xa01"]  # fmt: skip
PARTS = ["a", "b", ",", ",", "\n", "\n", '"', '""', " ", "\r\n", "\r", "1", "é"]


def old_reader(content: bytes) -> tuple[list[str], list[list[str]], list[int]] | None:
    """The reader as it was: header, records and rows of a file in which nothing is wrong."""
    header: list[str] = []
    records: list[list[str]] = []
    rows: list[int] = []
    try:
        text = io.StringIO(content.decode("utf-8"), newline="")
        for number, record in enumerate(csv.reader(text, strict=True), start=1):
            if number == 1:
                header = record
            elif len(record) == len(header):
                records.append(record)
                rows.append(number)
            elif record:
                return None
    except (csv.Error, UnicodeDecodeError):
        return None
    return header, records, rows


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Arrow read small files too."""
    monkeypatch.setattr(csv_fast, "_SMALLEST", 0)


def texts_of(frame: pd.DataFrame) -> list[list[object]]:
    return frame.astype(object).to_numpy().tolist()


@settings(max_examples=600)
@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
@example('a,b\n"x"y,z\n')
@example('a,b\n""x,z\n')
@example('a,b\nx"y,z\n')
@example('a,b\n"x,z\n')
@example('a,b\n"x""","""z"\n')
@example('a,b\n"""",""\n')
@example("a,b\n\n1,2\n")
@example("a,b\n1,2")
@example("a,b\n1,2\n3\n")
def test_what_arrow_reads_is_what_csv_reads(content: str) -> None:
    found = read_sound(content.encode(), ",")
    if found is None:
        return
    old = old_reader(content.encode())
    assert old is not None
    header, records, rows = old
    assert found[0] == header
    assert [list(r.values()) for r in found[1].to_pylist()] == records
    assert rows == list(range(2, len(records) + 2))


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS), st.text(max_size=5)), max_size=20),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_table_is_read_as_before(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, str, str]], quoted: bool, end: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "t.csv"
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
        csv.writer(file, lineterminator=end, quoting=quoting).writerows([("a", "b", "c"), *records])
    old = old_reader(path.read_bytes())
    table, problems = read_table(path)
    if old is None:
        assert table is None or problems
        return
    header, kept, rows = old
    assert table is not None
    assert problems == []
    assert list(table.frame.columns) == header
    assert texts_of(table.frame) == kept
    assert table.rows.tolist() == rows
    before = pd.DataFrame({h: pd.Series([r[i] for r in kept], dtype=object) for i, h in enumerate(header)})
    as_before = type(table)(table.name, before, table.rows)
    for column in header:
        for read in (text_column, number_column):
            values, wrong = read(table, column)
            expected, expected_wrong = read(as_before, column)
            np.testing.assert_array_equal(values, expected)
            assert wrong == expected_wrong


def test_arrow_reads_what_is_usual(tmp_path: Path) -> None:
    """Otherwise the tests above would hold for a reader that never reads."""
    content = 'id,text\n1,plain\n2,"a ""quoted"" text, with a\nline"\n3,""\n4,"""q"""\n'
    found = read_sound(content.encode(), ",")
    assert found is not None
    assert found[1].column(1).to_pylist() == ["plain", 'a "quoted" text, with a\nline', "", '"q"']
    assert read_sound(content.encode().replace(b'line"', b'line"x'), ",") is None
    assert read_sound(b"a,b\n" + b"x" * 200_000 + b",y\n", ",") is None  # `csv` says that it is too long


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("u1,9", "b", "is 'nine'"),
        ("x", None, "has 1 fields, the header has 2"),
        ('"q"q,1', None, "is not valid CSV"),
    ],
)
def test_a_row_far_down_is_named(tmp_path: Path, line: str, column: str | None, message: str) -> None:
    lines = ["a,b", *(f"u{i},{i}" for i in range(50_000)), "", line.replace("9", "nine"), "u,1"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table, problems = read_table(path)
    if table is not None:
        problems = [*problems, *number_column(table, "b")[1]]
    assert [(p.row, p.column) for p in problems] == [(50_003, column)]
    assert message in problems[0].message
    assert isinstance(problems[0], Problem)


MEASURE = """
import resource, sys, time
from metaeval.cli import main
code = main(["data", "check", sys.argv[1]])
used = resource.getrusage(resource.RUSAGE_SELF)
print("used", code, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def test_a_large_table_takes_about_what_parquet_takes(tmp_path: Path) -> None:
    number = 200_000
    keys = {
        "user_id": [f"u{i // 20:05d}" for i in range(number)],
        "item_id": [f"i{i % 20}" for i in range(number)],
    }
    explanations = pd.DataFrame(
        {**keys, "generator": "g", "explanation": [f'A "text", {i}.' for i in range(number)]}
    )
    ratings = pd.DataFrame({**keys, "generator": "g", "rater": "user", "aspect": "a", "rating": "3"})
    used = {}
    for kind in ("csv", "parquet"):
        folder = tmp_path / kind
        folder.mkdir()
        for name, frame in (("explanations", explanations), ("ratings", ratings)):
            path = folder / f"{name}.{kind}"
            frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path, index=False)
        (folder / "dataset.yaml").write_text(
            "name: n\nlicence: l\nsource: s\naspects: {a: A}\nscale: {min: 1, max: 5, integer: true}\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, folder], capture_output=True, text=True, check=True
        )
        used[kind] = [float(word) for word in done.stdout.partition("used")[2].split()]
    assert used["csv"][0] == used["parquet"][0] == 0
    assert used["csv"][1] < 2 * used["parquet"][1]  # 1.2 times, and room for a busy machine
    assert used["csv"][2] < 1.5 * used["parquet"][2]
