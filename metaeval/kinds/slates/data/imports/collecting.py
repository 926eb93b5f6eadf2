"""What every import of duels ends with: users and duels are drawn, and what they name is saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem
from metaeval.data.imports import Files, Imported, importer
from metaeval.kinds.slates.data.loading import FOLDER
from metaeval.kinds.slates.data.sampling import UNORDERED, UTILITIES, Sampling, draw_duels
from metaeval.kinds.slates.data.slate_set import ITEM, USER, SlateSet
from metaeval.stats.resampling.weights import drawn


class Candidates(NamedTuple):
    """What slates are made of, and what is known of items and users."""

    about: Mapping[str, Any]
    """The keys of ``dataset.yaml`` without ``kind`` and the tasks that are drawn."""
    gains: pd.DataFrame
    """``user_id``, ``item_id``, ``gain`` and perhaps ``foreign``; see `draw_duels`."""
    histories: pd.DataFrame | None = None
    """``user_id``, ``item_id`` and, if known, ``rating`` and ``timestamp``; no item that is a candidate."""
    items: pd.DataFrame | None = None
    """``item_id`` and text fields."""
    profiles: pd.DataFrame | None = None
    """``user_id`` and text fields."""
    notes: Sequence[str] = ()
    """What is to be told of the files."""
    ordered: bool = True
    """Whether gains come from an order of items, or from clicks; else from ratings, and T3 is their sum."""


def importer_of_duels(read: Callable[..., Candidates]) -> Callable[..., Imported[SlateSet]]:
    """Return a function that draws duels of what ``read`` finds, and saves them; see `importer`.

    Its third argument says how to draw; or the options of `Sampling` do.
    """

    @wraps(read)
    def run(
        source: str | os.PathLike[str],
        out: str | os.PathLike[str],
        how: Sampling | None = None,
        **options: object,
    ) -> Imported[SlateSet]:
        given = {name: options.pop(name) for name in Sampling.model_fields if name in options}
        drawing = how or Sampling.model_validate(given)
        draw = importer(FOLDER, lambda place, **more: duels_of(read(Path(place), drawing, **more), drawing))
        return draw(source, out, **options)

    return run


def refuse_lines(problems: Sequence[Problem]) -> None:
    """Raise `DataError` with the first line that is wrong, and how many there are."""
    if problems:
        first, count = problems[0], len(problems)
        more = f" (the first of {count:,} that are wrong)" if count > 1 else ""
        raise DataError([first._replace(message=first.message + more)])


def newest(rows: pd.DataFrame, by: str, how: Sampling) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the newest items of each user, which are the candidates, and those before them, the history.

    The candidates are at most half of the user's items, unless no history is wanted. An item that a user has
    more than once counts where it is newest. Users with too few items for a slate are left out.

    Parameters
    ----------
    rows
        ``user_id``, ``item_id`` and whatever else.
    by
        The column that says when, or at which place.
    how
        How many candidates and how long a history at most.
    """
    count = rows.groupby(USER).size()
    enough = count.index[count >= how.size * (2 if how.history else 1)]
    rows = rows[rows[USER].isin(enough)]
    ordered = rows.sort_values([USER, by, ITEM], kind="stable", ignore_index=True)
    ordered = ordered[~ordered.duplicated([USER, ITEM], keep="last")]
    of_user = ordered.groupby(USER, sort=False)
    count, back = of_user[ITEM].transform("size"), of_user.cumcount(ascending=False)
    most = (count // 2 if how.history else count).clip(upper=how.candidates)
    return ordered[back < most], ordered[(back >= most) & (back < most + how.history)]


def duels_of(found: Candidates, how: Sampling) -> Files:
    """Draw users and duels; users with fewer candidates than a slate has items are left out."""
    count = found.gains.groupby(USER).size()
    enough = count.index[count >= how.size]
    if not len(enough):
        raise DataError(
            f"no user has {counted(how.size, 'candidate')}, which a slate needs; "
            "give a smaller size, or a history of 0"
        )
    users = drawn(enough, how.users, how.seed)
    gains = found.gains[found.gains[USER].isin(users)]
    duels, slates, without = draw_duels(gains, how, found.items, ordered=found.ordered)
    told = [f"{counted(len(users), 'user')} drawn of {len(enough):,} with {how.size} candidates or more"]
    lacking = "without two slates of different utility"
    told += [f"{task}: {counted(n, 'user')} {lacking}" for task, n in without.items() if n]
    tables = {"duels": duels, "slates": slates}
    for kind, frame in (("histories", found.histories), ("profiles", found.profiles)):
        if frame is not None and len(known := frame[frame[USER].isin(duels[USER])]):
            tables[kind] = known
    past = tables.get("histories", duels.iloc[:0])[USER]
    if bare := duels[USER].nunique() - past.nunique():
        told.append(f"{counted(bare, 'user')} without a history")
    if found.items is None:
        told.append("there is no table of items: judges see only ids, and duels have no similarity")
    else:
        named = pd.concat([tables[kind][ITEM] for kind in ("slates", "histories") if kind in tables])
        tables["items"] = found.items[found.items[ITEM].isin(named.unique())]
    worth = UTILITIES if found.ordered else UNORDERED
    about = {
        **found.about,
        "tasks": {task: worth[task] for task in how.tasks} | found.about.get("tasks", {}),
        "extra": {"sampling": how.model_dump(mode="json", exclude_none=True)},
    }
    return Files(about, tables, (*found.notes, *told))
