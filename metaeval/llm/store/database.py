"""Where a store lies, an SQLite file or a database in PostgreSQL, and what the two have in common.

Both are sent the same SQL, in SQLite's types and with question marks. What differs has a method of the same
name in `metaeval.llm.store.sqlite` and `metaeval.llm.store.postgres`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias
from urllib.parse import unquote

from metaeval.base.errors import MetaevalError, MissingExtraError, StoppedError

if TYPE_CHECKING:
    from metaeval.llm.store.postgres import ServerDatabase, Session
    from metaeval.llm.store.sqlite import FileDatabase, FileSession

VERSION = 1
"""Of the layout of tables."""

_HOST = r"(?:\[[^\]@/?#\s]*\]|[^\[:@/?#,\s]*)(?::\d*)?"
_ADDRESS = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^:@/?#\s]*))?@)?"
    rf"(?P<where>{_HOST}(?:,{_HOST})*(?:/[^:@/?#\s]*)?)(?:\?(?P<query>[^@?#\s]*))?"
)
# What may be written down of the options; any other may be a password, or a part of one.
_PLAIN = {"host", "hostaddr", "port", "user", "dbname", "service", "passfile", "target_session_attrs"}
_PLAIN |= {"sslmode", "sslrootcert", "sslcert", "sslkey"}
UNREADABLE = (
    "the store's address cannot be read; write it as postgresql://USER@HOST:PORT/DATABASE, and "
    "@ : / ? # & and % of a password as %40 %3A %2F %3F %23 %26 and %25"
)


class UndoneError(StoppedError):
    """A transaction was undone, through no fault of its own; it may be made again."""


Database: TypeAlias = "FileDatabase | ServerDatabase"
"""Where a store lies."""
StoreConnection: TypeAlias = "FileSession | Session"
"""A connection to a store; a statement outside a transaction is one of its own."""


def database_at(place: str | os.PathLike[str] | Database | None = None) -> Database:
    """Return where a store lies: a path, or ``postgresql://…``.

    None is ``METAEVAL_STORE``, else a file in the user's cache folder.
    """
    if place is not None and not isinstance(place, (str, os.PathLike)):
        return place
    text = os.fspath(place) if place is not None else os.environ.get("METAEVAL_STORE", "")
    if is_address(text):
        try:
            from metaeval.llm.store.postgres import ServerDatabase
        except ImportError as error:  # no psycopg, or none of PostgreSQL's own library
            raise MissingExtraError("a store in PostgreSQL", "postgres") from error
        return ServerDatabase(text)
    from metaeval.llm.store.sqlite import FileDatabase

    if place is None and not text:
        import platformdirs

        return FileDatabase(Path(platformdirs.user_cache_dir("metaeval")) / "replies.sqlite")
    return FileDatabase(Path(text).expanduser())


def is_address(text: str) -> bool:
    """Say whether this is the address of a database, and no path."""
    return text.lstrip().startswith(("postgresql:", "postgres:"))


class ServerAddress(NamedTuple):
    """An address as libpq takes it: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE``."""

    text: str
    name: str
    """The address without passwords."""
    secrets: tuple[str, ...]
    """The passwords, each as it is and as it stands in the text."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read an address; what cannot be read is not repeated, for a part of it may be a password."""
        text = text.strip()
        parts = _ADDRESS.fullmatch(text)
        if parts is None or not text.isprintable():
            raise MetaevalError(UNREADABLE)
        options = [option.partition("=") for option in (parts["query"] or "").split("&")]
        plain = ["=".join((name, value)) for name, _, value in options if name in _PLAIN]
        secrets = [parts["password"], *(value for name, _, value in options if name not in _PLAIN)]
        user = "" if parts["user"] is None else f"{parts['user']}@"
        name = f"{parts['scheme']}{user}{parts['where']}{'?' if plain else ''}{'&'.join(plain)}"
        return cls(text, name, tuple(form for one in secrets if one for form in (one, unquote(one))))

    @staticmethod
    def shown(store: str) -> str:
        """Return a path as it is, and an address as it may be written down."""
        if not is_address(store):
            return store
        try:
            return ServerAddress.read(store).name
        except MetaevalError:
            return "postgresql://"
