"""What a body says of the model's thought: its text in a field of its own, and its tokens."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from metaeval.llm.replies.thought import parted

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
    inside, answer = parted(text)
    body = _body(raw)
    message = _message(body)
    beside = next((t for name in _FIELDS if (t := _text(_at(message, name)))), "") or _parts(message)
    return Thought("\n\n".join(filter(None, (beside.strip(), inside))), _tokens(body), answer)


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
