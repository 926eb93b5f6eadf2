"""Tables to a spreadsheet program and back."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.base.formulas import protected, unprotected
from metaeval.trust.labelling.golden import read_sheet, write_sheet
from tests.trust.saving import STYLES, read_rows, save_rows

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.text(st.sampled_from("='+-@\t\r\n \"';,|＝ab🙂א١\u2028\ufeff"), max_size=12),
)


@given(TEXTS)
def test_a_protected_text_is_no_formula_and_comes_back(text: str) -> None:
    cell = protected(text)
    assert unprotected(cell) == text
    assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
    assert not cell.startswith(("\t", "\r", "\n"))


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.sampled_from(sorted(STYLES)))
def test_cells_come_back_from_every_program(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], style: str
) -> None:
    path = tmp_path_factory.mktemp("sheet") / "t.csv"
    filled = [("x", protected(a), protected(b)) for a, b in rows]
    write_sheet(path, pd.DataFrame(filled, columns=["id", "=name", "b"]))
    save_rows(path, read_rows(path), STYLES[style])
    found = read_sheet(path, {"id", "=name", "b"})
    assert list(found) == ["id", "=name", "b"]
    assert found.map(unprotected).to_numpy().tolist() == [["x", a, b] for a, b in rows]
    assert list(found.index) == list(range(2, len(rows) + 2))


@pytest.mark.parametrize("separator", ["comma", "semicolon", "tab"])
def test_what_is_written_has_a_mark_and_quotes(tmp_path: Path, separator: str) -> None:
    write_sheet(tmp_path / "t.csv", pd.DataFrame({"a": ["1\n2"], "b": ['x"y']}), separator)
    sign = {"comma": ",", "semicolon": ";", "tab": "\t"}[separator]
    expected = f'"a"{sign}"b"\r\n"1\n2"{sign}"x""y"\r\n'
    assert (tmp_path / "t.csv").read_bytes() == b"\xef\xbb\xbf" + expected.encode()
    assert read_sheet(tmp_path / "t.csv", {"a", "b"}).to_numpy().tolist() == [["1\n2", 'x"y']]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "row 1: the first row names no columns"),
        (b",,\n1,2,3\n", "row 1: the first row names no columns"),
        (b"a,b,a\n1,2,3\n", "row 1, column 'a': two columns have this name"),
        (b"a,b\n1,2\n\n3,4,5\n", "row 4: '5' stands in a column without a name"),
        (b"a,,b\n1,2,3\n", "row 2: '2' stands in a column without a name"),
        (b'a,b\n1,2\n"x"y,3\n', "row 3: is not valid CSV"),
        ("a,b\nx,é\n".encode("latin-1"), "is not UTF-8; save it as"),
        (b"\xff\xfea", "is not UTF-16; save it as"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        read_sheet(path, {"a", "b"})
    assert says in str(error.value)
    assert str(error.value).startswith("t.csv")


def test_rows_are_counted_as_the_program_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'sep=;\r\na;b\r\n"one\r\ntwo";1\r\n;\r\n\r\nthree\r\n')
    found = read_sheet(path, {"a", "b"})
    assert found.T.to_dict("list") == {2: ["one\r\ntwo", "1"], 5: ["three", ""]}


def test_a_separator_within_the_names_does_not_mislead(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a;"b, or c, or d";e\n1;2,5;x\n', encoding="utf-8")
    assert read_sheet(path, {"a", "e"}).to_numpy().tolist() == [["1", "2,5", "x"]]
