"""Counts and lists in sentences (one is one unit, two are units), and counts of characters."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

_NAMED = 4
"""Names beyond which a sentence counts the others."""


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 unit``, ``1,200 units``; ``plural`` if that is not noun and s."""
    return f"{n:,} {noun if n == 1 else plural or plural_of(noun)}"


def plural_of(noun: str) -> str:
    """Return the plural of a regular noun: ``users``, ``queries``."""
    return f"{noun[:-1]}ies" if noun[-1:] == "y" and noun[-2:-1] not in "aeiou" else f"{noun}s"


def listed(names: Sequence[str], word: str = "and") -> str:
    """Return names as a sentence lists them: ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def few_of(names: Sequence[str]) -> str:
    """Name several, and count those beyond a few."""
    if len(names) <= _NAMED + 1:
        return listed(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} others"


def graphemes(text: str) -> int:
    """Return the number of characters as a reader counts them (grapheme clusters)."""
    if text.isascii():
        return len(text) - text.count("\r\n")  # the only cluster of two ASCII characters
    return sum(1 for _ in _grapheme().finditer(text))


@functools.cache
def _grapheme() -> regex.Pattern[str]:
    import regex

    return regex.compile(r"\X")
