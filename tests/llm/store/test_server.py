"""What only a database does: it stops, is behind a proxy, may only be read, or is not there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.judging.cluster import _connect
from metaeval.judging.settings import JudgingOptions
from metaeval.llm.calls.request import Reply
from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store
from tests.llm.asking import FAST, requests, running
from tests.llm.postgres import PASSWORD, USER, somebody
from tests.llm.server import serving

psycopg = pytest.importorskip("psycopg")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from metaeval.llm.store.rows import StoreConnection
    from tests.llm.postgres import Postgres

ASKED = list(requests(20, "http://127.0.0.1:9/v1"))
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'metaeval'"


def test_a_server_that_restarts_is_waited_for(postgres: Postgres) -> None:
    with Store(postgres.new()) as store:
        store.put(ASKED[0], Reply("before"))
        assert asyncio.run(store.claim(ASKED[1].key)).ours
        postgres.kill()
        start = threading.Thread(target=lambda: (time.sleep(0.5), postgres.start()))
        start.start()
        assert store.get(ASKED[0].key) == Reply("before")
        store.put(ASKED[2], Reply("after"))
        start.join()
        assert not asyncio.run(store.claim(ASKED[1].key)).ours  # it still is this process's
        with Store(store.database) as other:
            assert not asyncio.run(other.claim(ASKED[1].key)).ours
    with Store(store.database) as other:
        assert asyncio.run(other.claim(ASKED[1].key)).ours


def test_a_server_that_stays_away_stops_the_run(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaeval.llm.store.postgres._PATIENCE", 2.0)
    store = Store(postgres.new())
    store.put(ASKED[0], Reply("before"))
    postgres.kill()
    try:
        with pytest.raises(StoppedError, match=r"has not answered for \d s; what was answered is kept"):
            store.put(ASKED[1], Reply("x"))
        start = time.monotonic()
        with pytest.raises(StoppedError, match="cannot reach the store"):
            store.flush()
        store.close()
        assert time.monotonic() - start < 1.9  # it does not wait once more
    finally:
        postgres.start()


@pytest.mark.slow
def test_a_frozen_server_ends_a_run_with_a_sentence(postgres: Postgres) -> None:
    """It takes connections, and answers nothing; but for how long it is waited for, as users meet it."""
    program = (
        "from metaeval.llm.store import postgres; postgres._PATIENCE = 2.0; "
        "from tests.llm.store.test_server import run_long"
    )
    with serving(delay=0.01) as server:
        command = [sys.executable, "-c", f"{program}; run_long({postgres.new()!r}, {server.openai!r})"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while len(server.log) < 100:
            assert process.poll() is None
            time.sleep(0.01)
        with postgres.frozen():
            time.sleep(1)
            started = time.monotonic()
            _, said = process.communicate(timeout=60)
            took = time.monotonic() - started
    assert took < 60
    last = said.rstrip().splitlines()[-1]
    assert re.search(
        r"StoppedError: the store postgresql://metaeval@/postgres\?host=\S+ has not answered "
        r"for \d s; what was answered is kept, and the same command goes on from there",
        last,
    )


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_a_frozen_server(postgres: Postgres) -> None:
    with serving(delay=0.01) as server:
        program = "from tests.llm.store.test_server import run_long"
        command = [sys.executable, "-c", f"{program}; run_long({postgres.new()!r}, {server.openai!r})"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while len(server.log) < 100:
            assert process.poll() is None
            time.sleep(0.01)
        with postgres.frozen():
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    assert said.rstrip().endswith("KeyboardInterrupt")


def run_long(place: str, url: str) -> None:
    """Ask more than the test waits for."""
    with Store(place) as store:
        list(running(requests(100_000, url), store, limits=FAST))


@pytest.mark.parametrize("committed", [False, True])
def test_a_commit_is_made_once_when_its_connection_is_lost(postgres: Postgres, committed: bool) -> None:
    place = postgres.new()
    made: list[int] = []

    def change(connection: StoreConnection) -> int:
        connection.execute("CREATE TABLE IF NOT EXISTS counted (n BIGINT)")
        connection.execute("INSERT INTO counted VALUES (1)")
        made.append(1)
        if len(made) == 1:
            lose(connection)
        return len(made)

    def lose(connection: Any) -> None:
        """Lose the connection before the commit, or when it is done and has not been told."""
        raw = connection._raw
        if not committed:
            with psycopg.connect(place, autocommit=True) as other:
                other.execute(f"{END} AND pid = %s", (raw.info.backend_pid,))
            return
        execute = raw.execute

        def lost(sql: str, *rest: Any, **more: Any) -> Any:
            done = execute(sql, *rest, **more)
            if sql == "COMMIT":
                raw.close()
                raise psycopg.OperationalError("the connection is lost")
            return done

        raw.execute = lost

    with Store(place) as store:
        assert store.write(change) == len(made) == (1 if committed else 2)
        assert store.rows("SELECT count(*) FROM counted") == [(1,)]


def test_processes_that_wait_for_each_other_both_get_through(postgres: Postgres) -> None:
    """Each has a row that the other wants: PostgreSQL undoes one of them, or both, and it is made again."""
    meet = threading.Barrier(2)

    def cross(connection: StoreConnection, keys: list[str], tries: list[int]) -> None:
        tries.append(1)
        for key in keys:
            connection.execute("INSERT INTO claims VALUES (?, 'x') ON CONFLICT DO NOTHING", (key,))
            if len(tries) == 1 and key == keys[0]:
                meet.wait(10)

    with Store(postgres.new()) as one, Store(one.database) as other:
        tries: list[list[int]] = [[], []]
        waiting = [
            store._writer.send(lambda c, k=keys, t=t: cross(c, k, t))
            for store, keys, t in ((one, ["a", "b"], tries[0]), (other, ["b", "a"], tries[1]))
        ]
        for done in waiting:
            done.result(30)
        assert max(map(len, tries)) > 1
        assert one.rows("SELECT count(*) FROM claims") == [(2,)]


def test_a_reply_is_kept_whole_while_others_prune(postgres: Postgres) -> None:
    with Store(postgres.new()) as one, Store(one.database) as other:
        over = threading.Event()

        def prune() -> None:
            while not over.is_set():
                store_tools.prune(other, failures=True)

        pruning = threading.Thread(target=prune)
        pruning.start()
        for request in ASKED:
            one.put(request, Reply("x"))
        over.set()
        pruning.join()
        assert store_tools.problems(one) == []
        assert len(store_tools.conversations(one, [request.key for request in ASKED])) == len(ASKED)


def test_a_store_that_may_only_be_read(postgres: Postgres, tmp_path: Any) -> None:
    place = postgres.new()
    with Store(place) as store:
        store.put(ASKED[0], Reply("x"))
    with psycopg.connect(place, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS reader")
        admin.execute("CREATE ROLE reader LOGIN PASSWORD 'read only'")
        admin.execute("GRANT USAGE ON SCHEMA metaeval TO reader")
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA metaeval TO reader")
    only = postgres.address("postgres", user="reader", password="read only")  # noqa: S106 - of a test's server
    with Store(only) as reading:
        assert reading.get(ASKED[0].key) == Reply("x")
        assert store_tools.info(reading).replies == 1
        assert store_tools.export_jsonl(reading, tmp_path / "r.jsonl") == 1
        with pytest.raises(MetaevalError, match=r"may only be read .* run with --offline"):
            reading.put(ASKED[1], Reply("y"))
    with psycopg.connect(place, autocommit=True) as admin:
        admin.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_a_server_or_a_database_that_is_not_there(postgres: Postgres) -> None:
    for address in (
        f"postgresql://u:{'secret' * 3}@127.0.0.1:9/d",
        postgres.address("nowhere"),
        postgres.address("postgres", password="wrong secret"),  # noqa: S106 - of a test's server
    ):
        with pytest.raises(MetaevalError, match="cannot reach the store postgresql://") as caught:
            Store(address)
        assert "secret" not in repr(caught.value)
        assert "\n" not in str(caught.value)


@contextmanager
def asks_for_passwords() -> Iterator[tuple[int, list[bytes]]]:
    """Run what asks each client for its password in the clear; yield its port and what it was sent."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client, contextlib.suppress(OSError):
                        client.settimeout(5)
                        while (begun := client.recv(4096))[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"):
                            client.sendall(b"N")  # no TLS, no Kerberos
                        heard.append(begun)
                        client.sendall(b"R\0\0\0\x08\0\0\0\x03")
                        heard.append(client.recv(4096))

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], heard


