"""What a judge is asked about and shown: which items of a user, and which part of the user's history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.kinds.known.items import ITEM, USER, histories_of, user_profiles
from metaeval.kinds.relevance.data.collection import KEYS
from metaeval.stats.resampling.draws import permutation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.known.items import Profiles
    from metaeval.kinds.relevance.data.collection import Collection

RANDOM, RECENT = ORDERS = ("random", "recent")


def profiles_of(
    data: Collection,
    items: Mapping[str, Sequence[tuple[str, str]]],
    *,
    history: int,
    order: str,
    seed: int,
    room: int | None,
) -> Profiles:
    """Return what is shown of each user: `user_profiles` of the most recent, or of a drawn history.

    Raises
    ------
    DataError
        If the data have nothing to show, or no times to order by.
    """
    past = _ordered(data, order, needed=history > 0 and (data.profiles is None or data.profiles.empty))
    seed_of = seed if order == RANDOM else None
    return user_profiles(data, items, past, history=history, drawn=seed_of, room=room)


def _ordered(data: Collection, order: str, *, needed: bool) -> pd.DataFrame:
    """Return the histories in an order that does not depend on that of their rows, the most recent first."""
    if data.histories is None and not needed:
        return pd.DataFrame({USER: [], ITEM: []}, dtype=str)
    past = histories_of(data, data.units).sort_values(ITEM)
    if order == RANDOM:
        return past
    if "timestamp" not in past:
        raise DataError(
            f"order='recent' needs a column 'timestamp' in the histories of data set {data.name!r}; write "
            "order='random'"
        )
    return past.sort_values("timestamp", ascending=False, kind="stable")


def sampled(data: Collection, labels: int | None, seed: int) -> list[int]:
    """Return the positions of so many units of each user, all if None; those of a user come together.

    The sample of a user depends on the seed and on the user's units alone. The units are sorted by pool
    depth, the best rank that any run gives them, those of no run last, equal ones in drawn order. The sample
    is spread evenly over them, whatever its size, and a smaller one is part of a larger one: with more
    labels, nothing is asked again.
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
