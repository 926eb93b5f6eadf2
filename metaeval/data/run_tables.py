"""Lists of systems as tables: with a header of one's own, as LensKit saves them, or arrays of RecBole.

LensKit saves an ``ItemListCollection`` as Parquet with a row per list, whose items stand in the column
``items``, or (``layout="flat"``, ``to_df``) with a row per item: ``user_id``, ``item_id``, ``score`` and
``rank``. Before 2025 the columns were ``user`` and ``item``. RecBole writes no lists: its ``full_sort_topk``
returns arrays, which NumPy saves as ``user_id`` (users), ``item_id`` and ``score`` (users × k) in ``.npz``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem
from metaeval.data.tables.nested import flattened
from metaeval.data.tables.table import from_frame, read_table, suffix_of

SUFFIXES = (".csv", ".tsv", ".parquet", ".npz")
_ITEMS = "items"  # of LensKit: the column of lists
_OLD = {"user_id": "user", "item_id": "item"}  # LensKit before 2025
_KEYS = ("user_id", "item_id")


def read_run_table(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, list[Problem]]:
    """Return ``line``, ``user_id``, ``item_id``, ``rank``, ``score``, ``system``: all but the line as text.

    ``columns`` says which column has a field, if it has another name. Without a column of systems, the system
    has the name of the file; without ranks, a list has the order of the rows; without scores, that of ranks.

    Raises
    ------
    DataError
        If there is no such file, or users or items are in no column.
    """
    if not path.is_file():
        raise DataError(f"there is no run file {str(path)!r}")
    problems: list[Problem] = []
    if suffix_of(path) == ".npz":
        given = _of_arrays(path)
    else:
        table, problems = read_table(path)
        if table is None:
            return pd.DataFrame(), problems
        if _ITEMS in table.frame and "item_id" not in table.frame:
            table = flattened(table, [_ITEMS])
        frame = table.frame.assign(line=table.rows).rename(columns=lambda c: c.removeprefix(f"{_ITEMS}."))
        given = frame.rename(columns={c: f for f, c in columns.items() if c in frame})
    given = given.rename(columns={o: f for f, o in _OLD.items() if f not in given})
    if lacking := [
        c for c in (*_KEYS, *columns) if c not in given and c not in ("query", "document", "label")
    ]:
        have = ", ".join(str(c) for c in given if c != "line")
        message = f"is missing (there are: {have}); say what it is called with --columns FIELD=COLUMN"
        message += ", or, if the file has no header, call it .run" if path.suffix == ".tsv" else ""
        raise DataError([Problem(path.name, None, columns.get(lacking[0], lacking[0]), message)])
    given = given[given["item_id"].notna()]  # an empty list of LensKit
    if "rank" not in given:
        lists = [c for c in ("system", "user_id") if c in given]
        given = given.assign(rank=given.groupby(lists, sort=False).cumcount() + 1)
    if "score" not in given:
        given = given.assign(score=-pd.to_numeric(given["rank"], errors="coerce"))
    if "system" not in given:
        given = given.assign(system=Path(path.name.removesuffix(".gz")).stem)
    texts = ["user_id", "item_id", "rank", "score", "system"]
    return given[["line", *texts]].astype(dict.fromkeys(texts, str)).reset_index(drop=True), problems


def _of_arrays(path: Path) -> pd.DataFrame:
    """Return a row for each item of the lists in a file of arrays, the first row with number 1."""
    wanted = "a run in .npz has user_id (users), item_id and, if known, score (users × k)"
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("user_id", "item_id", "score") if name in file}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path.name} cannot be read as arrays of numbers or text: {error}; {wanted}"
        ) from None
    users, items = arrays.get("user_id", np.empty(0)), arrays.get("item_id", np.empty(0))
    if users.ndim != 1 or items.ndim != 2 or len(users) != len(items):
        raise DataError(f"{path.name}: user_id has shape {users.shape}, item_id {items.shape}; {wanted}")
    if arrays.get("score", items).shape != items.shape:
        raise DataError(
            f"{path.name}: score has shape {arrays['score'].shape}, item_id {items.shape}; {wanted}"
        )
    columns = {"user_id": np.repeat(users, items.shape[1])}
    columns |= {name: arrays[name].ravel() for name in ("item_id", "score") if name in arrays}
    table = from_frame(pd.DataFrame(columns), path.name)
    return table.frame.assign(line=table.rows - 1)
