"""Tables as people have them: separators, encodings, workbooks, JSON, and what stands around the rows."""

from __future__ import annotations

import gzip
import json

import openpyxl
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metaeval.base.errors import DataError, sound
from metaeval.data.hub import any_table
from metaeval.data.tables.formats import read_any
from metaeval.data.tables.table import read_table

RECORDS = [{"user": "u1", "text": "Für dich, genau", "mark": 4}, {"user": "u2", "text": "Naïve", "mark": 5}]


@pytest.mark.parametrize(
    ("separator", "told"), [(",", ""), (";", "semicolons"), ("\t", "tabs"), ("|", "bars")]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_any_separator_and_encoding(tmp_path, separator, told, encoding) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame(RECORDS).to_csv(path, sep=separator, index=False, encoding=encoding)
    table = sound(read_any(path))
    assert table.frame["text"].tolist() == [r["text"] for r in RECORDS]
    assert list(table.frame.columns) == ["user", "text", "mark"]
    assert table.rows.tolist() == [2, 3]
    assert told in table.read_as
    assert ("text" in table.read_as) == (encoding in ("utf-16", "cp1252"))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", "这部电影很好看,因为你喜欢喜剧"),
        ("shift_jis", "この映画はとても面白いです"),
        ("cp1251", "Этот фильм понравится вам"),
        ("cp1252", "it’s fine"),
        ("cp1252", "«Très drôle» – à voir"),
    ],
)
def test_the_encoding_is_guessed(tmp_path, encoding, text) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f'user,text\nu1,"{text}"\n'.encode(encoding))
    assert sound(read_any(path)).frame["text"].tolist() == [text]


