"""Files are whole or not there, and what cannot be written is said by its own name."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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


@pytest.mark.parametrize(("name", "back"), [("site", True), ("site.v2", False), ("site.0", False)])
def test_only_the_folder_of_that_very_name_is_there_again(name: str, back: bool, tmp_path: Path) -> None:
    left = tmp_path / f".{name}.0123abcd.old"
    for folder in (left, left.with_suffix(".tmp")):
        folder.mkdir()
        (folder / "theirs").write_text(folder.suffix)
    with replacing_folder(tmp_path / "site", {"ours"}) as new:
        (new / "ours").write_text("new")
    assert [p.read_text() for p in (tmp_path / "site").glob("theirs")] == ([".old"] if back else [])
    assert left.exists() is not back


def test_what_was_replaced_before_a_kill_does_not_come_back(tmp_path: Path) -> None:
    left = tmp_path / ".site.0123abcd.old"  # its successor took its place, and was removed by the user
    left.mkdir()
    (left / "theirs").write_text("old")
    with replacing_folder(tmp_path / "site", {"ours"}) as new:
        (new / "ours").write_text("new")
    assert [p.name for p in tmp_path.rglob("*")] == ["site", "ours"]


_SLOW = """
import sys
from metaeval.base.files import replacing_folder
renames = []
def hook(event, args):
    if event == "os.rename":
        renames.append(args)
        if len(renames) == 2:
            print("between", flush=True)
            sys.stdin.readline()
sys.addaudithook(hook)
with replacing_folder("site", {"ours", "first"}) as new:
    (new / "first").write_text("1")
"""


def test_a_writer_waits_for_another_that_is_in_the_swap(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "theirs").write_text("old")

    def write() -> None:
        with replacing_folder(site, {"ours"}) as new:
            (new / "ours").write_text("2")

    with (
        subprocess.Popen(
            [sys.executable, "-c", _SLOW],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other,
        ThreadPoolExecutor() as pool,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "between\n"
        written = pool.submit(write)
        with pytest.raises(TimeoutError):
            written.result(0.3)
        other.communicate("go on\n")
        written.result(30)
    assert other.returncode == 0
    assert {p.name: p.read_text() for p in site.iterdir()} == {"theirs": "old", "first": "1", "ours": "2"}
    assert [*tmp_path.iterdir()] == [site]