SECRET = "Secret-of-my-DB"  # noqa: S105 - of a test


@pytest.fixture(params=["variable", "file", "service"])
def secret(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the environment has a password: one for any server, or for a service."""
    for name in ("HOST", "HOSTADDR", "PORT", "USER", "SERVICE", "DATABASE"):
        monkeypatch.delenv(f"PG{name}", raising=False)
    passwords, services = tmp_path / "pgpass", tmp_path / "services"
    passwords.write_text(f"*:*:*:*:{SECRET}\n")
    passwords.chmod(0o600)
    services.write_text(f"[prod]\nhost=127.0.0.1\npassword={SECRET}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    match request.param:
        case "variable":
            monkeypatch.setenv("PGPASSWORD", SECRET)
        case "file":
            monkeypatch.setenv("PGPASSFILE", str(passwords))
        case "service":
            monkeypatch.setenv("PGSERVICE", "prod")
    return str(passwords)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me@127.0.0.1:{port}/x",
        "postgresql://me@localhost:{port}/x?connect_timeout=5",
        "postgresql://me@/x?host=127.0.0.1&port={port}",
        "postgresql://me@db.example.org/x?hostaddr=127.0.0.1&port={port}",
        "postgresql://me@db.example.org/x?%68ost=127.0.0.1&port={port}",
        "postgresql://me@127.0.0.1:{port}/x?passfile={passwords}",
        "postgresql://me:@127.0.0.1:{port}/x",
        "postgresql://me@/x?service=prod&port={port}",
        "postgresql://me@db.example.org:1,127.0.0.1:{port}/x?hostaddr=127.0.0.1,127.0.0.1",
    ],
)
@pytest.mark.parametrize("named", ["", "postgresql://me@db.example.org/x", "postgresql://%zz"])
def test_the_password_of_the_environment_is_not_for_a_server_that_a_study_names(
    secret: str, address: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METAEVAL_STORE", named)
    refused = pytest.raises(MetaevalError, match="it was given no password: PGPASSWORD")
    with asks_for_passwords() as (port, heard), refused as caught:
        Store(address.format(port=port, passwords=secret))
    assert heard
    assert SECRET.encode() not in b"".join(heard)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("by", ["METAEVAL_STORE", "PGHOST", "PGHOSTADDR", "address"])
def test_the_password_of_the_environment_is_for_the_server_that_it_names(
    secret: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with asks_for_passwords() as (port, heard):
        host = "hostaddr" if by == "PGHOSTADDR" else "host"
        address = f"postgresql://me@/x?{host}=127.0.0.1&port={port}"
        if by == "METAEVAL_STORE":
            monkeypatch.setenv(by, address.replace("/x", "/y"))
        elif by == "address":
            address = f"postgresql://me:{SECRET}@127.0.0.1:{port}/x"
        else:
            monkeypatch.setenv(by, "127.0.0.1")
            monkeypatch.setenv("PGPORT", str(port))
        with pytest.raises(MetaevalError) as caught:
            Store(address)
    assert SECRET.encode() in b"".join(heard)
    assert "given no password" not in str(caught.value)


def test_workers_inherit_no_server_that_a_study_names(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="no ray: install metaeval[ray]")
    inherited: list[str] = []
    monkeypatch.setattr(ray, "init", lambda *_, **__: inherited.append(os.environ["METAEVAL_STORE"]))
    monkeypatch.setenv("METAEVAL_STORE", "postgresql://db.example.org/x")
    for store in ("postgresql://127.0.0.1/x?application_name=x", "postgresql://u:p@127.0.0.1/x"):
        _connect(None, JudgingOptions(store=store))
    assert inherited == ["postgresql://db.example.org/x", "postgresql://u:p@127.0.0.1/x"]


@contextmanager
def pooler(postgres: Postgres, mode: str) -> Iterator[str]:
    """Run PgBouncer before the server; yield the address of the database behind it."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("no pgbouncer: apt-get install pgbouncer")
    (postgres.folder / "users").write_text(f'"{USER}" "{PASSWORD}"\n', encoding="utf-8")
    (postgres.folder / "pooler.ini").write_text(
        f"[databases]\n* = host={postgres.folder} port=5432\n"
        f"[pgbouncer]\nlisten_port = 6432\npool_mode = {mode}\n"
        f"unix_socket_dir = {postgres.folder}\nauth_type = plain\nauth_file = {postgres.folder}/users\n",
        encoding="utf-8",
    )
    for name in ("users", "pooler.ini"):
        os.chmod(postgres.folder / name, 0o644)  # noqa: PTH101
    running = subprocess.Popen(
        [program, "-q", postgres.folder / "pooler.ini"], stderr=subprocess.DEVNULL, **somebody()
    )
    try:
        until = time.monotonic() + 10
        while not (postgres.folder / ".s.PGSQL.6432").exists():
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        yield postgres.address("postgres") + "&port=6432"
    finally:
        running.terminate()
        running.wait()


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_proxy_that_shares_connections_is_refused(postgres: Postgres, mode: str) -> None:
    postgres.new()
    with pooler(postgres, mode) as address:
        with closing(psycopg.connect(address, autocommit=True)) as connection:  # what is refused does answer
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(MetaevalError, match="lies behind a proxy, such as PgBouncer"):
            Store(address)
