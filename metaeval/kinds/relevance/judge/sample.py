"""Which of a user's items a judge is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.kinds.relevance.data.collection import KEYS, USER
from metaeval.stats.resampling.draws import permutation

if TYPE_CHECKING:
    from metaeval.kinds.relevance.data.collection import Collection


def sampled(data: Collection, labels: int | None, seed: int) -> list[int]:
    """Return the positions of the units to ask about, those of a user one after the other.

    Parameters
    ----------
    data
        The collection.
    labels
        How many units of each user; None for all.
    seed
        Of the sample. That of a user depends on the seed and on the user's units alone.

    Notes
    -----
    The units of a user are sorted by pool depth, the best rank that any run gives them, those of no run last,
    equal ones in drawn order. The sample is spread evenly over them, whatever its size, and a smaller one is
    part of a larger one: with more labels, nothing is asked again.
    """
    best = data.runs.groupby(list(KEYS))["rank"].min().reset_index()
    depths = data.units.merge(best, on=list(KEYS), how="left")["rank"].fillna(np.inf).to_numpy()
    chosen: list[int] = []
    for user, positions in data.units.groupby(USER, sort=False).indices.items():
        drawn = np.asarray(positions)[permutation(len(positions), seed, "labels", str(user))]
        by_depth = drawn[np.argsort(depths[drawn], kind="stable")]
        (shift,) = permutation(len(positions), seed, "shift", str(user))[:1]
        chosen += sorted(by_depth[spread(len(positions), shift)[:labels]].tolist())
    return chosen


def spread(count: int, shift: int) -> list[int]:
    """Return the first ``count`` whole numbers, in an order whose every beginning is spread evenly over them.

    It is van der Corput's sequence, moved by ``shift`` around the circle.
    """
    bits = (count - 1).bit_length()
    turned = (int(f"{i:b}".zfill(bits)[::-1], 2) for i in range(1 << bits))
    return [(i + shift) % count for i in turned if i < count]
