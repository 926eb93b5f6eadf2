"""Whether a text that a reply gives as evidence stands in the prompt."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from metaeval.llm.prompts.fences import fenced_parts
from metaeval.llm.replies.words import tidy

if TYPE_CHECKING:
    from collections.abc import Collection

_NUMBERED = re.compile(r"-[0-9]+\Z")
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0f"))
_SIGNS = (
    dict.fromkeys(map(ord, "‘’‚‛′`´"), "'")
    | dict.fromkeys(map(ord, "“”„‟″«»"), '"')
    | dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
    | {ord("⁄"): "/", ord("∕"): "/"}
)
_QUOTES = "\"' \u300c\u300d"


def plain(text: str) -> str:
    """Return a text as evidence is compared.

    Unicode is normalised (NFKC), characters without a width are left out, quotation marks, dashes and
    slashes take their plain form, and each run of white space is one blank. Case counts.
    """
    return " ".join(unicodedata.normalize("NFKC", text.translate(_UNSEEN).translate(_SIGNS)).split())


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
