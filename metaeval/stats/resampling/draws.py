"""Draws that depend on a seed and on names alone, not on the order of rows or on what else is drawn."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable

import numpy as np


def generator(seed: int, *of: str) -> np.random.Generator:
    """Return a random generator that depends on the seed and on ``of`` alone."""
    import numpy as np

    return np.random.default_rng(int.from_bytes(_digest(seed, *of)[:16], "big"))


def permutation(count: int, seed: int, *of: str) -> list[int]:
    """Return the first ``count`` whole numbers in an order that depends on the seed and on ``of`` alone."""
    return [int(i) for i in generator(seed, *of).permutation(count)]


def drawn(names: Iterable[str], count: int | None, seed: int) -> list[str]:
    """Return the first ``count`` of different names, or all, in an order that the seed gives names."""
    return heapq.nsmallest(count, names, key=lambda name: _digest(seed, name)) if count else sorted(names)


def _digest(seed: int, *of: str) -> bytes:
    return hashlib.sha256("\x1f".join([str(seed), *of]).encode()).digest()
