"""Marks around texts: fences around material, and the markup of a family of models for servers of raw text.

The sign of the beginning (``<|begin_of_text|>``, ``<s>``, ``<bos>``) is not written: the servers' tokenizers
(vLLM, llama.cpp, TGI) put it before the text by themselves, and a prompt with two of them is answered worse.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_FENCED = re.compile(r"^<(?P<tag>[\w-]+)>\n(?P<text>.*?)\n</(?P=tag)>$", re.DOTALL | re.MULTILINE)
_PIPED = r"<\|\w+\|>"


class Markup(NamedTuple):
    """How a family of models marks whose turn it is."""

    turns: Mapping[str, tuple[str, str]]
    """Role → what stands before and after what it says; where there is no ``system``, the user says it."""
    reply: str
    """What stands before the reply."""
    stop: str
    """What the model writes after it."""
    special: str
    """A pattern of the texts that the tokenizer takes for marks."""


def _turns(before: str, after: str, **names: str) -> dict[str, tuple[str, str]]:
    return {role: (before.format(name), after) for role, name in names.items()}


_ALIKE = {"system": "system", "user": "user", "assistant": "assistant"}
MARKUPS: Mapping[str, Markup] = {
    "llama": Markup(
        _turns("<|start_header_id|>{}<|end_header_id|>\n\n", "<|eot_id|>", **_ALIKE),
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|eot_id|>",
        _PIPED,
    ),
    "mistral": Markup(
        {"user": ("[INST] ", " [/INST]"), "assistant": (" ", "</s>")},
        "",
        "</s>",
        r"</?s>|<unk>|<pad>|<SPECIAL_\d+>|\[control_\d+\]|\[/?(?:INST|SYSTEM_PROMPT|MODEL_SETTINGS|THINK|ARGS"
        r"|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|IMG|IMG_BREAK|IMG_END|AUDIO"
        r"|BEGIN_AUDIO|TRANSCRIBE|PREFIX|MIDDLE|SUFFIX)\]",
    ),
    "qwen": Markup(
        _turns("<|im_start|>{}\n", "<|im_end|>\n", **_ALIKE),
        "<|im_start|>assistant\n",
        "<|im_end|>",
        rf"{_PIPED}|</?(?:think|tool_call|tool_response)>",
    ),
    "gemma": Markup(
        _turns("<start_of_turn>{}\n", "<end_of_turn>\n", user="user", assistant="model"),
        "<start_of_turn>model\n",
        "<end_of_turn>",
        r"<(?:bos|eos|pad|unk|mask|2mass|unused\d+|(?:start|end)_of_(?:turn|image)|image_soft_token)>"
        r"|\[multimodal\]|\[@BOS@\]",
    ),
}
"""Family → its markup: Llama 3; Mistral's ``[INST]``; ChatML, as Qwen has it; Gemma 1 to 3."""


def marked_up(messages: Iterable[tuple[str, str]], family: str) -> list[tuple[str, str]]:
    """Return the messages with the marks of a family around them; joined, they are the text to send.

    Messages of one role that follow each other are one turn. A mark within a message gets a blank after its
    first character: no material ends a turn or begins another.

    Parameters
    ----------
    messages
        Role (``system``, ``user`` or ``assistant``) and text, the last one not the assistant's.
    family
        Of `MARKUPS`.
    """
    turns, reply, _, special = MARKUPS[family]
    parts: list[tuple[str, str]] = []
    spoken = [(role if role in turns else "user", role, text) for role, text in messages]
    for speaker, turn in itertools.groupby(spoken, key=lambda one: one[0]):
        before, after = turns[speaker]
        for _, role, text in turn:
            parts.append((role, before + re.sub(special, lambda m: f"{m[0][0]} {m[0][1:]}", text)))
            before = "\n\n"
        parts[-1] = (parts[-1][0], parts[-1][1] + after)
    parts[-1] = (parts[-1][0], parts[-1][1] + reply)
    return parts


def fenced(value: object, tag: str) -> str:
    """Return a text between ``<tag>`` and ``</tag>``, each on its own line.

    Where the text itself holds such a tag, a number is added to the name, so that no text can end its own
    fence.
    """
    text, name, number = str(value), tag, 1
    while f"<{name}".casefold() in text.casefold() or f"</{name}".casefold() in text.casefold():
        number += 1
        name = f"{tag}-{number}"
    return f"<{name}>\n{text}\n</{name}>"


def fenced_parts(prompt: str) -> list[tuple[str, str]]:
    """Return tag and text of each fence of a prompt, in order; a fence within another is part of its text."""
    return [(part["tag"], part["text"]) for part in _FENCED.finditer(prompt)]
