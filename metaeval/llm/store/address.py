"""The address of a store in PostgreSQL, and how it is written without the password."""

from __future__ import annotations

import re
from typing import NamedTuple, Self
from urllib.parse import unquote

from metaeval.base.errors import MetaevalError

_HOST = r"(?:\[[^\]@/?#\s]*\]|[^\[:@/?#,\s]*)(?::\d*)?"
_ADDRESS = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^:@/?#\s]*))?@)?"
    rf"(?P<where>{_HOST}(?:,{_HOST})*(?:/[^:@/?#\s]*)?)(?:\?(?P<query>[^@?#\s]*))?"
)
# What may be written down of the options; any other may be a password, or a part of one.
_PLAIN = {"host", "hostaddr", "port", "user", "dbname", "service", "passfile", "target_session_attrs"}
_PLAIN |= {"sslmode", "sslrootcert", "sslcert", "sslkey"}
_UNREADABLE = (
    "the store's address cannot be read; write it as postgresql://USER@HOST:PORT/DATABASE, and "
    "@ : / ? # & and % of a password as %40 %3A %2F %3F %23 %26 and %25"
)


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
        found = _ADDRESS.fullmatch(text)
        if found is None or not text.isprintable():
            raise cls.unreadable()
        options = [option.partition("=") for option in (found["query"] or "").split("&")]
        plain = ["=".join((name, value)) for name, _, value in options if name in _PLAIN]
        secrets = [found["password"], *(value for name, _, value in options if name not in _PLAIN)]
        user = "" if found["user"] is None else f"{found['user']}@"
        name = f"{found['scheme']}{user}{found['where']}{'?' if plain else ''}{'&'.join(plain)}"
        return cls(text, name, tuple(form for one in secrets if one for form in (one, unquote(one))))

    @staticmethod
    def unreadable() -> MetaevalError:
        """Return the error for an address that cannot be read."""
        return MetaevalError(_UNREADABLE)

    @staticmethod
    def shown(store: str) -> str:
        """Return a path as it is, and an address as it may be written down."""
        if not is_address(store):
            return store
        try:
            return ServerAddress.read(store).name
        except MetaevalError:
            return "postgresql://"
