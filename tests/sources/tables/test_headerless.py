"""Files without a header: what is no line of so many fields is named by its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metaeval.sources.tables.headerless import read_headerless

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path, content: bytes, *args, **options) -> tuple:
    path.write_bytes(content)
    table, problems = read_headerless(path, ["a", "b"], *args, **options)
    told = (
        None
        if table is None
        else [*zip(table.rows.tolist(), *table.frame.to_numpy().T.tolist(), strict=True)]
    )
    return told, [str(p) for p in problems]


def test_quotes_are_text_and_a_blank_line_says_nothing(tmp_path: Path) -> None:
    found = read(tmp_path / "x.tsv", b'1\tsays "no\n\n02\t\r\n3\t"q"\n')
    assert found == ([(1, "1", 'says "no'), (3, "02", ""), (4, "3", '"q"')], [])


def test_a_delimiter_may_have_two_characters_and_old_files_are_latin(tmp_path: Path) -> None:
    content = "1::Été: (1995)\n2::b\n".encode("latin-1")
    assert read(tmp_path / "x.dat", content, "::", latin=True)[0] == [(1, "1", "Été: (1995)"), (2, "2", "b")]
    assert read(tmp_path / "x.dat", "1::Été\n".encode(), "::", latin=True)[0] == [(1, "1", "Été")]
    said = "x.dat, row 1: is not UTF-8; take the file as it was released"
    assert read(tmp_path / "x.dat", content, "::") == (None, [said])


def test_lines_of_another_length_are_named_and_the_others_keep_their_rows(tmp_path: Path) -> None:
    told, problems = read(tmp_path / "x.tsv", b"1\n2\tb\n3\tc\td\n4\te\n")
    assert told == [(2, "2", "b"), (4, "4", "e")]
    assert problems == [
        "x.tsv, row 1: has 1 field; it needs 2: a, b",
        "x.tsv, row 3: has 3 fields; it needs 2: a, b",
    ]


@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_is_said(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path / "x.tsv", content) == (None, ["x.tsv: is empty"])
    assert "cannot be read" in str(read_headerless(tmp_path / "none.tsv", ["a"])[1][0])
