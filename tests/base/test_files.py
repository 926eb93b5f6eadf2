"""Files are whole or not there, and what cannot be written is said by its own name."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.base.files import replacing, replacing_folder, write_text

if TYPE_CHECKING:
    from pathlib import Path


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


_KILLED = """
import os, sys
from metaeval.base.files import replacing_folder
renames = []
def hook(event, args):
    if event == "os.rename":
        renames.append(args)
        if len(renames) == 2:
            os._exit(9)
sys.addaudithook(hook)
with replacing_folder("site", {"ours"}) as new:
    (new / "ours").write_text("new")
"""


def test_a_folder_whose_replacement_was_killed_in_the_swap_is_there_again(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for name in ("ours", "theirs"):
        (site / name).write_text("old")
    killed = subprocess.run([sys.executable, "-c", _KILLED], cwd=tmp_path, check=False)
    assert killed.returncode == 9
    assert not site.exists()
    with replacing_folder(site, {"ours"}) as new:
        assert (site / "theirs").read_text() == "old"
        (new / "ours").write_text("newer")
    assert {path.name: path.read_text() for path in site.iterdir()} == {"ours": "newer", "theirs": "old"}
    assert [*tmp_path.iterdir()] == [site]
