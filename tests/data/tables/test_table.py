"""Tables are read as they are written, and what is wrong is named with its row."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaeval.base.errors import DataError, Problem
from metaeval.data.tables.columns import number_column, text_column
from metaeval.data.tables.table import json_lines, read_headerless, read_table
from tests.examples import examples

CELLS = ["", "007", "NA", "NaN", "null", "1e5", " 1", "1 ", "  ", "1.", ".5", "+5", "-0", "True", "None",
         "\\N", "好", "1e400", "inf", "0x1", "1_0", "#N/A", "a\tb", "'", "1,5", 'a"b', '""', "a\nb",
         "a\r\nb", "\u2028", "nan", "ⅷ", "４", "\x1f1", "\xa01"]  # fmt: skip
PARTS = ["a", "b", ",", ",", "\n", "\n", '"', '""', " ", "\r\n", "\r", "1", "é"]


@pytest.mark.slow
@settings(max_examples=examples(600))
@given(
    st.lists(st.sampled_from(PARTS), max_size=40).map("".join)
    | st.lists(st.lists(st.sampled_from(CELLS), min_size=2, max_size=2), max_size=9).map(
        lambda rows: "\n".join(
            ",".join(f'"{cell.replace(chr(34), 2 * chr(34))}"' for cell in r) for r in rows
        )
    )
)
@example('x"y,z\n')
@example('"x""","""z"\n')
@example("\n1,2\n\n")
@example("1,2\n3\n4,5,6\n,")
@example('"x\ny",1\r1,2')
def test_a_file_is_read_as_the_standard_library_reads_it(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "t.csv"
    path.write_bytes(f"a,b\n{text}".encode())
    table, problems = read_table(path)
    records, ragged = [], []
    try:
        for number, record in enumerate(csv.reader(io.StringIO(f"a,b\n{text}", newline=""), strict=True), 1):
            if number > 1 and len(record) == 2:
                records.append((number, record))
            elif number > 1 and record:
                ragged.append(number)
    except csv.Error:
        assert table is None
        assert "is not valid CSV" in problems[0].message
        return
    assert table is not None
    assert [p.row for p in problems] == ragged
    assert [*zip(table.rows.tolist(), table.frame.to_numpy().tolist(), strict=True)] == records
    objects = type(table)(table.name, table.frame.astype(object), table.rows)
    for read in (text_column, number_column):
        (values, wrong), (expected, expected_wrong) = read(table, "b"), read(objects, "b")
        np.testing.assert_array_equal(values, expected)
        assert wrong == expected_wrong


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


def test_parquet_is_read_as_it_is(tmp_path: Path) -> None:
    texts = ["a", None, "007", "", "a"]
    columns = {
        "plain": pa.array(texts),
        "category": pa.array(texts).dictionary_encode(),
        "list": pa.array([["a"], None, [], ["b"], ["c"]]),
        "number": pa.array([1, None, 3, 4, 5]),
    }
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(columns), path)
    table, problems = read_table(path)
    assert problems == []
    assert table.frame["number"].tolist() == [1, None, 3, 4, 5]
    assert [None if pd.isna(t) else t for t in table.frame["category"]] == texts
    pq.write_table(pa.table([*columns.values()][:2], ["a", "a"]), path)
    assert "two columns have the name 'a'; rename one" in str(read_table(path)[1][0])


def headerless(path: Path, content: bytes, *args, **options) -> tuple:
    path.write_bytes(content)
    table, problems = read_headerless(path, ["a", "b"], *args, **options)
    told = None if table is None else [*zip(table.rows.tolist(), *table.frame.to_numpy().T, strict=True)]
    return told, [str(p) for p in problems]


def test_without_a_header_quotes_are_text_and_a_blank_line_says_nothing(tmp_path: Path) -> None:
    found = headerless(tmp_path / "x.tsv", b'1\tsays "no\n\n02\t\r\n3\t"q"\n')
    assert found == ([(1, "1", 'says "no'), (3, "02", ""), (4, "3", '"q"')], [])


def test_a_delimiter_may_have_two_characters_and_old_files_are_latin(tmp_path: Path) -> None:
    content, path = "1::Été: (1995)\n2::b\n".encode("latin-1"), tmp_path / "x.dat"
    assert headerless(path, content, "::", latin=True)[0] == [(1, "1", "Été: (1995)"), (2, "2", "b")]
    assert headerless(path, "1::Été\n".encode(), "::", latin=True)[0] == [(1, "1", "Été")]
    said = "x.dat, row 1: is not UTF-8; take the file as it was released"
    assert headerless(path, content, "::") == (None, [said])


def test_without_a_header_lines_of_another_length_are_named(tmp_path: Path) -> None:
    told, problems = headerless(tmp_path / "x.tsv", b"1\n2\tb\n3\tc\td\n4\te\n")
    assert told == [(2, "2", "b"), (4, "4", "e")]
    assert problems == [
        "x.tsv, row 1: has 1 field; it needs 2: a, b",
        "x.tsv, row 3: has 3 fields; it needs 2: a, b",
    ]
    assert headerless(tmp_path / "x.tsv", b" \n\n") == (None, ["x.tsv: is empty; it needs a header and rows"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", None),
        (b'{"name": "a"', "row 2: is not a JSON object: Expecting"),
        (b'["a", 1]', "row 2: is not a JSON object: the line holds"),
        (b'{"name": "b"}', "row 2, column 'size': is missing; it must be a number"),
        (b'{"name": "", "size": 1}', "row 2, column 'name': is missing; it must be a text"),
        (b'{"name": "b", "size": true}', "row 2, column 'size': is True; it must be a number"),
        (b'{"name": 5, "size": 1}', "row 2, column 'name': is 5; it must be a text"),
        (b'{"name": "b", "size": NaN}', "row 2: is not a JSON object: NaN is not a number"),
        (b'{"name": "\xff", "size": 1}', "row 2: is not a JSON object: 'utf-8' codec"),
        (b"[" * 100_000, "row 2: "),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_wrong_line_of_json_is_named(tmp_path: Path, line: bytes, said: str | None, packed: bool) -> None:
    path = tmp_path / ("x.jsonl.gz" if packed else "x.jsonl")
    sound = json.dumps({"name": "é", "size": 1, "more": [1]}).encode() + b"\n"
    content = sound + line + b"\n" + sound
    path.write_bytes(gzip.compress(content) if packed else content)
    found = dict(json_lines(path, {"name": str, "size": float}))
    problem = found.pop(2, None)
    assert (problem is None) == (said is None)
    assert problem is None or isinstance(problem, Problem)
    assert str(problem).startswith("None" if said is None else f"{path.name}, {said}")
    assert {row: (r["name"], r["size"]) for row, r in found.items()} == {1: ("é", 1), 3: ("é", 1)}


def test_a_file_of_json_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b'{"a": "b"}\n' * 99)[:-9])
    for name in ("x.jsonl.gz", "none.jsonl"):
        with pytest.raises(DataError, match=f"{name}' cannot be read: "):
            list(json_lines(tmp_path / name, {"a": str}))
