"""The models that a study names: model, address, and parameters of requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from metaeval.base.errors import MetaevalError, SpecError, nearest
from metaeval.base.validation import Count, Line, Strict, sentences
from metaeval.llm.calls.limits import Concurrency, Limits, PerMinute
from metaeval.llm.calls.request import Request
from metaeval.llm.providers import PROVIDERS, address_of, provider_named
from metaeval.llm.replies.patterns import ReplyPattern

if TYPE_CHECKING:
    from metaeval.llm.calls.address import Where

_SECRET = re.compile(
    r"(.*_)?(api_?key|authorization|password|secret|headers?)|((access|private|secret|subscription)_)?key"
    r"|((access|api|auth|bearer|hf|id|session)_?)?token|bearer"
)
"""A name, in lower case with ``_``, under which a key or a password stands."""
_OF_JUDGES = frozenset(("prompt", "attempts", "replicate", "profile", "examples", "samples", "expected"))
_OF_ADDRESS = ("concurrency", "requests_per_minute", "tokens_per_minute")
_OF_SERVERS = frozenset(
    (
        *("chat_template_kwargs", "enable_thinking", "frequency_penalty", "logit_bias", "logprobs"),
        *("max_completion_tokens", "min_p", "min_tokens", "presence_penalty", "reasoning"),
        *("reasoning_format", "repetition_penalty", "seed", "service_tier", "stop", "thinking"),
        *("thinking_budget", "top_a", "top_k", "top_logprobs", "top_p", "verbosity"),
    )
)
"""Parameters that many servers take: none is a misspelling of another."""


def _provider_and_name(value: str) -> str:
    provider, _, name = value.partition("/")
    if not (provider and name):
        raise ValueError(f"{value!r} is not a provider/name, such as openai/gpt-4o")
    try:
        provider_named(provider)
    except MetaevalError as error:
        raise ValueError(str(error)) from None
    return value


def _short_name(value: str) -> str:
    if "/" in value:
        raise ValueError(f"{value!r} cannot be a short name, since provider/name has a slash; leave it out")
    return value


class NamedModel(Strict):
    """A model that judges refer to by a short name; a key without a field is a parameter of its server.

    Parameters
    ----------
    model
        ``provider/name``.
    base_url
        Where it answers, if not at the provider's address.
    temperature, max_tokens, reasoning_effort
        Sent with every request; None sends none.
    concurrency, requests_per_minute, tokens_per_minute
        Limits of its address, instead of those of the study; not part of a request.
    extra
        What else goes into the body of a request, as it is.
    context
        How many tokens it takes, prompt and reply together, where the library of prices does not know it. Not
        sent: a judge cuts what it shows to fit.
    reply
        Pattern by which its replies are read, such as ``mt-bench``, or ``{pattern: …, take: last}``.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    model: Annotated[Line, AfterValidator(_provider_and_name)]
    base_url: Line | None = None
    temperature: Annotated[int | float | None, Field(ge=0)] = None
    max_tokens: Count | None = None
    reasoning_effort: Line | None = None
    concurrency: Concurrency | None = None
    requests_per_minute: PerMinute = None
    tokens_per_minute: PerMinute = None
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    context: Count | None = None
    reply: ReplyPattern | None = None

    @model_validator(mode="before")
    @classmethod
    def _checked_names(cls, given: object) -> object:
        """Refuse secrets, and what is not known and looks like a misspelling."""
        if not isinstance(given, dict):
            return given
        fields = tuple(cls.model_fields)
        extra = given.get("extra")
        for name in filter(lambda n: isinstance(n, str), given):
            if any(map(_SECRET.fullmatch, _names({name: given[name]}))):
                raise _problem(f"a study may not hold secrets: {_where_the_key_goes(given)}", name)
            if name in fields or name in _OF_SERVERS:
                continue
            if name in _OF_JUDGES:
                raise _problem(f"{name!r} is an argument of the judge: Judge('short name', {name}=…)", name)
            if hint := nearest(name, (*fields, *_OF_SERVERS)):
                raise _problem(f"not known{hint} Parameters of this server alone go under extra", name)
        for name in extra if isinstance(extra, dict) else ():
            if name in given or name in fields:
                raise _problem(f"{name!r} does not go under extra; write it beside extra, and once", "extra")
        return given

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        """Refuse what no request may have, such as an address with a password."""
        provider, _, name = self.model.partition("/")
        try:
            _ = Request(provider, name, (), self._sent, self.base_url).key
        except MetaevalError as error:
            raise ValueError(str(error)) from None
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return what was given: null is not what is left out."""
        return {k: v for k, v in plain(self).items() if k in self.model_fields_set}

    @property
    def arguments(self) -> dict[str, Any]:
        """What it says of arguments that a judge has too."""
        found = {k: getattr(self, k) for k in ("base_url", "temperature", "max_tokens")}
        found = {k: v for k, v in found.items() if k in self.model_fields_set}
        if "max_completion_tokens" in self.parameters:
            found.setdefault("max_tokens", None)  # the judge's default would be a second limit
        return found

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of a request beside those: what is null is not sent."""
        named = {"reasoning_effort": self.reasoning_effort, **(self.model_extra or {})}
        return {**{k: v for k, v in named.items() if v is not None}, **self.extra}

    @property
    def where(self) -> Where:
        """Its provider and address."""
        provider = self.model.partition("/")[0]
        return provider, address_of(provider, self.base_url) or ""

    @property
    def limits(self) -> dict[str, Any]:
        """What it says of the limits of its address."""
        said = {name: getattr(self, name) for name in _OF_ADDRESS}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def _sent(self) -> dict[str, Any]:
        own = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**{k: v for k, v in own.items() if v is not None}, **self.parameters}


