"""A simulated model, for demonstrations and tests: it makes replies from the request alone.

A reply depends on the request's key only, so it is the same on every machine. It loosely follows the length
and the variety of characters of the longest of the last lines of the last message. The model's name holds the
`SETTINGS`; docs/reference/evaluators.md describes them.

The parameter ``simulate`` says what else it is to give, see ``instructions``. Without a schema it answers so
many numbers on a scale: ``{"values": 4, "min": 1, "max": 5}``; one from 1 to 5 without the parameter.

With ``"like": true`` in it an answer follows, in place of length and variety, how like the history of an
earlier message the item of the last one is, each between tags (``metaeval.llm.providers.likeness``). With
``"like": "lines"`` it follows how like what is rated highly there the lines of a list are; of a numbered list
the first ones count most.

With ``"pair": true`` in it the model compares the last two texts that stand between tags on lines of their
own. A number from 0 to 2 is 0 for neither, 1 for the first and 2 for the second; so are the three values of a
choice, in their order. With ``"forced": true`` there are two values and no tie; a coin decides where nothing
else does. A number that need not be whole says how sure the model is.

Asked for ``logprobs``, it tells of each whole number how likely each point of the scale was.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from metaeval.base.errors import MetaevalError, one_of
from metaeval.llm.calls.client import RetryableError
from metaeval.llm.calls.request import Reply
from metaeval.llm.prompts.fences import fenced_parts
from metaeval.llm.providers.answers import SimulatedAnswer, SimulatedVerdict, said_of, uniform
from metaeval.llm.providers.likeness import likeness, likenesses
from metaeval.llm.replies.fields import EVIDENCE, REASON, Text, json_schema
from metaeval.llm.replies.logprobs.probabilities import keep_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.llm.calls.request import Request
    from metaeval.llm.providers import Connection
    from metaeval.llm.replies.fields import Field

Outcome: TypeAlias = Literal["refuse", "unparsed", "out_of_range", "truncated", "transport", "answer"]

_SHARES: tuple[Outcome, ...] = ("refuse", "unparsed", "out_of_range", "truncated", "transport")
SETTINGS = dict.fromkeys(
    ("noise", "bias", "weight", "length_bias", "first_bias", "tie", *_SHARES, "latency", "invent", "text"),
    0.0,
) | {"noise": 0.15, "weight": 1.0, "tie": 0.02}
_NOT_NEGATIVE = {"noise", "latency", "tie"}
_LINES = "lines"
_LAST_LINES = 3  # the opening tag, the text, the closing tag
_USUAL_LENGTH = 90.0  # characters of a short paragraph: the answer is in the middle of the scale there
_QUOTED_WORDS = 6
_INVENTED = ", which critics everywhere praised"
_REFUSAL = "I'm sorry, but I can't help with that."
_PROSE = "There is something to be said for it, and something against it; a fair answer needs more context."


def settings_of(model: str) -> dict[str, float]:
    """Read the settings out of a model's name; raise `MetaevalError` if one is unknown or not allowed."""
    found = dict(SETTINGS)
    parts = [p.strip() for p in model.split(",") if p.strip()]
    for part in parts[1:] if parts and "=" not in parts[0] else parts:
        name, _, value = (p.strip() for p in part.partition("="))
        one_of(name, SETTINGS, f"model 'simulated/{model}': there is no setting", "settings")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        lowest, highest, allowed = _range(name)
        if not (lowest <= found[name] <= highest and math.isfinite(found[name])):
            raise MetaevalError(f"model 'simulated/{model}': {name} is {value!r}; it must be {allowed}")
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
    scales = {field.numbers for field in fields}
    scale = scales.pop() if len(scales) == 1 else None
    evidence = {f.name: list(f.evidence) for f in fields if isinstance(f, Text) and f.evidence}
    if scale is None:
        return {"schema": json_schema(fields), **({"evidence": evidence} if evidence else {}), **more}
    told = {"values": len(fields), "min": scale.min, "max": scale.max}
    return {} if with_schema and not more else told | more


def _range(name: str) -> tuple[float, float, str]:
    """Return the least and the largest value of a setting, and what is allowed in words."""
    if name in {*_SHARES, "invent", "text"}:
        return 0.0, 1.0, "a number from 0 to 1"
    if name == "first_bias":
        return -1.0, 1.0, "a number from -1 to 1"
    if name in _NOT_NEGATIVE:
        return 0.0, math.inf, "a number, not below 0"
    return -math.inf, math.inf, "a number"


