"""What every import of a collection ends with: what nothing names is left out, the rest checked and saved."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.keys import noun
from metaeval.kinds.files.loading import Files, importer
from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.data.loading import FOLDER
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.table import Table, from_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.kinds.files.loading import Imported
    from metaeval.kinds.relevance.data.collection import Collection


def importer_of_labels(read: Callable[..., Files]) -> Callable[..., Imported[Collection]]:
    """Return a function that saves what ``read`` makes of files; see `importer`."""

    @wraps(read)
    def named(*arguments: object, **options: object) -> Files:
        return _named(read(*arguments, **options))

    return importer(FOLDER, named, _notes)


def _named(files: Files) -> Files:
    """Leave out items and profiles that no label, run or history names."""
    kept = {kind: t if isinstance(t, Table) else from_frame(t, kind) for kind, t in files.tables.items()}
    left_out = []
    for kind, key in (("items", ITEM), ("profiles", USER)):
        if kind not in kept or key not in kept[kind].frame.columns:
            continue
        table, others = kept[kind], [kept[k] for k in ("labels", "runs", "histories") if k in kept]
        named = pd.concat([_names(t, key) for t in others])
        known = pd.Series(text_column(table, key)[0], dtype="str").isin(named).to_numpy(dtype=bool)
        kept[kind] = Table(table.name, table.frame[known].reset_index(drop=True), table.rows[known])
        if not known.all():
            what = f"{counted(int((~known).sum()), 'row')} of {noun(key)}s"
            left_out.append(f"{table.name}: {what} that no other table names, left out")
    return Files(files.about, kept, (*files.notes, *left_out))


def _names(table: Table, key: str) -> pd.Series[str]:
    """Return the different values of a key column, as text; none if there is no such column."""
    if key not in table.frame.columns:
        return pd.Series(dtype="str")
    distinct = table.frame[[key]].drop_duplicates()
    return pd.Series(text_column(Table(table.name, distinct, table.rows), key)[0], dtype="str")


def _notes(data: Collection) -> list[str]:
    """Say what a judge would lack, and what it would see of the truth."""
    notes = []
    if data.histories is not None:
        without = ~data.units[USER].drop_duplicates().isin(data.histories[USER].unique())
        if without.any():
            notes.append(f"{counted(int(without.sum()), 'user')} with labels but without a history")
        judged = data.histories[[USER, ITEM]].merge(data.units, how="inner")
        if len(judged):
            rows = counted(len(judged), "row of histories", "rows of histories")
            notes.append(f"{rows} about items that the user labelled; judges do not see them")
    if data.items is not None:
        bare = ~data.units[ITEM].drop_duplicates().isin(data.items[ITEM])
        if bare.any():
            notes.append(f"{counted(int(bare.sum()), 'item')} with labels but without fields")
    if not len(data.runs):
        notes.append("no runs of systems: a study compares labels only")
    return notes
