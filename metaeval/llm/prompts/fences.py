"""Texts shown as material, each between a tag and its end."""

from __future__ import annotations

import re

_FENCED = re.compile(r"^<(?P<tag>[\w-]+)>\n(?P<text>.*?)\n</(?P=tag)>$", re.DOTALL | re.MULTILINE)


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
