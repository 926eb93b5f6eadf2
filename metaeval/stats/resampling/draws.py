"""Draws that depend on a seed and on names alone, not on the order of rows or on what else is drawn."""

from __future__ import annotations

import hashlib


def permutation(count: int, seed: int, *of: str) -> list[int]:
    """Return the first ``count`` whole numbers in an order that depends on the seed and on ``of`` alone."""
    import numpy as np

    digest = hashlib.sha256("\x1f".join([str(seed), *of]).encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
    return [int(i) for i in rng.permutation(count)]
