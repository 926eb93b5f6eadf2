"""Several tables as one: rows below each other, or columns side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, sound
from metaeval.data.tables.columns import NUMBER, text_column
from metaeval.data.tables.table import Table

OF = "file"
"""The column that says from which of several files a row is."""


def as_one(tables: Sequence[Table], names: Sequence[str]) -> Table:
    """Return tables of the same columns below each other, ``names`` in the column `OF`; others side by side.

    Side by side stand rows that agree in all columns that two tables share; a row without a counterpart
    stays. Rows of tables below each other are counted on from file to file. `DataError` is raised if it is
    not clear which rows belong together.
    """
    first, *others = tables
    if all({*table.frame.columns} == {*first.frame.columns} for table in others):
        return _below(tables, names) if others else first
    return reduce(_beside, others, first)


def _below(tables: Sequence[Table], names: Sequence[str]) -> Table:
    if len({*names}) < len(names):
        raise DataError(f"two files are called {max(names, key=names.count)!r}; rename one")
    if OF in tables[0].frame.columns:
        raise DataError(f"the column {OF!r}, which is to hold the names of the files, is there; rename it")
    frames = [t.frame.assign(**{OF: name}) for t, name in zip(tables, names, strict=True)]
    before = np.cumsum([0, *(int(t.rows.max(initial=0)) for t in tables[:-1])])
    rows = np.concatenate([t.rows + n for t, n in zip(tables, before, strict=True)])
    return Table(" + ".join(t.name for t in tables), pd.concat(frames, ignore_index=True), rows)


def _beside(one: Table, other: Table) -> Table:
    shared = [c for c in map(str, one.frame.columns) if c in other.frame.columns]
    both = f"{one.name} and {other.name}"
    if not shared:
        raise DataError(
            f"{both} share no column that says which rows belong together; give one the same name"
        )
    left, right = (
        t.frame.assign(**{c: sound(text_column(t, c)) for c in shared}, _row=t.rows) for t in (one, other)
    )
    if left.duplicated(shared).any() and right.duplicated(shared).any():
        raise DataError(f"{both} share {', '.join(shared)}, which name no row of either; add what does")
    frame = left.merge(right, how="outer", on=shared, suffixes=("", "_other"), indicator="_of")
    frame = frame.sort_values(["_row", "_row_other"], kind="stable", ignore_index=True)
    lone, lone_other = (frame[frame["_of"] == side] for side in ("left_only", "right_only"))
    if len(lone) == len(left):
        raise DataError(f"no row of {both} agrees in {', '.join(shared)}; rename what is no key")
    for column in shared:
        rest = [c for c in shared if c != column]
        if rest and all(map(NUMBER.fullmatch, frame[column])) and len(lone.merge(lone_other, on=rest)):
            raise DataError(
                f"{column!r} differs between {both} where {', '.join(rest)} agree; rename it in one of them"
            )
    rows = frame["_row"].fillna(frame["_row_other"]).to_numpy(dtype=np.int64)
    return Table(one.name, frame.drop(columns=["_row", "_row_other", "_of"]), rows)
