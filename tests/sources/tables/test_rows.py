"""What stands around the rows of a table: blank rows, units, the questions of a form tool."""

from __future__ import annotations

import openpyxl
import pytest

from metaeval.base.errors import sound
from metaeval.sources.tables.formats import read_any

ROWS = "user;text;mark;share\n{}u1;one;4;12,5 %\nu2;two;n/a;k.A.\nu3;three;2;7 %\n;; ;\n;;;\n"


def test_blank_rows_units_and_percent_signs_are_no_data(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS.format(";;1-5;%\n"), encoding="utf-8")
    table = sound(read_any(path))
    assert table.frame["mark"].tolist() == ["4", "n/a", "2"]
    assert table.frame["share"].tolist() == ["12.5", "k.A.", "7"]
    assert table.rows.tolist() == [3, 4, 5]
    assert "without 2 blank rows, without the units in row 2" in table.read_as


@pytest.mark.parametrize("first", [";none;5;1 %\n", "u0;zero;x;y\n", ";;;8 %\n"])
def test_a_first_row_of_data_is_kept(tmp_path, first) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS.format(first), encoding="utf-8")
    assert sound(read_any(path)).rows.tolist() == [2, 3, 4, 5]


def test_units_below_the_header_of_a_workbook(tmp_path) -> None:
    book = openpyxl.Workbook()
    for row in (["user ", "mark"], [None, "points"], ["u1", 4], ["u2", 5]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = sound(read_any(tmp_path / "t.xlsx"))
    assert table.frame.to_dict("list") == {"user": ["u1", "u2"], "mark": [4, 5]}
    assert table.rows.tolist() == [3, 4]


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


def test_the_questions_of_a_qualtrics_workbook_name_its_columns(tmp_path) -> None:
    book = openpyxl.Workbook()
    for row in (["StartDate", "ResponseId", "Q1"], ["Start Date", "Response ID", "How clear is it?"]):
        book.active.append(row)
    for n in (1, 2):
        book.active.append(["2026-05-01", f"R_{n}", n])
    book.save(tmp_path / "t.xlsx")
    table = sound(read_any(tmp_path / "t.xlsx"))
    assert list(table.frame.columns) == ["Start Date", "Response ID", "How clear is it?"]
    assert table.rows.tolist() == [3, 4]
    assert table.read_as == "a header of two rows"


@pytest.mark.parametrize(("last", "n"), [("n = 3 people;;;", 3), ("u4;;;", 4), (";;4;", 4), ("u4 x;;4;", 4)])
def test_a_note_below_the_table_is_no_row(tmp_path, last, n) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS.format("").rstrip(";\n ") + f"\n{last}\n", encoding="utf-8")
    table = sound(read_any(path))
    assert len(table.frame) == n
    assert ("without the note in row 5" in table.read_as) == (n == 3)
