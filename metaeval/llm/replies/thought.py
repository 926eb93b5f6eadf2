"""What a model thought before it answered: between marks, in a field of its own, or counted in tokens.

It is never read as an answer.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_THOUGHTS = r"(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|plan|draft|example)"
_THOUGHT = re.compile(
    rf"[<\[◁【]\s{{0,9}}\|?(?P<end>\s{{0,9}}/)?\s{{0,9}}(?P<name>{_THOUGHTS})\b[^<>\[\]◁▷【】\n]{{0,99}}[>\]▷】]",
    re.IGNORECASE,
)
_OPENS = re.compile(r"[<\[◁【]")
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_ENDS = re.compile(
    r"(?:\s|<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|return|endofturn)\|>|</s>|<end_of_turn>)+\Z"
)
_FIELDS = ("reasoning_content", "reasoning", "thinking")


def answer_in(text: str) -> str | None:
    """Return what comes after the reasoning, or None if the reasoning never ends."""
    answer = _parted(text)[1]
    if answer is None:
        return None
    last = _ENDS.search(answer, max(0, len(answer) - 200))
    return answer[: last.start()] if last else answer


def parted(text: str) -> tuple[str, str]:
    """Return the reasoning in a reply, without its marks, and the rest of it as it is."""
    thought, rest = _parted(text)
    return thought.strip(), text if rest == text else (rest or "").strip()


def _parted(text: str) -> tuple[str, str | None]:
    """Return the reasoning, and what comes after it; None for that if the reasoning never ends.

    Some servers drop the mark that begins the reasoning: without one, all before its end is reasoning.
    """
    if not _OPENS.search(text):
        return "", text
    thoughts: list[str] = []
    at = text.rfind(_FINAL_CHANNEL)
    if at >= 0:
        thoughts.append(text[:at])
        text = text[at + len(_FINAL_CHANNEL) :].split("<|", maxsplit=1)[0]
    kept: list[str] = []
    at, thought = 0, None
    for mark in _THOUGHT.finditer(text):
        name = mark["name"].casefold()
        if thought is not None and name != thought:
            continue
        piece = text[at : mark.start()]
        if mark["end"] is not None and thought is None:
            thoughts += [*kept, piece]
            kept = []
        elif thought is None:
            kept.append(piece)
            thought = name
        else:
            thoughts.append(piece)
            thought = None if mark["end"] is not None else thought
        at = mark.end()
    if thought is not None:
        return "\n".join([*thoughts, text[at:]]), None
    return "\n".join(thoughts), "\n".join([*kept, text[at:]])


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
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = {}
    message = _at(_at(_at(body, "output") or body, "choices", 0), "message")
    beside = next((t for name in _FIELDS if (t := _text(_at(message, name)))), "") or _parts(message)
    return Thought("\n\n".join(filter(None, (beside.strip(), inside))), _tokens(body), answer)


def thought_tokens(raw: str) -> int:
    """Return the tokens of thought that a reply's body counts."""
    try:
        return _tokens(json.loads(raw)) if "_tokens" in raw else 0
    except (ValueError, RecursionError):
        return 0


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
