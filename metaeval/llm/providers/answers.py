"""What a simulated model says: values around a level that fit a JSON schema, and verdicts on two texts."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

from metaeval.llm.replies.reader import parted

_MOST_POINTS = 100  # of a scale, on which each has a probability


def uniform(key: str, what: str) -> float:
    """Return a number between 0 and 1 that looks random and is the same for the same words."""
    digest = hashlib.sha256(f"{key}|{what}".encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / (1 << 48)


def said_of(level: float) -> str:
    """Return a level in words."""
    return "says little" if level < 1 / 3 else "says what is needed" if level < 2 / 3 else "says a lot"


class SimulatedAnswer:
    """Values that fit a JSON schema, all around the same level."""

    def __init__(self, key: str, level: float, noise: float, off_scale: bool) -> None:
        self._key, self._level, self._noise, self._off = key, level, noise, off_scale
        self._scales: dict[str, tuple[float, float]] = {}  # of the whole numbers that were given

    def value(self, schema: Mapping[str, Any], path: str) -> object:
        """Return a value for a schema; each path within it has noise of its own."""
        if choices := schema.get("enum"):
            if self._off and all(isinstance(c, int) for c in choices):
                return max(choices) + 1
            chosen = choices[round(self._drawn(path) * (len(choices) - 1))]
            if all(isinstance(c, int) for c in choices):
                self._scales[str(chosen)] = min(choices), max(choices)
            return chosen
        match schema.get("type", "object"):
            case "object":
                properties = schema.get("properties", {})
                return {name: self.value(part, f"{path}.{name}") for name, part in properties.items()}
            case "array":
                return [self.value(schema["items"], f"{path}[0]")]
            case "integer" | "number" as kind:
                return self.number(schema, path, whole=kind == "integer")
        return f"It {said_of(self._level)}."

    def number(self, schema: Mapping[str, Any], path: str, *, whole: bool) -> float:
        """Return a number on the scale of a schema."""
        low = float(schema.get("minimum", 1))
        high = float(schema.get("maximum", low + 4))
        if self._off:
            return int(high) + 1
        value = low + self._drawn(path) * (high - low)
        # Rounded as it has few digits on paper; and whole numbers within bounds that may not be whole.
        if not whole:
            return round(value, 2)
        number = min(max(round(value), math.ceil(low)), math.floor(high))
        self._scales[str(number)] = low, high
        return number

    def odds(self, token: str) -> dict[str, float]:
        """Return the probability of each number that might have stood in the place of a token."""
        low, high = self._scales.get(token, (0.0, -1.0))
        if not 0 < high - low <= _MOST_POINTS:
            return {token: 1.0}
        mean, deviation = low + self._level * (high - low), max(self._noise, 0.05) * (high - low)
        points = range(math.ceil(low), math.floor(high) + 1)
        shares = [math.exp(-(((point - mean) / deviation) ** 2) / 2) + 1e-9 for point in points]
        return {str(p): share / sum(shares) for p, share in zip(points, shares, strict=True)}

    def _drawn(self, path: str) -> float:
        shift = self._noise * NormalDist().inv_cdf(uniform(self._key, path))
        return min(max(self._level + shift, 0.0), 1.0)


class SimulatedVerdict(SimulatedAnswer):
    """Which of two texts is better: 1 the first, 2 the second, 0 neither."""

    def __init__(
        self, key: str, difference: float, settings: Mapping[str, float], off_scale: bool, forced: bool
    ) -> None:
        super().__init__(key, 0.5, settings["noise"], off_scale)
        self._difference, self._settings, self._forced = difference, settings, forced

    def number(self, schema: Mapping[str, Any], path: str, *, whole: bool) -> float:
        """Return the verdict as a whole number; any other number is how sure it is, 0.5 for a guess."""
        if whole or self._off:
            return super().number(schema, path, whole=whole)
        low, high = float(schema.get("minimum", 0)), float(schema.get("maximum", 1))
        return round(low + min(0.5 + abs(self._difference), 1.0) * (high - low), 2)

    def _drawn(self, path: str) -> float:
        """Return the verdict as a place on the scale 0, 1, 2; of a forced choice, on the scale 1, 2."""
        first = 0.0 if self._forced else 0.5
        bias = self._settings["first_bias"]
        if uniform(self._key, f"{path} by place") < abs(bias):
            return first if bias > 0 else 1.0
        # Each text has noise of its own, as it has where texts are rated one by one.
        shift = self._noise * math.sqrt(2) * NormalDist().inv_cdf(uniform(self._key, path))
        difference = self._difference + shift
        if self._forced:
            difference = difference or uniform(self._key, f"{path} by chance") - 0.5
        elif abs(difference) <= self._settings["tie"]:
            return 0.0
        return first if difference > 0 else 1.0


_FIELDS = ("reasoning_content", "reasoning", "thinking")
_CALLS = ("tool_calls", "function_call")


class Thought(NamedTuple):
    """A reply, taken apart."""

    text: str
    """What was thought; empty if the server does not show it."""
    tokens: int
    """Tokens of thought, as the server counts them; 0 where it does not."""
    answer: str
    """The rest of the reply's text."""