class SimulatedClient:
    """Answers without a model, a key or a network."""

    def __init__(self, connection: Connection) -> None:
        del connection  # there is nothing to reach

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request; raise `RetryableError` for the share that is to fail."""
        settings = settings_of(request.model)
        if settings["latency"]:
            await asyncio.sleep(settings["latency"])
        outcome = _outcome(settings, uniform(request.key, "outcome"))
        if outcome == "transport":
            raise RetryableError("simulated: the connection was lost", "connection")
        text, answer = _text(request, settings, outcome)
        refused = outcome == "refuse"
        words = sum(len(m.content) for m in request.messages)
        body = {
            "simulated": True,
            "model": f"simulated-{request.model}",
            "text": text,
            "finish_reason": "length" if outcome == "truncated" else "stop",
            "prompt_tokens": math.ceil(words / 4),
            "completion_tokens": math.ceil(len(text) / 4),
        }
        if request.parameters.get("logprobs"):
            choice = {"logprobs": {"content": _logprobs(text, answer)}}
            keep_numbers(choice, text)
            body["choices"] = [choice]
        return Reply(
            text=text,
            finish_reason=body["finish_reason"],  # type: ignore[arg-type]
            refusal=_REFUSAL if refused else None,
            model=str(body["model"]),
            prompt_tokens=math.ceil(words / 4),
            completion_tokens=math.ceil(len(text) / 4),
            raw=json.dumps(body, ensure_ascii=False),
        )

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


def _level(text: str, settings: Mapping[str, float]) -> float:
    """Return where on the scale an answer about a text is, without noise."""
    doublings = math.log2((1 + _width(_judged_line(text))) / _USUAL_LENGTH)
    return 0.5 + settings["weight"] * (latent(text) - 0.5) + settings["length_bias"] * doublings


def _width(line: str) -> float:
    """Return a length that is about the same for the same said in Latin letters and in Han characters."""
    return sum(1.0 if ord(c) < 0x2E80 else 2.5 for c in line)


def _logprobs(text: str, answer: SimulatedAnswer | None) -> list[dict[str, Any]]:
    """Return the tokens of a text as OpenAI does; a whole number has others beside it."""

    def said(token: str, share: float) -> dict[str, Any]:
        return {"token": token, "logprob": math.log(share)}

    content = []
    for token in re.findall(r"[0-9.]*[0-9]|[^0-9]+", text):
        odds = answer.odds(token) if answer else {token: 1.0}
        beside = [said(number, share) for number, share in odds.items()]
        content.append({**said(token, odds[token]), "top_logprobs": beside})
    return content


def _text(
    request: Request, settings: Mapping[str, float], outcome: Outcome
) -> tuple[str, SimulatedAnswer | None]:
    """Return what is said, and the answer that it says, if it does."""
    if outcome == "refuse":
        return _REFUSAL, None
    if outcome == "unparsed":
        return _PROSE, None
    last = request.messages[-1].content if request.messages else ""
    off_scale = outcome == "out_of_range"
    told = request.parameters.get("simulate", {})
    if told.get("pair"):
        levels = _levels(request, told, settings)[-2:]
        level, other = levels if len(levels) == 2 else (0.5, 0.5)
        answer: SimulatedAnswer = SimulatedVerdict(
            request.key, level - other, settings, off_scale, told.get("forced", False)
        )
    else:
        level = _levels(request, told, settings)[-1]
        answer = SimulatedAnswer(request.key, level + settings["bias"], settings["noise"], off_scale)
    schema = request.schema or told.get("schema")
    if schema is None:
        wanted = {"values": 1, "min": 1, "max": 5, **told}
        scale = {"type": "integer", "minimum": wanted["min"], "maximum": wanted["max"]}
        value: Any = [answer.number(scale, f"value {i}", whole=True) for i in range(int(wanted["values"]))]
    else:
        value = answer.value(schema, "reply")
    if told.get("evidence"):
        value |= _with_evidence(
            value, last, told["evidence"], uniform(request.key, "invent") < settings["invent"]
        )
    if request.schema is not None and not settings["text"]:
        text = json.dumps(value, ensure_ascii=False)
    elif "schema" in told:
        said = "".join(f"\n{name}: {_plain(of)}" for name, of in value.items())
        text = f"Read as a whole it {said_of(level)}.\n{said}"
    else:
        text = f"Read as a whole it {said_of(level)}.\nSummary: {' '.join(map(str, _numbers(value)))}"
    return text[: max(len(text) // 2, 1)] if outcome == "truncated" else text, answer


def _levels(request: Request, told: Mapping[str, Any], settings: Mapping[str, float]) -> list[float]:
    """Return where on the scale answers about the parts of the last message are, without noise."""
    likes: list[float] | None = None
    if told.get("like") == _LINES:
        likes = likenesses(request)
    elif told.get("like") and (like := likeness(request)) is not None:
        likes = [like]
    if likes:
        return [0.5 + settings["weight"] * (like - 0.5) for like in likes]
    last = request.messages[-1].content if request.messages else ""
    texts = [text for _, text in fenced_parts(last)] if told.get("pair") else [last]
    return [_level(text, settings) for text in texts]


def _quoted(message: str, tags: Sequence[str]) -> str:
    """Return the first words of the longest part of a message that stands under one of the tags."""
    parts = [text for tag, text in fenced_parts(message) if tag in tags]
    return " ".join(max(parts, key=_width, default="").split()[:_QUOTED_WORDS])


def _with_evidence(
    value: Mapping[str, Any], message: str, tags: Mapping[str, Sequence[str]], invent: bool
) -> dict[str, Any]:
    """Return the fields that need evidence, with words of the message, or with others."""
    found = {name: _quoted(message, of) + (_INVENTED if invent else "") for name, of in tags.items()}
    return {
        name: [rationale | {EVIDENCE: said} for rationale in value[name]]
        if isinstance(value[name], list)
        else said
        for name, said in found.items()
    }


def _plain(value: Any) -> object:  # noqa: ANN401 - of a field
    """Return a value as a line of text has it; rationales below it, a line for each."""
    if isinstance(value, list):
        return "".join(f"\n- {of[REASON]} | {of[EVIDENCE]}" for of in value)
    return value["score"] if isinstance(value, dict) else value


def _numbers(value: object) -> Iterator[float]:
    """Yield the numbers in a JSON value, in their order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
