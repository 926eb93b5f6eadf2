"""Counts in sentences: one is one unit, two are units."""

from __future__ import annotations


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 unit``, ``1,200 units``; ``plural`` if that is not noun and s."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"
