"""Whatever goes wrong in the writing thread is told to who waits; nobody waits for what never comes."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import Reply
from metaeval.llm.store.replies import Store
from metaeval.llm.store.sqlite import FileDatabase
from tests.llm.asking import requests

if TYPE_CHECKING:
    import sqlite3

URL = "http://127.0.0.1:9/v1"
pytestmark = pytest.mark.timeout(20)


@pytest.mark.parametrize(
    "error", [RecursionError("deep"), MemoryError(), KeyError("x"), ZeroDivisionError(), OverflowError()]
)
def test_any_error_of_a_change_is_told_and_the_thread_lives_on(store: Store, error: Exception) -> None:
    def fails(_: sqlite3.Connection) -> None:
        raise error

    first, second, third = requests(3, URL)
    store.put(first, Reply("before"))
    with pytest.raises(Exception) as caught:  # noqa: PT011 - MemoryError becomes a sentence, the others stay
        store.write(fails)
    assert caught.value is error or caught.value.__cause__ is error
    store.flush()
    assert store.put(second, Reply("after")) == Reply("after")

    async def together() -> list[object]:
        """A change that fails beside one that does not: the thread takes both at once, or one by one."""
        tasks = [store.put_soon(third, Reply("beside")), store._writer.soon(fails)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    beside, failed = asyncio.run(together())
    assert beside == Reply("beside")
    assert isinstance(failed, Exception)
    assert len(store.get_many(r.key for r in (first, second, third))) == 3


def test_what_a_failed_change_wrote_is_taken_back_and_no_more(store: Store) -> None:
    one, two = requests(2, URL)
    store.put(one, Reply("one"))

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM replies")
        raise KeyError("half done")

    gate: Future[None] = Future()
    waiting = [
        store._writer.send(lambda _: gate.result()),  # holds the thread until all three wait together
        store._writer.send(half),
        store._writer.send(lambda connection: store._put(connection, two, Reply("two"))),
    ]
    gate.set_result(None)
    assert waiting[2].result() == Reply("two")
    with pytest.raises(KeyError):
        waiting[1].result()
    assert len(store.get_many([one.key, two.key])) == 2


def test_a_claim_beside_a_change_that_fails_is_held_once(store: Store) -> None:
    def fails(_: sqlite3.Connection) -> None:
        raise KeyError("beside")

    (request,) = requests(1, URL)
    gate: Future[None] = Future()
    waiting = [
        store._writer.send(lambda _: gate.result()),  # holds the thread until all wait together
        *(store._writer.send(lambda c: store._claim(c, request.key)) for _ in range(2)),
        store._writer.send(fails),
    ]
    gate.set_result(None)
    assert [waiting[i].result().ours for i in (1, 2)] == [True, False]
    store.release(request.key)
    assert asyncio.run(store.claim(request.key)).ours


def test_many_threads_start_one_writer_and_nothing_is_sent_behind_its_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    writer, meet = store._writer, threading.Barrier(8)
    connect = store.database.open_to_write
    monkeypatch.setattr(store.database, "open_to_write", lambda: (opened.append("one"), connect())[1])
    thread = threading.Thread
    # Whoever is about to start a thread gives way to the others.
    monkeypatch.setattr(threading, "Thread", lambda *a, **k: (time.sleep(0.05), thread(*a, **k))[1])

    def send(_: int) -> int:
        meet.wait()
        return writer.send(lambda _: 1).result()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(8))) == 8
    assert opened == ["one"]
    store.close()
    with pytest.raises(MetaevalError, match="the store is closed"):
        writer.send(lambda _: 1)


@pytest.mark.parametrize("error", [RuntimeError("no file"), OSError(28, "no space left")])
def test_a_file_that_cannot_be_opened_for_writing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(_: FileDatabase) -> None:
        raise error

    with Store(tmp_path / "s.sqlite") as store:
        monkeypatch.setattr(FileDatabase, "open_to_write", fails)
        store.flush()  # nothing was sent, so there is nothing to wait for
        for _ in range(2):
            with pytest.raises(type(error)):
                store.put(next(requests(1, URL)), Reply("x"))
        with pytest.raises(type(error)):
            store.flush()
