"""Who answers requests: one line per provider in the table below.

A provider that speaks as OpenAI does is a line alone. Another has a small file too, with a class that has
``complete`` and ``close`` (see `metaeval.llm.calls.client.Client`) and takes a `Connection`. Nothing is
imported before the first request.
"""

from __future__ import annotations

import functools
import os
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.plugins import plugins, warn_of_clash


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
    raw: bool = False
    """Whether it takes one text in a family's markup, and no messages."""
    gpus: bool = False
    """Whether the process that asks runs the model."""

    @property
    def remote(self) -> bool:
        """Whether there is a network in it."""
        return bool(self.address or self.address_variable)

    @property
    def needs_key(self) -> bool:
        """Whether it answers no one without a key; a server on this computer may do so."""
        return self.remote and urlsplit(self.address).hostname != "localhost"


GROUP = "metaeval.providers"
"""The entry points by which an installed package offers its providers."""
_HERE = "metaeval.llm.providers"
_DASHSCOPE = "https://dashscope.aliyuncs.com"


_OPENAI = f"{_HERE}.openai:OpenAIClient"
_COMPATIBLE = f"{_HERE}.openai:DashScopeCompatibleClient"
_MB = 1_000_000
_OF_DASHSCOPE = Batching(_COMPATIBLE, 500 * _MB, 6 * _MB, "/compatible-mode/v1")


def _openai(
    address: str,
    key_variable: str,
    address_variable: str = "",
    path: str = "",
    *,
    top_logprobs: int = 20,
    batching: Batching | None = None,
) -> Provider:
    """Return a provider that speaks OpenAI's chat completions."""
    return Provider(_OPENAI, address, address_variable, key_variable, path, top_logprobs, batching)


PROVIDERS: dict[str, Provider] = {
    "openai": _openai(
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        batching=Batching(_OPENAI, 200 * _MB, 200 * _MB),
    ),
    "azure": _openai("", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "/openai/v1"),
    "anthropic": _openai("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "cerebras": _openai("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "deepinfra": _openai("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "deepseek": _openai("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks": _openai("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", top_logprobs=5),
    "gemini": _openai("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": _openai("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": _openai("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "moonshot": _openai("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "openrouter": _openai("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "siliconflow": _openai("https://api.siliconflow.cn/v1", "SILICONFLOW_API_KEY"),
    "together": _openai("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": _openai("https://api.x.ai/v1", "XAI_API_KEY", top_logprobs=8),
    "zai": _openai("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    "zhipu": _openai("https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY"),
    "litellm": _openai("http://localhost:4000/v1", "LITELLM_API_KEY"),
    "llama.cpp": _openai("http://localhost:8080/v1", "LLAMA_API_KEY"),
    "lmstudio": _openai("http://localhost:1234/v1", "LM_API_TOKEN"),
    "ollama": _openai("http://localhost:11434/v1", "OLLAMA_API_KEY"),
    "vllm": _openai("http://localhost:8000/v1", "VLLM_API_KEY"),
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
    "completions": Provider(
        f"{_HERE}.completions:CompletionsClient",
        "http://localhost:8000/v1",
        "COMPLETIONS_BASE_URL",
        "COMPLETIONS_API_KEY",
        top_logprobs=5,
        raw=True,
    ),
    "vllm-offline": Provider(f"{_HERE}.vllm_offline:VllmOfflineClient", "", gpus=True),
    "simulated": Provider(f"{_HERE}.simulated:SimulatedClient", ""),
}


class Connection(NamedTuple):
    """What a client needs to know to reach its provider."""

    provider: str
    base_url: str
    connect_seconds: float = 10.0
    reply_seconds: float = 120.0


def provider_names() -> list[str]:
    """Return the providers of the table, and those that installed packages offer."""
    return list(dict.fromkeys([*PROVIDERS, *plugins(GROUP)]))


def provider_named(name: str) -> Provider:
    """Return a provider of the table, or of an installed package; `MetaevalError` if there is none."""
    if name in PROVIDERS:
        warn_of_clash(GROUP, name)
        return PROVIDERS[name]
    one_of(name, provider_names(), "there is no provider", "providers")
    return plugins(GROUP)[name].load(Provider, "a metaeval.llm.providers.Provider")


def batching_of(provider: str) -> Batching:
    """Return how a provider takes batches; raise `MetaevalError` if it takes none."""
    found = provider_named(provider).batching
    if found is None:
        known = ", ".join(name for name, entry in PROVIDERS.items() if entry.batching)
        raise MetaevalError(
            f"provider {provider!r} takes no batches, which {known} do; leave batch out, or name a model of "
            f"theirs (another server with OpenAI's files and batches is openai/… with its base_url)"
        )
    return found


def address_of(provider: str, base_url: str | None = None) -> str:
    """Return where a provider's requests go: what is given, else the environment's, else the default.

    The address is part of a request's key, so it has one form: lower-case scheme and host, no slash at the
    end. `MetaevalError` is raised for one that is no http address, or may hold a secret.
    """
    entry = provider_named(provider)
    given = base_url or os.environ.get(entry.address_variable, "") or entry.address
    if not entry.remote:
        if base_url:
            raise MetaevalError(f"provider {provider!r} has no address; leave base_url out")
        return ""
    if not given:
        raise MetaevalError(
            f"provider {provider!r} has no address for all; set {entry.address_variable}, or give base_url"
        )
    return _in_one_way(given.strip(), entry.key_variable, entry.path)


@functools.lru_cache(maxsize=256)
def _in_one_way(given: str, key_variable: str, path: str) -> str:
    parts = urlsplit(given)
    if parts.scheme.lower() not in {"http", "https"} or not parts.hostname:
        raise MetaevalError(f"base_url {given!r} is not an address; write it as http://host:port/path")
    if "@" in parts.netloc or parts.query or parts.fragment:
        # The text is kept in the store and in the run folder, and a password has no place there.
        raise MetaevalError(
            f"the base_url for {parts.hostname} has a user name, a password or a query; leave them out and "
            f"give the key in {key_variable}"
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
            "key "
            f"is plain ASCII, so copy it again"
        )
    if key or not entry.needs_key or (entry.address and base_url != entry.address):
        return key
    raise MetaevalError(f"{entry.key_variable} is not set; {provider!r} models need a key in it")
