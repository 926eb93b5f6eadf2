"""Who answers requests: one line per provider in the table below.

A provider that speaks as OpenAI does is a line alone. Another has a small file too, with a class that has
``complete`` and ``close`` (see `metaeval.llm.calls.client.Client`) and takes a `Connection`. Nothing is
imported before the first request.
"""

from __future__ import annotations

import functools
import os
import re
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from metaeval.base.errors import MetaevalError
from metaeval.base.plugins import Registry
from metaeval.llm.calls.scrub import scrub


class Batching(NamedTuple):
    """How a provider takes many requests in a file, in the language of OpenAI's files and batches."""

    client: str
    """``module:class`` of the client whose requests it takes."""
    file_bytes: int
    """Bytes of a file at most."""
    line_bytes: int
    """Bytes of a request at most."""
    path: str = ""
    """What follows the host, if not that of the provider's address."""
    requests: int = 50_000
    """Requests in a file at most."""


class Provider(NamedTuple):
    """Where a provider's client is written, and what the environment says of it."""

    client: str
    """``module:class`` of its client."""
    address: str
    """Where it answers if no one says otherwise; empty if everyone has an address of their own, and if there
    is no network in it."""
    address_variable: str = ""
    key_variable: str = ""
    path: str = ""
    """What follows the host of an address that has no path."""
    top_logprobs: int = 20
    """How many alternatives to a token it lists at most."""
    batching: Batching | None = None
    """None if it takes no batches."""

    @property
    def remote(self) -> bool:
        """Whether there is a network in it."""
        return bool(self.address or self.address_variable)

    @property
    def needs_key(self) -> bool:
        """Whether it answers no one without a key; a server on this computer may do so."""
        return self.remote and urlsplit(self.address).hostname != "localhost"


CONNECT_SECONDS = 10.0  # a server that is there takes a connection within a second; proxies need some more
_KEY = re.compile(r"\b(?=\w*[a-z])(?=\w*[A-Z])(?=\w*\d)\w{20,}")
"""Letters of both cases and digits; the names of paths, deployments and accounts are not so."""
_HERE = "metaeval.llm.providers"
_DASHSCOPE = "https://dashscope.aliyuncs.com"


_OPENAI = f"{_HERE}.openai:OpenAIClient"
_COMPATIBLE = f"{_HERE}.openai:DashScopeCompatibleClient"
_MB = 1_000_000
_OF_DASHSCOPE = Batching(_COMPATIBLE, 500 * _MB, 6 * _MB, "/compatible-mode/v1")


_openai = functools.partial(Provider, _OPENAI)  # whoever speaks as OpenAI does

_KNOWN = {
    "openai": _openai(
        "https://api.openai.com/v1",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        batching=Batching(_OPENAI, 200 * _MB, 200 * _MB),
    ),
    "azure": _openai("", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "/openai/v1"),
    "anthropic": _openai("https://api.anthropic.com/v1", key_variable="ANTHROPIC_API_KEY"),
    "cerebras": _openai("https://api.cerebras.ai/v1", key_variable="CEREBRAS_API_KEY"),
    "deepinfra": _openai("https://api.deepinfra.com/v1/openai", key_variable="DEEPINFRA_API_KEY"),
    "deepseek": _openai("https://api.deepseek.com/v1", key_variable="DEEPSEEK_API_KEY"),
    "fireworks": _openai(
        "https://api.fireworks.ai/inference/v1", key_variable="FIREWORKS_API_KEY", top_logprobs=5
    ),
    "gemini": _openai(
        "https://generativelanguage.googleapis.com/v1beta/openai", key_variable="GEMINI_API_KEY"
    ),
    "groq": _openai("https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY"),
    "mistral": _openai("https://api.mistral.ai/v1", key_variable="MISTRAL_API_KEY"),
    "moonshot": _openai("https://api.moonshot.ai/v1", key_variable="MOONSHOT_API_KEY"),
    "openrouter": _openai("https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY"),
    "siliconflow": _openai("https://api.siliconflow.cn/v1", key_variable="SILICONFLOW_API_KEY"),
    "together": _openai("https://api.together.xyz/v1", key_variable="TOGETHER_API_KEY"),
    "xai": _openai("https://api.x.ai/v1", key_variable="XAI_API_KEY", top_logprobs=8),
    "zai": _openai("https://api.z.ai/api/paas/v4", key_variable="ZAI_API_KEY"),
    "zhipu": _openai("https://open.bigmodel.cn/api/paas/v4", key_variable="ZHIPUAI_API_KEY"),
    "litellm": _openai("http://localhost:4000/v1", key_variable="LITELLM_API_KEY"),
    "llama.cpp": _openai("http://localhost:8080/v1", key_variable="LLAMA_API_KEY"),
    "lmstudio": _openai("http://localhost:1234/v1", key_variable="LM_API_TOKEN"),
    "ollama": _openai("http://localhost:11434/v1", key_variable="OLLAMA_API_KEY"),
    "vllm": _openai("http://localhost:8000/v1", key_variable="VLLM_API_KEY"),
    "dashscope": Provider(
        f"{_HERE}.dashscope:DashScopeClient",
        f"{_DASHSCOPE}/api/v1",
        "DASHSCOPE_HTTP_BASE_URL",
        "DASHSCOPE_API_KEY",
        top_logprobs=5,
        batching=_OF_DASHSCOPE,
    ),
    "dashscope-compatible": Provider(
        _COMPATIBLE,
        f"{_DASHSCOPE}/compatible-mode/v1",
        "DASHSCOPE_COMPATIBLE_BASE_URL",
        "DASHSCOPE_API_KEY",
        top_logprobs=5,
        batching=_OF_DASHSCOPE._replace(path=""),
    ),
    "simulated": Provider(f"{_HERE}.simulated:SimulatedClient", ""),
}
PROVIDERS = Registry("metaeval.providers", Provider, "a metaeval.llm.providers.Provider", "provider", _KNOWN)
provider_named = PROVIDERS.named


