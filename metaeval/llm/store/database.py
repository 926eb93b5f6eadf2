"""Where a store lies, an SQLite file or a database in PostgreSQL, and what the two have in common.

Both speak the SQL of this room: SQLite's, with question marks, of which PostgreSQL takes all but the types
and the marks. What differs has a method here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from metaeval.base.errors import MetaevalError, MissingExtraError
from metaeval.llm.store.address import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager


class UndoneError(MetaevalError):
    """A transaction was undone, through no fault of its own; it may be made again."""


class Cursor(Protocol):
    """What a statement found or did."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:  # noqa: ANN401 - a row, or None
        """Return the next row; None behind the last."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class StoreConnection(Protocol):
    """A connection to a store; a statement outside a transaction is one of its own."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Cursor:
        """Execute a statement."""

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Cursor:
        """Execute a statement with each of several values."""

    def create(self, *tables: str) -> None:
        """Create tables and indexes that are not there; each is ``CREATE … IF NOT EXISTS``."""

    def begin(self) -> None:
        """Begin a transaction that writes."""

    def alone(self) -> None:
        """Let no one else write until the transaction ends."""

    def commit(self) -> None:
        """Commit; raise an error only if nothing was committed."""

    def rollback(self) -> None:
        """Undo the transaction, if there is one."""

    def now(self) -> float:
        """Return the time in seconds, by the one clock of all who use the store."""

    def hold(self, name: str) -> bool:
        """Take a lock that this process keeps as long as it lives; false if it is taken, be it by itself."""

    def held(self, name: str) -> bool:
        """Say whether a process that lives holds a lock."""

    def let_go(self, name: str, *, for_good: bool = True) -> None:
        """Release a lock; ``for_good``: no one waits for it."""

    def close(self) -> None:
        """Close the connection."""


class Database(Protocol):
    """Where a store lies."""

    name: str
    """As messages and run folders have it: without a password."""

    def exists(self) -> bool:
        """Say whether a store is there."""

    def open_to_read(self) -> StoreConnection:
        """Open a store to read it; a missing one is created, a read-only one is not changed."""

    def open_to_write(self) -> StoreConnection:
        """Open a store to write to it."""

    def sentences(self) -> AbstractContextManager[None]:
        """Turn errors of the database inside the block into a `MetaevalError` of one sentence."""

    def version(self, connection: Any) -> int:  # noqa: ANN401 - its own
        """Return the version of the layout."""

    def size(self, connection: Any) -> int:  # noqa: ANN401
        """Return how many bytes the store takes on the disk."""

    def faults(self, connection: Any, most: int = 100) -> list[str]:  # noqa: ANN401
        """Return what is wrong with the file, as far as the database itself can tell."""

    def shrink(self, connection: Any) -> None:  # noqa: ANN401
        """Give free space back to the disk, unless that would disturb others."""

    def state(self) -> list[int] | None:
        """Return a value that changes whenever the store does; None if there is none."""


def database_at(given: str | os.PathLike[str] | Database | None = None) -> Database:
    """Return where a store lies: a path, or ``postgresql://…``.

    None is ``METAEVAL_STORE``, else a file in the user's cache folder.
    """
    if given is None or isinstance(given, (str, os.PathLike)):
        text = os.fspath(given) if given is not None else os.environ.get("METAEVAL_STORE") or _usual()
        if is_address(text):
            try:
                from metaeval.llm.store.server import ServerDatabase
            except ImportError as error:  # no psycopg, or none of PostgreSQL's own library
                raise MissingExtraError("a store in PostgreSQL", "postgres") from error
            return ServerDatabase(text)
        from metaeval.llm.store.file import FileDatabase

        return FileDatabase(Path(text).expanduser())
    return given


def _usual() -> str:
    import platformdirs

    return str(Path(platformdirs.user_cache_dir("metaeval")) / "replies.sqlite")
