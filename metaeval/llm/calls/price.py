"""What calls cost, by the prices of ``genai-prices`` or of the user."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from metaeval.base.errors import MetaevalError
from metaeval.base.validation import Options

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

    from metaeval.llm.calls.request import Reply, Request

_MILLION = 1_000_000
OF_BATCH = 0.5
"""What a reply by batch costs, as a share of the price of an ordinary call; so it is at all providers."""
_A_MESSAGE = 16  # tokens that a chat template adds per message; four to ten at known models
_A_REQUEST = 64  # and per request
_LEAST_CACHED = 1024  # tokens; no provider keeps shorter prompts in its cache
TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")

Usd = Annotated[int | float, Field(ge=0, lt=1e9, description="USD for a million tokens")]


class Price(Options):
    """What a model costs, in USD for a million tokens."""

    input: Usd
    output: Usd
    cached: Usd | None = None
    """Of prompt tokens from the provider's cache; None: as ``input``."""

    def of(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Return USD for numbers of tokens; ``cached`` are among those of the prompt."""
        rate = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * rate + completion * self.output) / _MILLION


def prompt_at_most(request: Request) -> int:
    """Return an upper bound of the prompt's tokens: the UTF-8 bytes of all that is sent, and a margin.

    No tokenizer in use makes more tokens than bytes. For English this is some four times the true number.
    """
    texts = sum(len(m.content.encode()) + len(m.role) + _A_MESSAGE for m in request.messages)
    schema = 0 if request.schema is None else 2 * len(str(request.schema))
    return texts + schema + len(_beside(request).encode()) + _A_REQUEST


def tokens_about(request: Request) -> int:
    """Return an estimate of the prompt's tokens: one per four Latin letters or one other character.

    Tools, and whatever else is sent that is no number, count too.
    """
    return tokens_of([_beside(request), *(content for _, content in request.messages)])


def _beside(request: Request) -> str:
    """Return what a server is sent beside the messages and may show to the model."""
    return _texts_in(request.settings) if request.address else ""


@functools.lru_cache(maxsize=16)
def _texts_in(settings: str) -> str:
    parameters = json.loads("{" + settings[1:])["parameters"]
    return "".join(json.dumps(value) for value in parameters.values() if isinstance(value, (str, dict, list)))


def tokens_of(texts: Iterable[str]) -> int:
    """Return an estimate of the tokens of some texts together, as `tokens_about` does."""
    counted = [(_latin(text), len(text)) for text in texts]
    latin = sum(letters for letters, _ in counted)
    return latin // 4 + sum(length for _, length in counted) - latin + 1


def cacheable(request: Request) -> int:
    """Return an estimate of the prompt's tokens that a provider keeps for other requests; 0 for few."""
    tokens = tokens_of(content for _, content in request.messages[:-1]) if request.shares else 0
    return tokens if tokens >= _LEAST_CACHED else 0


@functools.lru_cache(maxsize=16)  # of the messages that requests share
def _latin(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("ascii", "ignore"))


def context_of(model: str, address: str) -> int | None:
    """Return how many tokens a model takes at an address, prompt and reply together; None if not known."""
    known = _in_library(model, address)
    return None if known is None else known.model.context_window


def reply_limit(request: Request) -> int | None:
    """Return the request's limit of reply tokens; None if it has none."""
    limits = [request.parameters.get(name) for name in TOKEN_LIMITS]
    return max([limit for limit in limits if type(limit) is int and limit > 0], default=None)


class Prices:
    """Prices of models. Without a price the cost is unknown, not 0; without a server it is 0.

    Parameters
    ----------
    given
        Prices that replace the library's: ``openai/gpt-4o``, or the model's name alone → a mapping with
        ``input``, ``output`` and optional ``cached``, in USD per million tokens.

    Raises
    ------
    MetaevalError
        If a given price is not of this form.
    """

    def __init__(self, given: Mapping[str, Price | Mapping[str, Any]] | None = None) -> None:
        read = {str(model): _read(str(model), price) for model, price in (given or {}).items()}
        self._given = {
            model: _Rate(f"{price.model_dump()}, as given", price.of) for model, price in read.items()
        }
        self._found: dict[tuple[str, str], _Rate | None] = {}
        self.used: dict[str, dict[str, str]] = {}
        """Model → each price that a reply was charged at, and since when."""

    def known(self, request: Request) -> bool:
        """Say whether the price of the request's model is known."""
        return self._rate(request) is not None

    def cost(self, request: Request, reply: Reply) -> float | None:
        """Return the cost of a reply in USD; None if price or tokens are not known."""
        if reply.error is not None or (reply.finish_reason == "content_filter" and not reply.text):
            return 0.0  # no provider bills an error
        rate = self._rate(request, reply.model)
        if _here(request) or rate is None or reply.prompt_tokens is None or reply.completion_tokens is None:
            return 0.0 if _here(request) else None
        used = self.used.setdefault(request.name, {})
        if rate.name not in used:
            used[rate.name] = datetime.now(UTC).isoformat(timespec="seconds")
        cached = min(reply.cached_tokens or 0, reply.prompt_tokens)
        usd = rate.of(reply.prompt_tokens, reply.completion_tokens, cached)
        return usd * OF_BATCH if reply.by_batch else usd

    def at_most(self, request: Request) -> float | None:
        """Return an upper bound of the cost in USD; None if it has none."""
        limit, rate = reply_limit(request), self._rate(request)
        if limit is None or rate is None:
            return 0.0 if _here(request) else None
        return rate.of(prompt_at_most(request), limit, 0)

    def about(self, request: Request, completion: int, cached: int = 0) -> float | None:
        """Return an estimate of the cost in USD, for a reply and a cached prompt of numbers of tokens."""
        rate = self._rate(request)
        return None if rate is None else rate.of(tokens_about(request), completion, cached)

    def _rate(self, request: Request, named: str | None = None) -> _Rate | None:
        """Return the price of a request's model, as it was when it was first asked for; None if unknown."""
        if _here(request):
            return _FREE
        rate = self._given.get(request.name) or self._given.get(request.model)
        for name in filter(None, (request.model, named)):
            key = (name, request.address)
            if rate is None and key not in self._found:
                self._found[key] = _of_library(*key)
            rate = rate or self._found[key]
        return rate


class _Rate(NamedTuple):
    """A price."""

    name: str
    """As the record has it."""
    of: Callable[[int, int, int], float]
    """USD for the tokens of prompt, reply and cache."""


_FREE = _Rate("", lambda *_: 0.0)


def _in_library(model: str, address: str) -> PriceCalculation | None:
    """Return what the library knows of a model at the provider of an address."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or ":" in host or host.replace(".", "").isdecimal():
        return None  # no provider's address is a number, and the library takes a third of a second to load
    import genai_prices

    try:
        return genai_prices.calc_price(genai_prices.Usage(), model, provider_api_url=address)
    except LookupError:
        return None


def _of_library(model: str, address: str) -> _Rate | None:
    """Return a model's price at the provider of an address; a server of one's own has none."""
    known = _in_library(model, address)
    if known is None:
        return None
    price = known.model_price
    cache = price.cache_read_mtok if price.cache_read_mtok is not None else price.input_mtok
    rates = {"input": price.input_mtok, "output": price.output_mtok, "cached": cache}
    flat = {name: float(rate) for name, rate in rates.items() if isinstance(rate, Decimal)}
    name = f"{flat or price}, of genai-prices {version('genai-prices')}"
    if len(flat) == len(rates):
        # The rates hold for any number of tokens: the library, which is slow, is not asked again.
        return _Rate(name, Price(**flat).of)

    def of(prompt: int, completion: int, cached: int) -> float:
        from genai_prices import Usage

        tokens = {"input_tokens": prompt, "output_tokens": completion, "cache_read_tokens": cached or None}
        return float(price.calc_price(Usage(**tokens))["total_price"])

    return _Rate(name, of)


def _here(request: Request) -> bool:
    """Say whether no server is asked, so that no one bills."""
    return not request.address


def _read(model: str, price: Price | Mapping[str, Any]) -> Price:
    try:
        return Price.model_validate(price)
    except MetaevalError as error:
        raise MetaevalError(f"the price of {model!r}: {error}") from error
