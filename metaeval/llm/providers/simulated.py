"""A simulated model, for demonstrations and tests: it makes replies from the request alone.

A reply depends on the request's key only, so it is the same on every machine. It loosely follows the length
and the variety of characters of the longest of the last lines of the last message. The model's name holds the
`SETTINGS`; docs/reference/evaluators.md describes them.

The parameter ``simulate`` says what else it is to give, see `instructions`. Without a schema it answers so
many numbers on a scale: ``{"values": 4, "min": 1, "max": 5}``; one from 1 to 5 without the parameter.

``"like": true``
    An answer follows how like the history of an earlier message the item of the last one is, each between
    tags; with ``"lines"``, how like what is rated highly there a list is.
``"pair": true``
    The model compares the last two texts between tags. A number from 0 to 2 is 0 for neither, 1 for the first
    and 2 for the second; so are the values of a choice, in their order. With ``"forced": true`` there is no
    tie, and a coin decides where nothing else does. A number that need not be whole says how sure it is.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist, fmean, pstdev
from typing import Any, Literal, TypeAlias

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import Scale
from metaeval.llm.calls.client import RetryableError
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.prompts.syntax import fenced_parts
from metaeval.llm.providers import Connection
from metaeval.llm.providers.answers import SimulatedAnswer, SimulatedVerdict, keep_numbers, said_of, uniform
from metaeval.llm.replies.fields import EVIDENCE, REASON, Choice, Field, Number, Text, json_schema

Outcome: TypeAlias = Literal["refuse", "unparsed", "out_of_range", "truncated", "transport", "answer"]
Weights: TypeAlias = Mapping[str, float]

_SHARES: tuple[Outcome, ...] = ("refuse", "unparsed", "out_of_range", "truncated", "transport")
SETTINGS: dict[str, tuple[float, float, float]] = {
    "noise": (0.15, 0, math.inf),
    "bias": (0.0, -math.inf, math.inf),
    "weight": (1.0, -math.inf, math.inf),
    "length_bias": (0.0, -math.inf, math.inf),
    "first_bias": (0.0, -1, 1),
    "tie": (0.02, 0, math.inf),
    **dict.fromkeys(map(str, _SHARES), (0.0, 0.0, 1.0)),
    "latency": (0.0, 0, math.inf),
    "invent": (0.0, 0, 1),
    "text": (0.0, 0, 1),
}
"""Name → default, least and largest value."""
_LAST_LINES = 3  # the opening tag, the text, the closing tag
_USUAL_LENGTH = 90.0  # characters of a short paragraph: the answer is in the middle of the scale there
_QUOTED_WORDS = 6
_INVENTED = ", which critics everywhere praised"
_REFUSAL = "I'm sorry, but I can't help with that."
_PROSE = "There is something to be said for it, and something against it; a fair answer needs more context."
_WORDS = re.compile(r"\w+")
_NUMBERED = re.compile(r"[0-9]+\. ")
_RATED = re.compile(r"; rated (-?[0-9.]+)$")


def settings_of(model: str) -> dict[str, float]:
    """Read the settings out of a model's name; raise `MetaevalError` if one is unknown or not allowed."""
    found = {name: default for name, (default, _, _) in SETTINGS.items()}
    parts = [p.strip() for p in model.split(",") if p.strip()]
    for part in parts[1:] if parts and "=" not in parts[0] else parts:
        name, _, value = (p.strip() for p in part.partition("="))
        one_of(name, SETTINGS, f"model 'simulated/{model}': there is no setting", "settings")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        _, least, most = SETTINGS[name]
        if not (least <= found[name] <= most and math.isfinite(found[name])):
            allowed = f" from {least:g} to {most:g}" if most == 1 else ", not below 0" if least == 0 else ""
            message = f"{name} is {value!r}; it must be a number{allowed}"
            raise MetaevalError(f"model 'simulated/{model}': {message}")
    if sum(found[s] for s in _SHARES) > 1:
        raise MetaevalError(f"model 'simulated/{model}': the shares of failures sum to more than 1")
    return found


def instructions(fields: Sequence[Field], *, with_schema: bool, **more: object) -> dict[str, Any]:
    """Return what a request tells this model beside its schema, as its parameter ``simulate``.

    Parameters
    ----------
    fields
        What the reply is to give.
    with_schema
        Whether the request has their schema.
    **more
        Further instructions, such as ``pair=True``.
    """
    scales = {_scale(field) for field in fields}
    scale = scales.pop() if len(scales) == 1 else None
    evidence = {f.name: list(f.evidence) for f in fields if isinstance(f, Text) and f.evidence}
    if scale is None:
        return {"schema": json_schema(fields), **({"evidence": evidence} if evidence else {}), **more}
    told: dict[str, Any] = {"values": len(fields), "min": scale.min, "max": scale.max}
    if not with_schema and any(isinstance(field, Choice) for field in fields):
        told["names"] = [field.name for field in fields]
    return {} if with_schema and not more else told | more