def thought_in(text: str, raw: str) -> Thought:
    """Return the thought in a reply.

    Parameters
    ----------
    text
        The text of the reply; some servers leave the thought there, between marks such as ``<think>``.
    raw
        The body as it was received: others have it in a field of its own.
    """
    inside, rest = parted(text)
    answer = text if rest == text else (rest or "").strip()
    body = _body(raw)
    message = _message(body)
    beside = next((t for name in _FIELDS if (t := _text(_at(message, name)))), "") or _parts(message)
    return Thought("\n\n".join(filter(None, (beside.strip(), inside.strip()))), _tokens(body), answer)


def thought_tokens(raw: str) -> int:
    """Return the tokens of thought that a reply's body counts."""
    return _tokens(_body(raw)) if "_tokens" in raw else 0


def filled_beside(raw: str) -> list[str]:
    """Return the fields beside a message's text that hold something."""
    message = _message(_body(raw))
    parts = ["thinking parts of content"] if _parts(message) else []
    return [name for name in (*_FIELDS, *_CALLS) if _at(message, name)] + parts


def _body(raw: str) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return {}


def _message(body: object) -> object:
    return _at(_at(_at(body, "output") or body, "choices", 0), "message")


def _tokens(body: object) -> int:
    usage = _at(body, "usage")
    details = _at(usage, "completion_tokens_details") or _at(usage, "output_tokens_details")
    return _count(_at(details, "reasoning_tokens")) or _uncounted(usage)


def _at(value: Any, *path: str | int) -> Any:  # noqa: ANN401 - whatever a server sent
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _uncounted(usage: object) -> int:
    """Return the tokens that are in the total alone, as at Gemini's compatible endpoint."""
    total, *known = (_count(_at(usage, f"{n}_tokens")) for n in ("total", "prompt", "completion"))
    return max(total - sum(known), 0) if all(known) else 0


def _parts(message: object) -> str:
    """Return the thought of a content in parts, as Mistral sends it."""
    content = _at(message, "content")
    parts = content if isinstance(content, list) else []
    texts = [_at(p, "thinking") for p in parts if _at(p, "type") == "thinking"]
    inner = [t for text in texts for t in (text if isinstance(text, list) else [text])]
    return "\n".join(filter(None, (_text(t) or _text(_at(t, "text")) for t in inner)))


_KEPT = "numbers"
_OF_NUMBERS = re.compile(r"[0-9.]")
_DIGIT = re.compile(r"[0-9]")


class Place(NamedTuple):
    """A token of a reply, and what might have stood there."""

    at: int
    """Where the token begins in the text; below 0 if before it."""
    token: str
    top: Mapping[str, float]
    """Token → logarithm of its probability: the token itself, and alternatives that hold digits or a dot."""
    other: float
    """Probability of all other alternatives that the server listed."""


def keep_numbers(choice: dict[str, Any], text: str) -> bool:
    """Replace the probabilities in a choice of a body by those of `Place`; say whether there were any.

    Parameters
    ----------
    choice
        Of a chat completion: its ``logprobs`` have ``content``, a token each.
    text
        The text of the reply. Where the tokens do not make it up, nothing is kept of them.
    """
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return False
    try:
        places = _places(content, text)
    except (ValueError, TypeError, KeyError, AttributeError):  # not as OpenAI sends them
        places = None
    choice["logprobs"] = {_KEPT: places}
    return True


def places_in(raw: str) -> list[Place] | None:
    """Return the places that are kept in a reply's body; None if the server sent none that can be used."""
    try:
        body = json.loads(raw)
        places = (body.get("output") or body)["choices"][0]["logprobs"][_KEPT]
        return None if places is None else [Place(*place) for place in places]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _places(content: list[Any], text: str) -> list[Place] | None:
    tokens = [_bytes(token) for token in content]
    begin = b"".join(tokens).rfind(text.encode())
    if not text or begin < 0:
        return None
    places, at, after = [], -begin, False
    for token, part in zip(content, tokens, strict=True):
        written = part.decode("utf-8", "replace")
        digits = _DIGIT.search(written) is not None
        if after or digits:
            places.append(_place(token, written, _characters(text, at)))
        after = digits
        at += len(part)
    return places


def _bytes(token: Mapping[str, Any]) -> bytes:
    """Return the bytes of a token: a character may be parted between two."""
    listed = token.get("bytes")
    return bytes(listed) if isinstance(listed, list) else str(token["token"]).encode()


def _characters(text: str, at: int) -> int:
    return at if at < 0 else len(text.encode()[:at].decode("utf-8", "ignore"))


def _place(token: Mapping[str, Any], written: str, at: int) -> Place:
    top: dict[str, float] = {}
    other = 0.0
    for name, logprob in _listed(token, written):
        if name == written or _OF_NUMBERS.search(name):
            top.setdefault(name, round(logprob, 6))
        else:
            other += math.exp(logprob)
    return Place(at, written, top, round(other, 6))


def _listed(token: Mapping[str, Any], written: str) -> Iterator[tuple[str, float]]:
    """Yield the alternatives with their logarithms, and the token itself, which may not be among them."""
    for one in [*(token.get("top_logprobs") or ()), {**token, "token": written}]:
        logprob = one.get("logprob")
        if isinstance(logprob, int | float) and math.isfinite(logprob):
            yield str(one["token"]), min(float(logprob), 0.0)
