"""Who answers requests: one small file per provider, one line each in the table below.

A new provider is a line here and a file with a class that has ``complete`` and ``close`` (see
`metaeval.llm.calls.client.Client`) and takes a `Connection`. Nothing is imported before the first request.
"""

from __future__ import annotations

import functools
import os
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from metaeval.base.errors import MetaevalError, one_of


class Provider(NamedTuple):
    """Where a provider's client is written, and what the environment says of it."""

    client: str
    """``module:class`` of its client."""
    address: str
    """Where it answers if nobody says otherwise; empty if there is no network in it."""
    address_variable: str = ""
    key_variable: str = ""


_HERE = "metaeval.llm.providers"
_DASHSCOPE = "https://dashscope.aliyuncs.com"

PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        f"{_HERE}.openai:OpenAIClient", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"
    ),
    "dashscope": Provider(
        f"{_HERE}.dashscope:DashScopeClient",
        f"{_DASHSCOPE}/api/v1",
        "DASHSCOPE_HTTP_BASE_URL",
        "DASHSCOPE_API_KEY",
    ),
    "dashscope-compatible": Provider(
        f"{_HERE}.openai:DashScopeCompatibleClient",
        f"{_DASHSCOPE}/compatible-mode/v1",
        "DASHSCOPE_COMPATIBLE_BASE_URL",
        "DASHSCOPE_API_KEY",
    ),
    "simulated": Provider(f"{_HERE}.simulated:SimulatedClient", ""),
}


class Connection(NamedTuple):
    """What a client needs to know to reach its provider."""

    provider: str
    base_url: str
    connect_seconds: float = 10.0
    reply_seconds: float = 120.0


def provider_named(name: str) -> Provider:
    """Return a provider of the table; raise `MetaevalError` if there is none of this name."""
    return PROVIDERS[one_of(name, PROVIDERS, "there is no provider", "providers")]


def address_of(provider: str, base_url: str | None = None) -> str:
    """Return where a provider's requests go: what is given, else the environment's, else the default.

    The address is part of a request's key, so it has one form: lower-case scheme and host, no slash at the
    end. `MetaevalError` is raised for one that is no http address, or may hold a secret.
    """
    entry = provider_named(provider)
    given = base_url or os.environ.get(entry.address_variable, "") or entry.address
    if not entry.address:
        if base_url:
            raise MetaevalError(f"provider {provider!r} has no address; leave base_url out")
        return ""
    return _in_one_way(given.strip(), entry.key_variable)


@functools.lru_cache(maxsize=256)
def _in_one_way(given: str, key_variable: str) -> str:
    parts = urlsplit(given)
    if parts.scheme.lower() not in {"http", "https"} or not parts.hostname:
        raise MetaevalError(f"base_url {given!r} is no address; write it as http://host:port/path")
    if "@" in parts.netloc or parts.query or parts.fragment:
        # The text is kept in the store and in the run folder, and a password has no place there.
        raise MetaevalError(
            f"the base_url for {parts.hostname} has a user name, a password or a query; leave them out and "
            f"give the key in {key_variable}"
        )
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), parts.path.rstrip("/"), "", ""))


def key_for(provider: str, base_url: str) -> str:
    """Return the key from the environment; an address of the user's own may do without one.

    `MetaevalError` is raised if the provider's own address is used and the variable holds no key.
    """
    entry = provider_named(provider)
    key = os.environ.get(entry.key_variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        place = next(i for i, c in enumerate(key, start=1) if not (c.isascii() and c.isprintable()))
        raise MetaevalError(
            f"{entry.key_variable} holds a character that no key has, at place {place} of {len(key)}; a key "
            f"is plain ASCII, so copy it again"
        )
    if key or base_url != entry.address:
        return key
    raise MetaevalError(f"{entry.key_variable} is not set; {provider!r} models need a key in it")
