"""Files are whole or not there, and what cannot be written is said by its own name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.base.files import replacing, write_text


def test_a_file_stays_as_it_was_if_writing_breaks_off(tmp_path: Path) -> None:
    file = tmp_path / "new" / "a.txt"
    write_text(file, "one\n")

    def half() -> None:
        with replacing(file) as temporary:
            temporary.write_text("tw", encoding="utf-8")
            raise ValueError("broke off")

    with pytest.raises(ValueError, match="broke off"):
        half()
    assert file.read_text(encoding="utf-8") == "one\n"
    assert [p.name for p in file.parent.iterdir()] == ["a.txt"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    file, link = tmp_path / "folder" / "a.txt", tmp_path / "link"
    link.symlink_to(file)
    for text in ("new\n", "newer\n"):
        write_text(link, text)
        assert link.is_symlink()
        assert file.read_text(encoding="utf-8") == text


def test_what_is_no_regular_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # open before there is a writer
    write_text(pipe, "to the reader\n")
    assert os.read(reader, 100) == b"to the reader\n"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("", encoding="utf-8")
    for path in (tmp_path / "f" / "x.md", tmp_path / "f" / "g" / "x.md"):
        with pytest.raises(MetaevalError, match=r"x\.md cannot be written: .*f is a file, not a folder"):
            write_text(path, "")


def test_a_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "metaeval.base.files.os.access", lambda *_: False
    )  # whoever is root may write anywhere
    with pytest.raises(MetaevalError, match=r"x\.md cannot be written: .* may not be written to"):
        write_text(tmp_path / "x.md", "")
