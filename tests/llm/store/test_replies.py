from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import CallFailure, Reply, Request
from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store, database_at
from tests.llm.asking import requests

URL = "http://127.0.0.1:9/v1"
LOST = Reply(error=CallFailure("transport", "lost", "timeout"))


def one(i: int = 0) -> Request:
    return list(requests(i + 1, URL))[i]


def test_what_is_put_is_got(store: Store, place: str) -> None:
    reply = Reply(
        text="a\x00b 好",
        finish_reason="stop",
        refusal="no",
        model="m-1",
        fingerprint="fp",
        prompt_tokens=1,
        completion_tokens=2,
        cached_tokens=0,
        queue_seconds=0.5,
        service_seconds=1.5,
        raw='{"a": 1}',
        sent='{"temperature":null}',
    )
    assert store.get(one().key) is None
    assert store.put(one(), reply) == reply
    assert store.get(one().key) == reply
    with Store(place) as again:
        assert again.get_many([one(1).key, one().key, one().key]) == {one().key: reply}


def test_the_first_reply_stays_but_a_failure_makes_room(store: Store) -> None:
    assert store.put(one(), LOST) == LOST
    assert store.get(one().key) == LOST
    assert store.put(one(), Reply("first")).text == "first"
    assert store.put(one(), Reply("second")).text == "first"
    assert store.put(one(), LOST).text == "first"
    assert store.get(one().key) == Reply("first")


def test_a_claim_is_given_once(store: Store, place: str) -> None:
    async def go() -> None:
        key = one().key
        with Store(place) as other:
            assert (await store.claim(key)).ours
            assert not (await store.claim(key)).ours  # another task of the same run
            assert not (await other.claim(key)).ours
            store.release(key)
            await asyncio.to_thread(store.flush)
            assert (await other.claim(key)).ours
            await other.put_soon(one(), Reply("x"))
            assert (await store.claim(key)).reply == Reply("x")
            await other.put_soon(one(1), LOST)
            assert (await store.claim(one(1).key)).ours  # a failure is asked again

    asyncio.run(go())


def test_claims_of_the_dead_are_void(store: Store, place: str) -> None:
    code = (
        "import asyncio, os, sys; from metaeval.llm.store.replies import Store\n"
        f"s = Store(sys.argv[1]); assert asyncio.run(s.claim({one().key!r})).ours; os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, place], check=False).returncode == 9
    assert store.rows("SELECT count(*) FROM claims") == [(1,)]
    assert asyncio.run(store.claim(one().key)).ours


def test_nothing_is_left_beside_the_store(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        asyncio.run(store.claim("k"))
        assert len(list(tmp_path.iterdir())) > 1
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]
    with Store(tmp_path / "s.sqlite") as store:
        assert store.rows("SELECT count(*) FROM claims") == [(0,)]


@pytest.mark.slow
def test_several_processes_open_a_new_store_at_once(place: str) -> None:
    code = (
        "import sys; from metaeval.llm.store.replies import Store\n"
        "from metaeval.llm.calls.request import Reply\n"
        "from tests.llm.asking import requests\n"
        "with Store(sys.argv[1]) as s:\n"
        f"    for r in requests(50, {URL!r}): s.put(r, Reply(sys.argv[2]))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, place, str(i)]) for i in range(4)]
    assert [p.wait() for p in running] == [0] * 4
    with Store(place) as store:
        assert store_tools.info(store).replies == 50
        assert store_tools.problems(store) == []


@pytest.mark.parametrize(
    "content", [b"not a database, surely not, " * 50, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_file_that_is_no_store(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(content)
    with pytest.raises(MetaevalError, match=r"is damaged or is no store .*METAEVAL_STORE") as caught:
        Store(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(MetaevalError, match="no store of layout 1; name another file"):
        Store(path)
    assert path.read_bytes() == before
    with pytest.raises(MetaevalError, match="is a folder"):
        Store(tmp_path)


def test_a_store_of_another_layout(store: Store, place: str) -> None:
    later = "UPDATE layout SET version = 99" if "postgresql:" in place else "PRAGMA user_version = 99"
    store.write(lambda connection: connection.execute(later))
    with pytest.raises(MetaevalError, match=r"layout .*; name another .*, or use the metaeval that wrote it"):
        Store(place)


def test_a_store_that_must_be_there(place: str, tmp_path: Path) -> None:
    for _ in range(2):  # the first has made none
        with pytest.raises(MetaevalError, match="there is no store at"):
            Store(place, create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_store_says_so(place: str) -> None:
    store = Store(place)
    store.close()
    store.close()
    with pytest.raises(MetaevalError, match="closed"):
        store.put(one(), Reply("x"))


def test_a_write_that_fails_is_told_to_who_waits(store: Store) -> None:
    store.put(one(), Reply("x"))
    with pytest.raises(MetaevalError, match="cannot use the store"):
        store.write(lambda connection: connection.execute("SELECT * FROM no_such_table"))
    assert store.put(one(1), Reply("y")).text == "y"


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("METAEVAL_STORE", str(tmp_path / "mine"))
    assert database_at().name == str(tmp_path / "mine")
    monkeypatch.delenv("METAEVAL_STORE")
    assert database_at().name.endswith("replies.sqlite")
