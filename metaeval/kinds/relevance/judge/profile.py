"""Which part of a user's history a judge is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import DataError
from metaeval.kinds.known.histories import ITEM, USER, histories_of
from metaeval.kinds.known.user_context import user_profiles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.kinds.known.user_context import Profiles
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
    """Return what is told of each user.

    Parameters
    ----------
    data
        The collection.
    items
        Item → names and values of what is told of it; an item of the history without any is left out.
    history
        How many items of the history at most.
    order
        Which of them: ``recent``, the last ones by their time; or ``random``, drawn.
    seed
        Of the draws. A user's depend on the seed and the user alone.
    room
        How many tokens profile and history may take (`metaeval.llm.calls.price.tokens_of`); None for no
        limit. The last items in that order are cut.

    Raises
    ------
    DataError
        If the data have nothing to tell, or no times to order by.
    """
    past = _ordered(data, order, needed=history > 0 and (data.profiles is None or data.profiles.empty))
    seed_of = seed if order == RANDOM else None
    return user_profiles(data, items, past, history=history, drawn=seed_of, room=room)


def _ordered(data: Collection, order: str, *, needed: bool) -> pd.DataFrame:
    """Return the histories in an order that does not depend on that of their rows, the most recent first."""
    import pandas as pd

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
