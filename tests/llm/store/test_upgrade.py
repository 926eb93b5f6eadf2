"""Stores of older versions: read as they are, upgraded as a whole or not at all."""

from __future__ import annotations

import hashlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import CallFailure, Message, Reply, Request
from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = 2000
GUIDE = " ".join(hashlib.sha256(bytes([i])).hexdigest() for i in range(60))
LAYOUT_2 = """CREATE TABLE replies (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, provider TEXT NOT NULL, asked TEXT NOT NULL,
    text TEXT NOT NULL,finish_reason TEXT,refusal TEXT,model TEXT,fingerprint TEXT,prompt_tokens INTEGER,
    completion_tokens INTEGER,cached_tokens INTEGER,queue_seconds REAL NOT NULL,service_seconds REAL NOT NULL,
    raw TEXT NOT NULL,error_kind TEXT,error_message TEXT,error_code TEXT, created REAL NOT NULL,
    digest INTEGER)"""
"""As metaeval wrote it up to version 2; version 1 had no digest."""
WRITE = """
import sys
from metaeval.llm.store.replies import Store
from tests.llm.store.test_upgrade import asked, reply
with Store(sys.argv[1]) as store:
    for i in range(int(sys.argv[2]), int(sys.argv[3])):
        assert store.put(asked(i), reply(i)) == reply(i)
"""


def asked(i: int) -> Request:
    """Return a request; one in three is a second attempt."""
    told = f"Rate this text. {GUIDE}\nIt is number {i}. " + f"It says {i * i} and nothing else. " * 20
    messages = (Message("system", "You rate texts."), Message("user", told))
    schema = {"type": "object", "properties": {"score": {"type": "integer"}}}
    return Request("openai", "m", messages, {"temperature": 0}, schema=schema, attempt=i % 3 // 2)


def reply(i: int) -> Reply:
    if i % 17 == 0:
        return Reply(error=CallFailure("transport", "lost", "timeout"))
    return Reply(f'{{"score": {i % 5}}}', "stop", None, "m-1", None, 900, 8, None, 0.25, 1.5, f"body {i}")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of version 2."""
    path = tmp_path_factory.mktemp("old") / "s.sqlite"
    with Store(path) as store:
        store.write(lambda _: None)
        for i in range(NUMBER):
            store._writer.send(lambda c, i=i: store._put(c, asked(i), reply(i)))
    with sqlite3.connect(path) as connection:
        texts = [(asked(i).canonical, asked(i).key) for i in range(NUMBER)]
        connection.execute("ALTER TABLE replies DROP COLUMN sent")
        connection.execute("ALTER TABLE replies RENAME TO new")
        connection.execute(LAYOUT_2)
        connection.execute("INSERT INTO replies SELECT * FROM new")
        connection.executemany("UPDATE replies SET request = ? WHERE key = ?", texts)
        connection.execute("DROP TABLE new")
        connection.execute("DROP TABLE texts")
        connection.execute("PRAGMA user_version = 2")
    connection.execute("VACUUM")
    connection.close()
    assert path.stat().st_size > NUMBER * 4000
    return path


def as_version_1(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE replies DROP COLUMN digest")
        connection.execute("PRAGMA user_version = 1")
    connection.close()


def check(path: Path, version: int) -> None:
    """Check that a store of a version holds all that was in the old one."""
    with Store(path, create=False) as store:
        assert store.rows("PRAGMA user_version") == [(version,)]
        assert store_tools.problems(store) == []
        keys = [asked(i).key for i in range(NUMBER)]
        assert store.get_many(keys) == {asked(i).key: reply(i) for i in range(NUMBER)}
        shown = store_tools.conversations(store, keys)
        assert [shown[key].messages for key in keys] == [asked(i).messages for i in range(NUMBER)]


def writing(path: Path, first: int, last: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITE, str(path), str(first), str(last)])


@pytest.mark.parametrize("version", [1, 2])
def test_an_old_store_is_read_and_upgraded_by_the_first_write(
    old: Path, tmp_path: Path, version: int
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(old, path)
    if version == 1:
        as_version_1(path)
    check(path, version)
    with Store(path) as store:
        before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
        store_tools.export_jsonl(store, before)
        assert store.put(asked(1), Reply("another")) == reply(1)
        store_tools.export_jsonl(store, after)
        assert before.read_bytes() == after.read_bytes()
    check(path, 3)
    assert path.stat().st_size < old.stat().st_size / 2


def test_killed_at_any_moment_an_upgrade_is_whole_or_not_done(old: Path, tmp_path: Path) -> None:
    path, log = tmp_path / "s.sqlite", tmp_path / "s.sqlite-wal"
    versions = []
    for more in (1, 300_000, 1_000_000):  # bytes that the upgrade has written when it is killed
        for leftover in tmp_path.iterdir():
            leftover.unlink()
        shutil.copy(old, path)
        process = writing(path, NUMBER, NUMBER + 1)
        while process.poll() is None and not (log.exists() and log.stat().st_size >= more):
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        connection = sqlite3.connect(path)
        versions += connection.execute("PRAGMA user_version").fetchone()
        connection.close()
        check(path, versions[-1])
    assert 2 in versions, "no upgrade was killed in the middle"
    assert writing(path, NUMBER, NUMBER + 1).wait() == 0
    check(path, 3)


def test_two_processes_write_to_an_old_store(old: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(old, path)
    both = [writing(path, NUMBER, NUMBER + 60), writing(path, NUMBER + 30, NUMBER + 90)]
    assert [process.wait() for process in both] == [0, 0]
    check(path, 3)
    with Store(path) as store:
        keys = [asked(i).key for i in range(NUMBER, NUMBER + 90)]
        assert len(store.get_many(keys)) == 90


def test_a_disk_without_room_leaves_the_old_store(old: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(old, path)
    room = (500_000, resource.RLIM_INFINITY)
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, {room!r})\n{WRITE}"
    command = [sys.executable, "-c", limited, str(path), "0", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"MetaevalError: cannot use the store {path}" in done.stderr
    assert "check the disk" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["s.sqlite"]
    check(path, 2)
    assert writing(path, 0, 1).wait() == 0
    check(path, 3)


def test_a_damaged_request_stays_damaged(old: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(old, path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET request = replace(request, 'nothing', 'all') WHERE rowid = 5")
        connection.execute("UPDATE replies SET request = CAST(x'7bff7d' AS TEXT) WHERE rowid = 6")
    connection.close()
    with Store(path) as store:
        store.put(asked(0), reply(0))
        assert store.get(asked(4).key) == reply(4)
        with pytest.raises(MetaevalError, match="is damaged"):
            store_tools.conversations(store, [asked(4).key])