class Connection(NamedTuple):
    """What a client needs to know to reach its provider."""

    provider: str
    base_url: str
    reply_seconds: float = 120.0


def batching_of(provider: str) -> Batching:
    """Return how a provider takes batches; raise `MetaevalError` if it takes none."""
    batching = provider_named(provider).batching
    if batching is None:
        known = ", ".join(name for name, entry in _KNOWN.items() if entry.batching)
        raise MetaevalError(
            f"provider {provider!r} takes no batches, which {known} do; leave batch out, or name a model of "
            f"theirs (another server with OpenAI's files and batches is openai/… with its base_url)"
        )
    return batching


def address_of(provider: str, base_url: str | None = None) -> str:
    """Return where a provider's requests go: what is given, else the environment's, else the default.

    The address is part of a request's key, so it has one form: lower-case scheme and host, no slash at the
    end. `MetaevalError` is raised for one that is no http address, or may hold a secret.
    """
    entry = provider_named(provider)
    address = base_url or os.environ.get(entry.address_variable, "") or entry.address
    if not entry.remote:
        if base_url:
            raise MetaevalError(f"provider {provider!r} has no address; leave base_url out")
        return ""
    if not address:
        raise MetaevalError(
            f"provider {provider!r} has no address for all; set {entry.address_variable}, or give base_url"
        )
    key = os.environ.get(entry.key_variable, "").strip()
    return _in_one_way(address.strip(), entry.key_variable, entry.path, key if key.isascii() else "")


@functools.lru_cache(maxsize=256)
def _in_one_way(address: str, key_variable: str, path: str, key: str) -> str:
    try:
        parts = urlsplit(address)
        usable = parts.scheme.lower() in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # of the port, or of an IPv6 address
        usable = False
    if not usable:
        raise MetaevalError(f"base_url {address!r} is not an address; write it as http://host:port/path")
    if "@" in parts.netloc or parts.query or parts.fragment:
        # The text is kept in the store and in the run folder, and a password has no place there.
        raise MetaevalError(
            f"the base_url for {parts.hostname} has a user name, a password or a query; leave them out and "
            f"give the key in {key_variable}"
        )
    if scrub(parts.path, key) != parts.path or _KEY.search(parts.path):
        raise MetaevalError(
            f"the base_url for {parts.hostname} has what looks like a key in its path, which the store and "
            f"the run folder would keep; leave it out and give the key in {key_variable}"
        )
    where = parts.path.rstrip("/") or path
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), where, "", ""))


def key_for(provider: str, base_url: str) -> str:
    """Return the key from the environment; an address of the user's own may do without one.

    `MetaevalError` is raised if the provider's own address is used and the variable holds no key.
    """
    entry = provider_named(provider)
    key = os.environ.get(entry.key_variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        place = next(i for i, c in enumerate(key, start=1) if not (c.isascii() and c.isprintable()))
        raise MetaevalError(
            f"{entry.key_variable} holds a character that no key has, at position {place} of {len(key)}; a "
            "key is plain ASCII, so copy it again"
        )
    if key or not entry.needs_key or (entry.address and base_url != entry.address):
        return key
    raise MetaevalError(f"{entry.key_variable} is not set; {provider!r} models need a key in it")
