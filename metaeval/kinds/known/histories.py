"""What is known of items, and which items users chose before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, unknown
from metaeval.kinds.known.entries import entries_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.base.records import DataOfKind

USER, ITEM = "user_id", "item_id"
"""What the tables of items, histories and profiles call a user and an item, in every kind that has them."""


def fields_of(data: DataOfKind, chosen: Sequence[str]) -> list[str]:
    """Return the fields of items that were chosen, all if none were; raise `DataError` for an unknown one."""
    if data.items is None:
        raise DataError(f"data set {data.name!r} has no items file, so nothing is known of its items; add it")
    known = [str(column) for column in data.items if column != ITEM]
    for name in chosen:
        if name not in known:
            raise DataError(unknown(f"the items of data set {data.name!r} have no field", name, known))
    return list(chosen) or known


def items_of(data: DataOfKind, chosen: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the names and values of the chosen fields of each item; the errors are those of `fields_of`."""
    fields = fields_of(data, chosen)
    return {} if data.items is None else entries_of(data.items, ITEM, fields)


def histories_of(data: DataOfKind, judged: pd.DataFrame) -> pd.DataFrame:
    """Return the histories of the users, without the items that are to be judged for them.

    An item may be in a user's history and among those that are judged for the user: shown with the user's
    rating, it would give the answer away.

    Parameters
    ----------
    judged
        ``user_id`` and ``item_id`` of what is to be judged.

    Raises
    ------
    DataError
        If there are no histories.
    """
    import pandas as pd

    if data.histories is None:
        raise DataError(f"data set {data.name!r} has no histories of users; add them")
    own = data.histories[data.histories[USER].isin(data.units[USER].unique())]
    pairs = [pd.MultiIndex.from_frame(frame[[USER, ITEM]]) for frame in (own, judged)]
    kept: pd.DataFrame = own[~pairs[0].isin(pairs[1])]
    return kept
