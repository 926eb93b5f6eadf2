"""What calls cost, by the prices of ``genai-prices`` or of the user."""

from __future__ import annotations

import functools
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from metaeval.base.errors import MetaevalError
from metaeval.base.validation import Options
from metaeval.llm.providers import provider_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metaeval.llm.calls.request import Reply, Request

_MILLION = 1_000_000
OF_BATCH = 0.5
"""What a reply by batch costs, as a share of the price of an ordinary call; so it is at all providers."""
_A_MESSAGE = 16  # tokens that a chat template adds per message; four to ten at known models
_A_REQUEST = 64  # and per request
_LEAST_CACHED = 1024  # tokens; no provider keeps shorter prompts in its cache

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
    """Return an upper bound of the prompt's tokens: the UTF-8 bytes of prompt and schema, and a margin.

    No tokenizer in use makes more tokens than bytes. For English this is some four times the true number.
    """
    texts = sum(len(m.content.encode()) + len(m.role) + _A_MESSAGE for m in request.messages)
    return texts + (0 if request.schema is None else 2 * len(str(request.schema))) + _A_REQUEST


def tokens_about(request: Request) -> int:
    """Return an estimate of the prompt's tokens: one per four Latin letters or one other character."""
    return tokens_of(content for _, content in request.messages)


def tokens_of(texts: Iterable[str]) -> int:
    """Return an estimate of the tokens of some texts together, as `tokens_about` does."""
    counted = [(_latin(text), len(text)) for text in texts]
    latin = sum(found for found, _ in counted)
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
    import genai_prices

    try:
        found = genai_prices.calc_price(genai_prices.Usage(), model, provider_api_url=address)
    except LookupError:
        return None
    return found.model.context_window


def reply_limit(request: Request) -> int | None:
    """Return the request's limit of reply tokens; None if it has none."""
    for name in ("max_completion_tokens", "max_tokens"):
        limit = request.parameters.get(name)
        if isinstance(limit, int):
            return limit
    return None


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
        self._given = {str(model): _read(str(model), price) for model, price in (given or {}).items()}
        self._found: dict[tuple[str, str], Price | None] = {}

    def known(self, request: Request) -> bool:
        """Say whether the price of the request's model is known."""
        return self._usd(request, None, 1, 1, 0) is not None

    def cost(self, request: Request, reply: Reply) -> float | None:
        """Return the cost of a reply in USD; None if the price or the number of tokens is not known."""
        if reply.error is not None or (reply.finish_reason == "content_filter" and not reply.text):
            return 0.0  # no provider bills an error
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            return 0.0 if _here(request) else None
        cached = min(reply.cached_tokens or 0, reply.prompt_tokens)
        usd = self._usd(request, reply.model, reply.prompt_tokens, reply.completion_tokens, cached)
        return usd if usd is None or not reply.by_batch else usd * OF_BATCH

    def at_most(self, request: Request) -> float | None:
        """Return an upper bound of the cost in USD; None if price or reply limit are unknown."""
        limit = reply_limit(request)
        if limit is None:
            return 0.0 if _here(request) else None
        return self._usd(request, None, prompt_at_most(request), limit, 0)

    def about(self, request: Request, completion: int, cached: int = 0) -> float | None:
        """Return an estimate of the cost in USD, for a reply and a cached prompt of numbers of tokens."""
        return self._usd(request, None, tokens_about(request), completion, cached)

    def _usd(
        self, request: Request, named: str | None, prompt: int, completion: int, cached: int
    ) -> float | None:
        if _here(request):
            return 0.0
        for name in (f"{request.provider}/{request.model}", request.model):
            if name in self._given:
                return self._given[name].of(prompt, completion, cached)
        usd = self._from_library(request.model, request.address, prompt, completion, cached)
        if usd is None and named:
            usd = self._from_library(named, request.address, prompt, completion, cached)
        return usd

    def _from_library(
        self, model: str, address: str, prompt: int, completion: int, cached: int
    ) -> float | None:
        """Look the model up at the provider of the address; a self-hosted server has no price."""
        known = self._found.get((model, address), ())
        if known is None:
            return None
        if isinstance(known, Price):
            return known.of(prompt, completion, cached)
        import genai_prices  # takes half a second, and is only needed for paid models

        usage = genai_prices.Usage(
            input_tokens=prompt, output_tokens=completion, cache_read_tokens=cached or None
        )
        try:
            found = genai_prices.calc_price(usage, model, provider_api_url=address)
        except LookupError:
            self._found[model, address] = None
            return None
        rates = found.model_price
        cache = rates.cache_read_mtok if rates.cache_read_mtok is not None else rates.input_mtok
        given = {"input": rates.input_mtok, "output": rates.output_mtok, "cached": cache}
        flat = {name: float(rate) for name, rate in given.items() if isinstance(rate, Decimal)}
        if len(flat) == len(given):
            # The rates hold for any number of tokens: the library, which is slow, is not asked again.
            self._found[model, address] = Price(**flat)
        return float(found.total_price)


def _here(request: Request) -> bool:
    """Say whether no server is asked, so that no one bills."""
    return not provider_named(request.provider).remote


def _read(model: str, price: Price | Mapping[str, Any]) -> Price:
    try:
        return Price.model_validate(price)
    except MetaevalError as error:
        raise MetaevalError(f"the price of {model!r}: {error}") from error
