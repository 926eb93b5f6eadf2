"""Several tables as one: rows below each other, or columns side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, sound
from metaeval.data.tables.columns import NUMBER, text_column
from metaeval.data.tables.nested import flattened
from metaeval.data.tables.table import Table

OF = "file"
"""The column that says from which of several files a row is."""


def as_one(tables: Sequence[Table], names: Sequence[str], *, below: bool = False) -> Table:
    """Return tables of the same columns below each other, ``names`` in the column `OF`; others side by side.

    With ``below``, tables of other columns are below each other, too, and empty where they lack one.

    Side by side stand rows that agree in all columns that two tables share; a row without a counterpart
    stays. Where several rows of both agree, those of the second become one, if one column tells them apart,
    such as the model that judged: its values then begin the names of the columns that differ. Rows of tables
    below each other are counted on from file to file. `DataError` is raised if it is not clear which rows
    belong together.
    """
    first, *others = tables
    if below or all({*table.frame.columns} == {*first.frame.columns} for table in others):
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
        t.frame.assign(**{c: sound(text_column(t, c)) for c in shared}, _row=t.rows)
        for t in (one, flattened(other, whole=True))
    )
    if left.duplicated(shared).any() and right.duplicated(shared).any():
        right = _spread(right, shared, both)
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


def _spread(frame: pd.DataFrame, shared: Sequence[str], both: str) -> pd.DataFrame:
    """Return a frame with one row for all that agree in ``shared``: ``gpt-4 clarity`` for its ``clarity``."""
    texts = frame.drop(columns=["_row", *shared]).map(str)
    columns = [*map(str, texts)]
    words = [c for c in columns if not any(map(NUMBER.fullmatch, texts[c]))]
    apart = [c for c in words if not frame[shared].join(texts[c]).duplicated().any()]
    if len(apart) != 1:
        raise DataError(
            f"{both} share {', '.join(shared)}, of which both have several rows"
            + (f", told apart by {' or '.join(apart)}" if apart else "")
            + "; leave all but one column out that tells them apart, or add it to the other file"
        )
    differing = texts.groupby([frame[c] for c in shared]).nunique().max()
    same = [c for c in words if differing[c] == 1]
    kept = frame.drop_duplicates(shared)[[*shared, *same, "_row"]]
    for value, rows in frame.groupby(apart[0], sort=False):
        names = {c: f"{value} {c.rpartition('.')[2]}" for c in columns if c not in (*same, *apart)}
        kept = kept.merge(rows[[*shared, *names]].rename(columns=names), how="left", on=[*shared])
    return kept
