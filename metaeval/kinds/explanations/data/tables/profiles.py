"""Numbers that are no ratings: those of rows, and what is the same in all rows of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from metaeval.kinds.explanations.data.tables.names import TOOL, is_aspect, role_of, the_user

if TYPE_CHECKING:
    from collections.abc import Collection

    from metaeval.kinds.explanations.data.tables.guess import Guess
    from metaeval.sources.tables.table import Table

_MANY = 12  # rows whose numbers rise by no chance


def counts_rows(column: str, table: Table) -> bool:
    """Say whether numbers are those of the rows: they rise from each to the next."""
    numbers = pd.to_numeric(table.frame[column], errors="coerce").groupby(table.rows).first()
    rise = numbers.is_monotonic_increasing and numbers.is_unique and bool((numbers % 1 == 0).all())
    return rise and len(numbers) >= _MANY and not is_aspect(column) and not TOOL.search(column)


def find_profiles(found: Guess, table: Table, numbers: list[str], known: Collection[str]) -> None:
    """Take for a user's profile what is the same in all rows of each of several users.

    Of ``numbers`` these are ages, years and what stands beside the user's id in JSON; others are ratings.
    """
    user, frame = found.roles.get("user_id"), table.frame
    if user is None or frame[user].nunique() == len({*table.rows}):
        return

    def is_theirs(column: str) -> bool:
        cells = frame[column].astype(str)
        return len({*cells}) > 1 and cells.groupby(frame[user].astype(str)).nunique().max() == 1

    theirs = user.rpartition(".")[0]
    beside = f"{theirs}." if the_user([theirs.rpartition(".")[2]]) else None
    for column in [c for c in (*found.left, *numbers) if c not in known]:
        if column in numbers:
            ages = pd.to_numeric(frame[column], errors="coerce").dropna()
            age = any(ages.between(*ends).all() for ends in ((10, 110), (1900, 2100)))
            fits = (beside and column.startswith(beside)) or (age and 2 * frame[user].nunique() <= len(frame))
            fits = fits and not is_aspect(column)
        else:
            fits = role_of(column, [], numeric=False, taken=found.roles) != "ignore"
        if fits and is_theirs(column):
            found.profiles.append(column)
            (numbers if column in numbers else found.left).remove(column)
    for column in [c for c in found.profiles if c not in known]:
        if frame[column].astype(str).groupby(frame[user].astype(str)).nunique().max() > 1:
            found.profiles.remove(column)  # called so, but not the same in all rows of a user
            found.left.append(column)
