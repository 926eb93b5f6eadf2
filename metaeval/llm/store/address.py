"""The address of a store in PostgreSQL, and how it is written without the password."""

from __future__ import annotations

import re
from typing import NamedTuple, Self
from urllib.parse import unquote

from metaeval.base.errors import MetaevalError

_ADDRESS = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^:@/?#\s]*))?@)?"
    r"(?P<where>[^@/?#\s]*(?:/[^@/?#\s]*)?)(?:\?(?P<query>[^@?#\s]*))?"
)
_SECRET = "password", "secret"


def is_address(text: str) -> bool:
    """Say whether this is the address of a database, and no path."""
    return text.startswith(("postgresql:", "postgres:"))


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
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise MetaevalError(
                "the store's address cannot be read; write it as postgresql://USER@HOST:PORT/DATABASE, and "
                "@ : / ? # and % of a password as %40 %3A %2F %3F %23 %25"
            )
        options = [] if found["query"] is None else found["query"].split("&")
        plain = [option for option in options if not _is_secret(option)]
        secrets = [found["password"], *(option.partition("=")[2] for option in options if _is_secret(option))]
        user = "" if found["user"] is None else f"{found['user']}@"
        name = f"{found['scheme']}{user}{found['where']}{'?' if plain else ''}{'&'.join(plain)}"
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


def _is_secret(option: str) -> bool:
    name = unquote(option.partition("=")[0]).casefold()
    return any(word in name for word in _SECRET)