def _scale(field: Field) -> Scale | None:
    """Return the scale of a number, or of a choice among whole numbers; None for any other field."""
    if isinstance(field, Number):
        return field.scale
    codes = field.schema.get("enum") if isinstance(field, Choice) else None
    return Scale(codes[0], codes[-1]) if codes and isinstance(codes[0], int) else None


class SimulatedClient:
    """Answers without a model, a key or a network."""

    def __init__(self, connection: Connection) -> None:
        del connection  # there is nothing to reach

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request; raise `RetryableError` for the share that is to fail."""
        settings = settings_of(request.model)
        if settings["latency"]:
            await asyncio.sleep(settings["latency"])
        outcome, answer = _outcome(settings, uniform(request.key, "outcome")), None
        if outcome == "transport":
            raise RetryableError("simulated: the connection was lost", "connection")
        if outcome in ("refuse", "unparsed"):
            text = _REFUSAL if outcome == "refuse" else _PROSE
        else:
            text, answer = _answer(request, settings, off_scale=outcome == "out_of_range")
        if outcome == "truncated":
            text = text[: max(len(text) // 2, 1)]
        known: dict[str, Any] = {
            "model": f"simulated-{request.model}",
            "text": text,
            "finish_reason": "length" if outcome == "truncated" else "stop",
            "prompt_tokens": math.ceil(sum(len(m.content) for m in request.messages) / 4),
            "completion_tokens": math.ceil(len(text) / 4),
        }
        raw = {"simulated": True, **known}
        if request.parameters.get("logprobs"):
            choice = {"logprobs": {"content": _logprobs(text, answer)}}
            keep_numbers(choice, text)
            raw["choices"] = [choice]
        refusal = _REFUSAL if outcome == "refuse" else None
        return Reply(**known, refusal=refusal, raw=json.dumps(raw, ensure_ascii=False))

    async def close(self) -> None:
        """Give nothing back: nothing was taken."""


def _outcome(settings: Mapping[str, float], draw: float) -> Outcome:
    for name in _SHARES:
        draw -= settings[name]
        if draw < 0:
            return name
    return "answer"


def latent(message: str) -> float:
    """Return a number from 0 to 1 that grows with length and variety of the longest of the last lines.

    A prompt ends with what is to be judged, so the last lines are where messages differ.
    """
    line = _judged_line(message)
    variety = len(set(line.casefold())) / (1 + math.sqrt(_width(line)))
    return 1 / (1 + math.exp(-(1.6 * math.log((1 + _width(line)) / _USUAL_LENGTH) + 0.5 * (variety - 2))))


def _judged_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return max(lines[-_LAST_LINES:], key=_width, default="")


def _width(line: str) -> float:
    """Return a length that is about the same for the same said in Latin letters and in Han characters."""
    return sum(1.0 if ord(c) < 0x2E80 else 2.5 for c in line)


def _levels(request: Request, told: Mapping[str, Any], settings: Mapping[str, float]) -> list[float]:
    """Return where on the scale answers about the parts of the last message are, without noise."""
    if told.get("like") and (likes := _likenesses(request, of_lists=told["like"] == "lines")):
        return [0.5 + settings["weight"] * (like - 0.5) for like in likes]
    last = request.messages[-1].content if request.messages else ""
    levels = []
    for text in [text for _, text in fenced_parts(last)] if told.get("pair") else [last]:
        doublings = math.log2((1 + _width(_judged_line(text))) / _USUAL_LENGTH)
        followed = settings["weight"] * (latent(text) - 0.5)
        levels.append(0.5 + followed + settings["length_bias"] * doublings)
    return levels


def _answer(
    request: Request, settings: Mapping[str, float], *, off_scale: bool
) -> tuple[str, SimulatedAnswer]:
    """Return what is said, and the answer that it says."""
    told = request.parameters.get("simulate", {})
    levels = _levels(request, told, settings)
    if told.get("pair"):
        level, other = levels[-2:] if len(levels) > 1 else (0.5, 0.5)
        answer: SimulatedAnswer = SimulatedVerdict(
            request.key, level - other, settings, off_scale, told.get("forced", False)
        )
    else:
        level = levels[-1]
        answer = SimulatedAnswer(request.key, level + settings["bias"], settings["noise"], off_scale)
    schema = request.schema or told.get("schema")
    if schema is None:
        wanted = {"values": 1, "min": 1, "max": 5, **told}
        scale = {"type": "integer", "minimum": wanted["min"], "maximum": wanted["max"]}
        numbers = [answer.number(scale, f"value {i}", whole=True) for i in range(int(wanted["values"]))]
        named = zip(told.get("names", ()), numbers, strict=False)
        lines = "".join(f"\n{name}: {number}" for name, number in named)
        lines = lines or f"\nRatings: {' '.join(map(str, numbers))}"
        return f"Read as a whole it {said_of(level)}.{lines}", answer
    value: Any = answer.value(schema, "reply")
    if told.get("evidence"):
        invented = _INVENTED if uniform(request.key, "invent") < settings["invent"] else ""
        for name, tags in told["evidence"].items():
            quoted = _quoted(request.messages[-1].content, tags) + invented
            many = isinstance(value[name], list)
            value[name] = [part | {EVIDENCE: quoted} for part in value[name]] if many else quoted
    if request.schema is not None and not settings["text"]:
        return json.dumps(value, ensure_ascii=False), answer
    lines = "".join(f"\n{name}: {_plain(part)}" for name, part in value.items())
    return f"Read as a whole it {said_of(level)}.\n{lines}", answer


def _quoted(message: str, tags: Sequence[str]) -> str:
    """Return the first words of the longest part of a message that stands under one of the tags."""
    parts = [text for tag, text in fenced_parts(message) if tag in tags]
    return " ".join(max(parts, key=_width, default="").split()[:_QUOTED_WORDS])


def _plain(value: Any) -> object:  # noqa: ANN401 - of a field
    """Return a value as a line of text has it; rationales below it, a line for each."""
    if isinstance(value, list):
        return "".join(f"\n- {part[REASON]} | {part[EVIDENCE]}" for part in value)
    return value["score"] if isinstance(value, dict) else value


def _logprobs(text: str, answer: SimulatedAnswer | None) -> list[dict[str, Any]]:
    """Return the tokens of a text as OpenAI does; a whole number with the odds of each point of its scale."""
    content = []
    for token in re.findall(r"[0-9.]*[0-9]|[^0-9]+", text):
        odds = answer.odds(token) if answer else {token: 1.0}
        beside = [{"token": number, "logprob": math.log(share)} for number, share in odds.items()]
        content.append({"token": token, "logprob": math.log(odds[token]), "top_logprobs": beside})
    return content


def _likenesses(request: Request, *, of_lists: bool) -> list[float]:
    """Return from 0 to 1 how like the history before it each text of the last message is; none without one.

    A text is as typical as its words are frequent among the lines of the history, on average. The likeness is
    its place among those lines: 0.5 for one as typical as they are.

    Of lists it is that of their lines, on average; numbered lines count less the later they come, as in nDCG.
    Words then count by how much more frequent they are among liked lines, those rated at least the mean.
    """
    *before, last = [content for _, content in request.messages]
    known = _known(tuple(before), by_rating=of_lists)
    if known is None:
        return []
    weights, place = known
    found = []
    for _, text in fenced_parts(last):
        lines = text.split("\n") if of_lists else [text]
        counts = [1 / math.log2(i + 1) if _NUMBERED.match(line) else 1.0 for i, line in enumerate(lines, 1)]
        found.append(fmean((place.cdf(_typical(_words(line), weights)) for line in lines), counts))
    return found


@functools.lru_cache(maxsize=4)
def _known(before: tuple[str, ...], *, by_rating: bool) -> tuple[Weights, NormalDist] | None:
    """Return the weight of each word, and how typical the lines themselves are."""
    rows = [row for content in before for _, text in fenced_parts(content) for row in text.split("\n")]
    if not rows:
        return None
    rated = [_RATED.search(row) if by_rating else None for row in rows]
    ratings = [float(found[1]) for found in rated if found]
    least = fmean(ratings) if ratings else 0.0
    lines = [_words(row[: found.start()] if found else row) for row, found in zip(rows, rated, strict=True)]
    liked = [found is None or float(found[1]) >= least for found in rated]
    more, less = (
        _shares([line for line, likes in zip(lines, liked, strict=True) if likes is side])
        for side in (True, False)
    )
    weights = {word: more.get(word, 0.0) - less.get(word, 0.0) for word in {*more, *less}}
    typical = [_typical(line, weights) for line in lines]
    return weights, NormalDist(fmean(typical), pstdev(typical) or 0.01)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(text.lower()))


def _shares(lines: list[frozenset[str]]) -> Weights:
    """Return the share of lines that have each word."""
    return {word: n / len(lines) for word, n in Counter(w for line in lines for w in line).items()}


def _typical(words: Iterable[str], weights: Weights) -> float:
    return fmean(weights.get(word, 0.0) for word in words) if words else 0.0