def test_a_wrong_byte_in_utf8_is_named_and_not_guessed_away(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("user,text\nu1,für\nu2,schön\nu3,größer\nu4,na".encode() + b"\xefve\n")
    problem = read_any(path)[1][0]
    assert problem.row == 5
    assert "is not UTF-8 (byte 0xef)" in problem.message


def test_a_decimal_comma_is_read_where_semicolons_separate(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user;score;text\nu1;0,5;1,2 and 3\nu2;12;4,5\n", encoding="utf-8")
    frame = sound(read_any(path)).frame
    assert frame["score"].tolist() == ["0.5", "12"]
    assert frame["text"].tolist() == ["1,2 and 3", "4,5"]


FIELDS = st.text(st.characters(blacklist_characters="\t\r\n\ufeff", blacklist_categories=["Cs", "Cc"]))


@given(st.lists(st.tuples(FIELDS, st.integers(1, 5)), min_size=1, max_size=8))
@example([('"He said', 4), ("plain", 2), ('she said"', 5)])
@example([('"Hello" he said', 4), ('""', 1), ('"', 2)])
def test_between_tabs_a_quotation_mark_is_text(tmp_path_factory, rows) -> None:
    path = tmp_path_factory.getbasetemp() / "t.tsv"
    lines = [f"u{n}\t{text}\t{mark}" for n, (text, mark) in enumerate(rows)]
    path.write_text("\n".join(["user\ttext\tmark", *lines]), encoding="utf-8", newline="")
    for read in (read_any, read_table):
        frame = sound(read(path)).frame
        assert frame["text"].str.strip().tolist() == [text.strip() for text, _ in rows]
        assert frame["mark"].tolist() == [str(mark) for _, mark in rows]


def test_quotation_between_tabs_is_stated_by_the_header_or_the_caller(tmp_path) -> None:
    path, two = tmp_path / "t.tsv", 'u1\t"One ""two""\nthree"\t4\n'
    path.write_text(f"user\ttext\tmark\n{two}", encoding="utf-8")
    assert "if texts are quoted, say `quote: '\"'` in a map" in str(read_any(path)[1][0])
    assert sound(read_any(path, quote='"')).frame["text"].tolist() == ['One "two"\nthree']
    path.write_text(f'"user"\t"text"\t"mark"\n{two}', encoding="utf-8")
    assert sound(read_any(path)).frame.to_numpy().tolist() == [["u1", 'One "two"\nthree', "4"]]
    path.write_text('user\ttext\nu1\t"One"\nu2\tTwo\n', encoding="utf-8")
    assert sound(read_any(path)).read_as == "separated by tabs, quotation marks kept around 1 cell"


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_quotation_marks_that_may_hold_rows_are_refused_unless_stated(tmp_path, separator) -> None:
    rows = [["user", "text", "mark"], ["u0", "plain", "1"], ["u1", '"He said', "4"], ["u2", "on", "2"]]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(map(separator.join, [*rows, ["u3", 'she said"', "5"]])), encoding="utf-8")
    said = "t.csv, row 3: is one of 2 rows by its quotation marks, of 4 without them; double the"
    assert str(read_any(path)[1][0]).startswith(said)
    assert sound(read_any(path, quote="")).frame["mark"].tolist() == ["1", "4", "2", "5"]
    assert sound(read_any(path, quote='"')).frame["mark"].tolist() == ["1", "5"]
    path.write_text(path.read_text().replace(f"plain{separator}", f'"a{separator} b"{separator}'))
    assert len(sound(read_any(path)).frame) == 2  # whoever quotes a separator doubles marks within texts


def workbook(path, rows, merged=(), title="Sheet") -> None:
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for span in merged:
        book.active.merge_cells(span)
    book.create_sheet("Notes").append(["written by me", "today"])
    book.save(path)


def test_a_merged_header_and_merged_keys_of_a_workbook(tmp_path) -> None:
    rows = [
        ["Our study, 2026", None, None, None, None, None],
        ["user", "item", "Trust", None, "Fun", None],
        [None, None, "ann", "ben", "ann", "ben"],
        ["u1", 7, 4, 5, None, 2],
        [None, 8, 3, 3, 1, 1],
        [None, None, None, None, None, None],
        ["u2", 7, 1, 2, 3, 4],
    ]
    workbook(tmp_path / "t.xlsx", rows, ["C2:D2", "E2:F2", "A2:A3", "A4:A5"])
    table = sound(read_any(tmp_path / "t.xlsx"))
    assert list(table.frame.columns) == ["user", "item", "Trust ann", "Trust ben", "Fun ann", "Fun ben"]
    assert table.frame["user"].tolist() == ["u1", "u1", "u2"]
    assert table.frame["item"].tolist() == [7, 8, 7]
    assert table.rows.tolist() == [4, 5, 7]
    assert table.read_as == "sheet 'Sheet' of 2 sheets, a header of two rows"
    plain = [row for i, row in enumerate(rows) if i]
    workbook(tmp_path / "plain.xlsx", plain)  # the same without merged cells
    assert list(sound(read_any(tmp_path / "plain.xlsx")).frame.columns) == list(table.frame.columns)


def test_one_header_row_stays_one_and_a_sheet_can_be_named(tmp_path) -> None:
    workbook(tmp_path / "t.xlsx", [["user", "text"], ["u1", "One"]])
    assert list(sound(read_any(tmp_path / "t.xlsx")).frame.columns) == ["user", "text"]
    with pytest.raises(DataError, match=r"no sheet 'Note'; did you mean 'Notes'"):
        read_any(tmp_path / "t.xlsx", "Note")
    (tmp_path / "b.xlsx").write_bytes(b"PK\x03\x04 broken")
    assert "cannot be read as a workbook" in str(read_any(tmp_path / "b.xlsx")[1][0])


@pytest.mark.parametrize(
    "content",
    [
        RECORDS,
        {"version": 2, "data": RECORDS},
    ],
)
def test_shapes_of_json(tmp_path, content) -> None:
    (tmp_path / "t.json").write_text(json.dumps(content), encoding="utf-8")
    assert sound(read_any(tmp_path / "t.json")).frame.to_dict("records") == RECORDS


def test_json_that_is_no_table(tmp_path) -> None:
    path = tmp_path / "t.json"
    for content, said in [
        ("[1, 2]", "must hold one list of objects"),
        ('{"a": [{"x": 1}], "b": [{"x": 1}]}', "must hold one list of objects"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ]:
        path.write_text(content, encoding="utf-8")
        assert said in str(read_any(path)[1][0])
    path.write_text("\n".join(map(json.dumps, RECORDS)), encoding="utf-8")
    assert len(sound(read_any(path)).frame) == 2


def test_a_workbook_with_a_cell_far_away(tmp_path) -> None:
    book = openpyxl.Workbook()
    for row in (["user", "rating"], ["u1", 4]):
        book.active.append(row)
    book.active["XFD1048576"] = "far"
    book.save(path := tmp_path / "x.xlsx")
    said = "cells up to XFD1048576 in the sheet 'Sheet'; delete what is far away"
    assert said in str(read_any(path)[1][0])


def test_a_saved_dataset_is_read_from_its_folder(tmp_path) -> None:
    import datasets

    datasets.disable_progress_bars()
    made = datasets.Dataset.from_list(RECORDS)
    made.save_to_disk(str(tmp_path / "one"))
    datasets.DatasetDict({"dev": made, "test": made.select([0])}).save_to_disk(str(tmp_path / "two"))
    assert any_table(tmp_path / "one").frame["user"].tolist() == ["u1", "u2"]
    assert any_table(tmp_path / "two", "test").frame["user"].tolist() == ["u1"]


def test_blank_rows_and_percent_signs_are_no_data(tmp_path) -> None:
    rows = ["user;text;mark;share", "u1;one;4;12,5 %", "u2;two;n/a;k.A.", "u3;three;2;7 %", ";; ;", ";;;", ""]
    (tmp_path / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    table = sound(read_any(tmp_path / "t.csv"))
    assert table.frame["mark"].tolist() == ["4", "n/a", "2"]
    assert table.frame["share"].tolist() == ["12.5", "k.A.", "7"]
    assert "without 2 blank rows" in table.read_as


def test_the_questions_of_qualtrics_name_its_columns(tmp_path) -> None:
    rows = [
        "ResponseId,Q1,Q2,Q3",
        '"Response ID","How clear\nis it?",Comments,Comments',
        *['"{""ImportId"":""x""}",' + ",".join(['"{""ImportId"":""y""}"'] * 3)],
        "R_1,4,,no",
        "R_2,5,yes,",
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    table = sound(read_any(path))
    assert list(table.frame.columns) == ["Response ID", "How clear is it?", "Q2", "Q3"]
    assert table.frame["How clear is it?"].tolist() == ["4", "5"]
    assert table.rows.tolist() == [4, 5]
    assert table.read_as == "a header of three rows"


@pytest.mark.parametrize("text", ["sep=;\na;b\n1,5;x y\n2;\n", "sep=;\r\na;b\r\n1,5;x y\r\n2;\r\n"])
def test_a_separator_that_the_first_line_states(tmp_path, text) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    table, problems = read_any(tmp_path / "t.csv")
    assert not problems
    assert table.frame.fillna("").to_numpy().tolist() == [["1.5", "x y"], ["2", ""]]
    assert table.rows.tolist() == [3, 4]
    (tmp_path / "t.csv").write_bytes(text.replace("2;", "2;;").encode())
    assert read_any(tmp_path / "t.csv")[1][0].row == 4


@pytest.mark.parametrize("name", ["t.txt", "t.tsv.gz"])
def test_fields_between_blanks(tmp_path, name) -> None:
    pack = gzip.compress if name.endswith("gz") else bytes
    (tmp_path / name).write_bytes(pack(b"item  rating\n a\t 1\nbc 22  \n"))
    table, _ = read_any(tmp_path / name)
    assert table.frame.to_numpy().tolist() == [["a", "1"], ["bc", "22"]]
    assert table.read_as == "separated by blanks"
    (tmp_path / "t.txt").write_text("some text\none\n", encoding="utf-8")
    assert [*read_any(tmp_path / "t.txt")[0].frame.columns] == ["some text"]


def test_sides_below_their_letters_are_no_second_header(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a,b,won\nA,B,A\nA,B,B\nB,A,A\n", encoding="utf-8")
    assert len(read_any(tmp_path / "t.csv")[0].frame) == 3
