"""What is known of items and users: fields, histories, and what a prompt or a reader is shown of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import DataOfKind


def entries_of(frame: pd.DataFrame, key: str, fields: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the names and values of the fields of each item, or user, without empty ones.

    Names and values stand on one line each: in a list, a second line could pass for another entry.
    """
    names = [" ".join(field.split()) for field in fields]
    columns = []
    for field in fields:
        known = frame[field].notna()
        columns.append([" ".join(str(v).split()) for v in frame[field].astype(object).where(known, "")])
    return {
        str(of): [(name, value) for name, value in zip(names, values, strict=True) if value]
        for of, *values in zip(frame[key], *columns, strict=True)
    }


def lines_of(entries: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Return a line for each item of which something is known."""
    return {item: "; ".join(f"{name}: {value}" for name, value in of) for item, of in entries.items() if of}


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

    An item may be in a user's history and among those that are ``judged`` for the user (``user_id`` and
    ``item_id``): shown with the user's rating, it would give the answer away. `DataError` is raised if there
    are no histories.
    """
    import pandas as pd

    if data.histories is None:
        raise DataError(f"data set {data.name!r} has no histories of users; add them")
    own = data.histories[data.histories[USER].isin(data.units[USER].unique())]
    pairs = [pd.MultiIndex.from_frame(frame[[USER, ITEM]]) for frame in (own, judged)]
    kept: pd.DataFrame = own[~pairs[0].isin(pairs[1])]
    return kept


TITLE = "title"
_SHOWN = 30
"""Items of a history; a reader sees the whole in the prompt."""


def titles_of(data: DataOfKind) -> dict[str, str]:
    """Return the titles of items; empty if they have none."""
    titled = data.items is not None and TITLE in data.items
    return dict(data.items[[ITEM, TITLE]].to_numpy()) if titled else {}


def fields_text(frame: pd.DataFrame | None, key: str) -> dict[str, str]:
    """Return of each item, or user, a line per field that is not empty."""
    if frame is None:
        return {}
    of = entries_of(frame, key, [c for c in frame.columns if c != key])
    return {name: "\n".join(f"{field}: {value}" for field, value in own) for name, own in of.items()}


def called(data: DataOfKind) -> dict[str, str]:
    """Return what items are called: their titles, or their fields where they have none."""
    return titles_of(data) or {i: of.replace("\n", "; ") for i, of in fields_text(data.items, ITEM).items()}


def histories_text(data: DataOfKind, judged: pd.DataFrame) -> dict[str, str]:
    """Return the last items of each user's history, newest first, and how many more there are.

    ``judged`` are the items to leave out; see `metaeval.kinds.known.items.histories_of`.
    """
    if data.histories is None:
        return {}
    names_of, past = called(data), histories_of(data, judged)
    if "timestamp" in past:
        past = past.sort_values("timestamp", ascending=False, kind="stable")
    found = {}
    for user, own in past.groupby(USER, sort=False):
        shown = own.iloc[:_SHOWN]
        names = [names_of.get(item) or item for item in shown[ITEM]]
        if "rating" in shown:
            names = [n if r != r else f"{n} ({r:g})" for n, r in zip(names, shown["rating"], strict=True)]  # noqa: PLR0124 NaN
        more = len(own) - len(shown)
        found[str(user)] = "\n".join([*names, *([f"… and {more:,} more"] if more else [])])
    return found
