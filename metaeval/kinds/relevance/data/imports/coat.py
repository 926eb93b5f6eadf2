"""Coat → a collection: the random ratings are labels, the self-chosen ones histories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.base.records import USER_RATER
from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.data.imports.collecting import ImportedCollection, collected
from metaeval.kinds.relevance.data.loading import refuse_if_in_the_way

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

_STARS = 5
_RELEVANT = 4


def import_coat(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    name: str = "coat",
    force: bool = False,
) -> ImportedCollection:
    """Make a collection of the released files of Coat.

    ``test.ascii``, ratings of random coats, gives the labels; ``train.ascii``, of coats that users chose, the
    histories; the features give the fields of items and the profiles of users. A user or coat is named by its
    row, from 1.

    Raises
    ------
    DataError
        If a file is missing, or is not as released.
    """
    refuse_if_in_the_way(Path(out), force=force)
    source = Path(folder)
    random, chosen = (_matrix(source / f"{part}.ascii") for part in ("test", "train"))
    if random.shape != chosen.shape:
        raise DataError(f"test.ascii is {random.shape}, train.ascii {chosen.shape}; both are users × coats")
    about = {
        "name": name,
        "source": "Coat (Schnabel et al. 2016): labels are ratings of random coats",
        "language": "en",
        "statement": "How do you rate this coat?",
        "scale": {"min": 1, "max": _STARS},
        "relevant": _RELEVANT,
    }
    tables = {
        "labels": _ratings(random).rename(columns={"rating": "label"}).assign(rater=USER_RATER),
        "items": _features(source, "item", ITEM, random.shape[1]),
        "histories": _ratings(chosen),
        "profiles": _features(source, "user", USER, random.shape[0]),
    }
    return collected(about, tables, out, force=force)


def _matrix(path: Path) -> NDArray[np.int64]:
    try:
        found = np.loadtxt(path, dtype=np.int64, ndmin=2)
    except FileNotFoundError:
        raise DataError(f"there is no file {str(path)!r}; give the folder of the released files") from None
    except ValueError as error:
        raise DataError(f"{path.name} is no table of whole numbers: {str(error).splitlines()[0]}") from error
    if found.min() < 0 or found.max() > _STARS:
        raise DataError(f"{path.name} holds a number that is not from 0 to {_STARS}")
    return found


def _ratings(matrix: NDArray[np.int64]) -> pd.DataFrame:
    user, item = np.nonzero(matrix)
    ids = {USER: (user + 1).astype(str), ITEM: (item + 1).astype(str)}
    return pd.DataFrame(ids | {"rating": matrix[user, item]})


def _features(source: Path, of: str, key: str, rows: int) -> pd.DataFrame:
    """Return a row per user or item: ``key``, and a column per group of features, such as ``color``."""
    features = _matrix(source / f"{of}_features.ascii")
    names = (source / f"{of}_features_map.txt").read_text(encoding="utf-8").split("\n")
    named = [name.partition(":") for name in names if name.strip()]
    expected = (rows, len(named))
    if features.shape != expected:
        raise DataError(f"{of}_features.ascii has the shape {features.shape}; it should be {expected}")
    values = {group: [""] * rows for group, _, _ in named}
    for row, column in zip(*np.nonzero(features), strict=True):
        group, _, value = named[column]
        values[group][row] += f", {value}" if values[group][row] else value
    return pd.DataFrame({key: [str(n + 1) for n in range(rows)], **values})
