"""A store whose file was damaged or may only be read: right results or one sentence, never anything else."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.llm.calls.request import CallFailure, Reply
from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store
from tests.llm.asking import requests

pytestmark = pytest.mark.slow

URL = "http://127.0.0.1:9/v1"
NUMBER = 120
ASKED = list(requests(NUMBER, URL))


def reply(i: int) -> Reply:
    if i % 17 == 0:
        return Reply(error=CallFailure("transport", "lost", "timeout"))
    text = f'{{"clarity": {i % 5 + 1}}}' * (1 + i % 40)
    return Reply(text, "stop", None, "m-1", None, 400 + i, i, None, 0.25, 1.5, f'{{"body": "{text}"}}')


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some hundred replies, closed."""
    path = tmp_path_factory.mktemp("sound") / "s.sqlite"
    with Store(path) as store:
        for i, request in enumerate(ASKED):
            store.put(request, reply(i))
    return path


def outcomes(path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[str, int, str]]:
    """Yield each command that reads a store, its exit code and what it said to people."""
    export = str(folder / "r.jsonl")
    for command in (["info"], ["export", export], ["prune", "--failures"], ["prune", "--damaged"]):
        code = main(["store", *command, "--store", str(path)])
        yield command[0], code, capsys.readouterr().err


@pytest.mark.parametrize("seed", range(30))
def test_a_flipped_bit_gives_what_was_kept_or_one_sentence(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    draw = random.Random(seed)  # noqa: S311 - bits to flip
    content = bytearray(sound.read_bytes())
    # Half of them where SQLite keeps its own numbers: at the beginning of a page of 4,096 bytes.
    at = draw.randrange(len(content)) if seed % 2 else draw.randrange(len(content) // 4096) * 4096
    at = min(at + (0 if seed % 2 else draw.randrange(200)), len(content) - 1)
    content[at] ^= 1 << draw.randrange(8)
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)

    try:
        with Store(path, create=False) as store:
            found = store.get_many(r.key for r in ASKED)
            shown = store_tools.conversations(store, [r.key for r in ASKED])
            for i, request in enumerate(ASKED):
                kept = store.put(request, Reply("another"))
                assert kept in {reply(i), Reply("another")}
    except MetaevalError as error:
        assert "\n" not in str(error)  # noqa: PT017 both outcomes are right
    else:
        for i, request in enumerate(ASKED):
            assert found.get(request.key) in {None, reply(i)}
            if request.key in shown:
                assert shown[request.key] == (request.messages, reply(i))

    path.write_bytes(content)
    for name in ("s.sqlite-wal", "s.sqlite-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    for command, code, said in outcomes(path, tmp_path, capsys):
        assert code in {0, 1, 2}, command
        assert code == 0 or command == "info" or said.startswith("metaeval: "), (command, said)
        assert said.count("\n") <= 1, said
    export = tmp_path / "r.jsonl"
    if export.exists():
        known = {r.key: reply(i) for i, r in enumerate(ASKED)}
        lines = [json.loads(line) for line in export.read_text(encoding="utf-8").splitlines()]
        assert {line["key"] for line in lines} == set(known)
        for line in lines:
            assert line["reply"]["text"] == known[line["key"]].text


def test_a_reply_that_was_changed_on_the_disk_is_not_used(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(sound, path)
    with sqlite3.connect(path) as connection:
        # A score becomes another.
        five = zlib.compress(json.dumps(reply(40)).replace('": 1}', '": 5}', 1).encode())
        connection.execute("UPDATE replies SET reply = ? WHERE key = ?", (five, ASKED[40].key))
        connection.execute("UPDATE replies SET request = '{}' WHERE key = ?", (ASKED[41].key,))
    connection.close()
    with Store(path) as store:
        with pytest.raises(MetaevalError, match=r"damaged: the reply .*prune --damaged"):
            store.get(ASKED[40].key)
        with pytest.raises(MetaevalError, match="is damaged"):
            store_tools.conversations(store, [ASKED[41].key])
        assert store.get(ASKED[42].key) == reply(42)
        assert "2 replies are not what was kept" in store_tools.problems(store)[0]
        assert store_tools.prune(store, damaged=True) == 2
        assert store_tools.problems(store) == []
        assert store.get(ASKED[40].key) is None
        assert store_tools.info(store).replies + store_tools.info(store).failures == NUMBER - 2


AS_NOBODY = """
import contextlib, io, json, os, sys
import pandas, pyarrow.parquet
from metaeval.cli import main
store, copy, *commands = json.loads(sys.argv[1])
# All that the commands import is imported now: nobody may not be allowed to read the interpreter's folders.
for command in commands:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main([part.replace(store, copy).replace("WHO", "ME") for part in command])
os.setgid(65534)
os.setuid(65534)
for command in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


def as_nobody(store: Path, scratch: Path, *commands: list[str]) -> list[Done]:
    """Run commands as a user who may not write; before, once as oneself on a copy of the store."""
    copy = scratch / "copy.sqlite"
    shutil.copyfile(store, copy)
    given = json.dumps([str(store), str(copy), *commands])
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, given], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture
def locked(sound: Path) -> Iterator[Path]:
    """A store in a folder of somebody else, both read-only; whoever runs this must be root to be nobody."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can become a user who may not write")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store" / "s.sqlite"
        path.parent.mkdir()
        shutil.copy(sound, path)
        path.chmod(0o444)
        path.parent.chmod(0o555)
        Path(folder).chmod(0o755)
        (Path(folder) / "out").mkdir()
        (Path(folder) / "out").chmod(0o777)
        yield path


def test_a_read_only_store_is_read(locked: Path, tmp_path: Path) -> None:
    file = locked.parent.parent / "out" / "WHO.jsonl"
    at = ["--store", str(locked)]
    found, exported, *refused = as_nobody(
        locked,
        tmp_path,
        ["store", "info", *at],
        ["store", "export", str(file), *at],
        ["store", "prune", "--all", *at],
        ["store", "import", str(file), *at],
    )
    assert (found.code, found.err) == (0, "")
    assert "replies   112" in found.out
    assert (exported.code, exported.err) == (0, "")
    assert len(file.read_text(encoding="utf-8").splitlines()) == NUMBER
    for done in refused:
        assert done.code == 2
        assert "may only be read" in done.err
        assert done.err.count("\n") == 1
    assert [p.name for p in locked.parent.iterdir()] == ["s.sqlite"]


def test_replies_that_only_the_log_has_are_not_lost_silently(locked: Path, tmp_path: Path) -> None:
    locked.with_name("s.sqlite-wal").write_bytes(b"x" * 100)
    (done,) = as_nobody(locked, tmp_path, ["store", "info", "--store", str(locked)])
    assert done.code == 2
    assert "its last replies are in s.sqlite-wal" in done.err