def _of_one_mind(models: dict[str, NamedModel]) -> dict[str, NamedModel]:
    """Refuse two limits of one address."""
    said: dict[tuple[Where, str], tuple[str, object]] = {}
    for name, model in models.items():
        for limit, value in model.limits.items():
            other, before = said.setdefault((model.where, limit), (name, value))
            if before != value:
                raise ValueError(
                    f"{other!r} and {name!r} share an address, and give {limit} twice: {before} and "
                    f"{value}; give it once"
                )
    return models


Models = Annotated[
    dict[Annotated[Line, AfterValidator(_short_name)], NamedModel], AfterValidator(_of_one_mind)
]
"""Short name → model."""


def limits_at(models: Iterable[NamedModel], limits: Limits) -> dict[Where, Limits]:
    """Return the limits of the addresses for which models say some; the others are those given."""
    found: dict[Where, Limits] = {}
    for model in models:
        if model.limits:
            found[model.where] = found.get(model.where, limits).model_copy(update=model.limits)
    return found


class _Models(Strict):
    model_config = ConfigDict(hide_input_in_errors=True)
    models: Models


def models_of(given: Mapping[str, NamedModel | Mapping[str, Any]]) -> Models:
    """Return the models that Python gives.

    Raises
    ------
    SpecError
        With the first thing that is wrong.
    """
    content = {"models": dict(given)}
    try:
        return _Models.model_validate(content).models
    except ValidationError as error:
        raise SpecError(sentences(error, content, _Models, whole=True)[0][1]) from None


def _problem(message: str, at: str) -> PydanticCustomError:
    return PydanticCustomError("sentence", "{error}", {"error": message, "at": at})


def _names(value: object) -> Iterator[str]:
    """Yield all names within a value, in one way of writing."""
    if isinstance(value, dict):
        for name, inside in value.items():
            yield str(name).strip().lower().replace("-", "_")
            yield from _names(inside)
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from _names(inside)


def _where_the_key_goes(given: Mapping[str, object]) -> str:
    name = str(given.get("model")).partition("/")[0]
    variable = provider_named(name).key_variable if name in PROVIDERS.names else ""
    return f"set {variable} in the environment" if variable else "`metaeval providers` says where keys go"
