"""A server of PostgreSQL in a folder of its own, on a socket: it has no port, and is nobody else's."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

USER = "metaeval"
PASSWORD = "p@ss/wörd %4711"  # noqa: S105 - of a server that lives as long as the tests


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None if it is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


def somebody() -> dict[str, Any]:
    """Return who runs it: PostgreSQL refuses root, who then runs it as another user."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    return {"user": 65534, "group": 65534, "extra_groups": []}


class Postgres:
    """A server for the length of a block; ``options`` replace those that keep it off the network."""

    def __init__(self, bin_folder: Path, options: Sequence[str] = ("-c", "listen_addresses=")) -> None:
        self._bin, self._somebody, self._options = bin_folder, somebody(), options
        self.folder = Path(tempfile.mkdtemp(prefix="metaeval-pg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if self._somebody:
            os.chown(self.folder, self._somebody["user"], self._somebody["group"])
        word = self.folder / "word"
        word.write_text(PASSWORD, encoding="utf-8")
        word.chmod(0o644)
        options = ["-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        self._run("initdb", "-D", self._data, "-U", USER, f"--pwfile={word}", *options)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # at once, without tidying up
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = ["-k", str(self.folder), "-c", "fsync=off", *self._options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self._data, *options], stderr=log, stdout=log, **self._somebody
            )
        until = time.monotonic() + 60
        while subprocess.run(
            [self._bin / "pg_isready", "-q", "-h", str(self.folder)], check=False
        ).returncode:
            assert time.monotonic() < until, (self.folder / "log").read_text()
            if self._process.poll() is not None:  # what was killed has not let go of its memory yet
                return self.start()
            time.sleep(0.05)
        return None

    def kill(self) -> None:
        """Kill all processes of the server, as a power cut would, but for the disk."""
        assert self._process is not None
        listing = ["ps", "-o", "pid=", "--ppid", str(self._process.pid)]
        children = subprocess.run(listing, capture_output=True, check=True, text=True).stdout.split()
        self._process.kill()
        for pid in map(int, children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all its processes for the length of a block: it takes connections, and answers nothing."""
        assert self._process is not None
        told = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)], capture_output=True, check=True, text=True
        )
        all_of_it = [self._process.pid, *map(int, told.stdout.split())]
        try:
            for pid in all_of_it:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in all_of_it:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def address(self, database: str, *, user: str = USER, password: str = PASSWORD) -> str:
        """Return the address of a database."""
        return f"postgresql://{user}:{quote(password, safe='')}@/{database}?host={self.folder}"

    def new(self) -> str:
        """Return the address of a database without a store."""
        import psycopg

        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS metaeval CASCADE")
        return self.address("postgres")

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._bin / program, *arguments]
        done = subprocess.run(
            command, capture_output=True, check=False, text=True, cwd=self.folder, **self._somebody
        )
        assert done.returncode == 0, done.stderr
