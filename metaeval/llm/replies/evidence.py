"""What of a reply stands in the prompt: its evidence, or lines that it repeats."""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING

from metaeval.llm.prompts.fences import fenced_parts
from metaeval.llm.replies.words import tidy

if TYPE_CHECKING:
    from collections.abc import Collection

_NUMBERED = re.compile(r"-[0-9]+\Z")
_PLAIN = (
    dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0f"), "")
    | dict.fromkeys(map(ord, "‘’‚‛′`´"), "'")
    | dict.fromkeys(map(ord, "“”„‟″«»"), '"')
    | dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
    | {ord("⁄"): "/", ord("∕"): "/"}
)
_SHORT = 300  # characters of a line of a prompt that is likely to be met again
_QUOTES = "\"' \u300c\u300d"


def plain(text: str) -> str:
    """Return a text as evidence is compared.

    Unicode is normalised (NFKC), characters without a width are left out, quotation marks, dashes and
    slashes take their plain form, and each run of white space is one blank. Case counts.
    """
    # A sign may be made of others: ´ of a blank and an accent, ¼ of digits and a slash of its own.
    return " ".join(unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN).split())


def stands_in(said: str, parts: Collection[str]) -> bool:
    """Say whether a text of a reply stands word for word in one of some texts; it needs a letter or digit."""
    wanted = plain(said).strip(_QUOTES)
    if not any(map(str.isalnum, wanted)):
        return False
    # A reply is tidied before it is read: a character without a width is then a blank in it.
    return any(wanted in plain(part) or wanted in plain(tidy(part)) for part in parts)


def parts_of(prompt: str, tags: Collection[str]) -> list[str]:
    """Return the texts that a prompt shows under these tags."""
    return [text for tag, text in fenced_parts(prompt) if tag in tags or _NUMBERED.sub("", tag) in tags]


def without_parts(prompt: str, tags: Collection[str]) -> str:
    """Return a prompt without the texts that it shows under these tags."""
    for text in parts_of(prompt, tags):
        prompt = prompt.replace(text, "")
    return prompt


def own_words(reply: str, prompt: str) -> str | None:
    """Return the reply without the lines it copies from the prompt; None if it repeats the prompt.

    It does if it has the prompt's first long line, or two thirds of them. JSON stays: an answer may equal an
    example.
    """
    bare = reply.strip()
    if bare.startswith("{") and bare.endswith("}"):
        return reply
    lines = _long_lines(prompt)
    said = " ".join(reply.split()).casefold()
    here = {line for line in lines if line in said}
    if not here:
        return reply
    if lines[0] in here or len(here) * 3 >= 2 * len(set(lines)):
        return None
    kept = [
        line
        for line in reply.split("\n")
        if line.lstrip()[:1] in ("{", "[", '"') or " ".join(line.split()).casefold() not in here
    ]
    return "\n".join(kept)


@functools.lru_cache(maxsize=8)  # a reply is looked at when it comes, and again when it is used
def _long_lines(prompt: str) -> list[str]:
    """Return the lines that nobody writes by chance, without blanks and case."""
    lines = tidy(prompt).split("\n")
    folded = ((_folded if len(line) <= _SHORT else _folded.__wrapped__)(line) for line in lines)
    return [line for line in folded if len(line) >= 25]


@functools.lru_cache(2048)  # prompts of one judge share most of their lines
def _folded(line: str) -> str:
    return " ".join(line.split()).casefold()
