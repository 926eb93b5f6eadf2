"""Coat, as released: ratings of coats that users chose and of random ones, features, and propensities.

A user or coat is named by its row, from 1.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError

STARS = 5
"""The highest rating; the lowest is 1."""
_USER, _ITEM = "user_id", "item_id"


@dataclass(frozen=True, slots=True, eq=False)
class CoatRelease:
    """The released files as tables."""

    random: pd.DataFrame
    """``user_id``, ``item_id``, ``rating`` of random coats; ``chosen`` of coats that users chose."""
    chosen: pd.DataFrame
    items: pd.DataFrame
    """A row per coat, as ``profiles`` per user; a column per group of features, such as ``color``."""
    profiles: pd.DataFrame
    shape: tuple[int, int]
    """How many users and coats there are."""


def read_coat(folder: str | os.PathLike[str]) -> CoatRelease:
    """Read the released files, without propensities."""
    source = Path(folder)
    random, chosen = (_matrix(source / f"{part}.ascii") for part in ("test", "train"))
    if random.shape != chosen.shape:
        raise DataError(f"test.ascii is {random.shape}, train.ascii {chosen.shape}; both are users × coats")
    users, items = random.shape
    profiles, fields = _features(source, "user", _USER, users), _features(source, "item", _ITEM, items)
    return CoatRelease(_ratings(random), _ratings(chosen), fields, profiles, (users, items))


def chosen_propensities(folder: str | os.PathLike[str], release: CoatRelease) -> NDArray[np.float64]:
    """Return the released propensity of each chosen rating: that the user rated this coat at all."""
    paths = [Path(folder) / f"propensities.ascii{suffix}" for suffix in ("", ".gz")]
    path = next((p for p in paths if p.is_file()), None)
    if path is None:
        raise DataError(f"there is no file {str(paths[0])!r} (or .gz); it holds the released propensities")
    try:
        found = np.loadtxt(path, ndmin=2)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path.name} is not a table of numbers: {str(error).splitlines()[0]}") from error
    if found.shape != release.shape:
        raise DataError(f"{path.name} has the shape {found.shape}; it should be {release.shape}")
    if not ((found > 0) & (found <= 1)).all():
        raise DataError(f"{path.name} holds a number that is not a probability above 0")
    user, item = (release.chosen[key].astype(np.int64).to_numpy() - 1 for key in (_USER, _ITEM))
    chosen: NDArray[np.float64] = found[user, item]
    return chosen


def _matrix(path: Path) -> NDArray[np.int64]:
    try:
        found = np.loadtxt(path, dtype=np.int64, ndmin=2)
    except FileNotFoundError:
        raise DataError(f"there is no file {str(path)!r}; give the folder of the released files") from None
    except ValueError as error:
        raise DataError(
            f"{path.name} is not a table of whole numbers: {str(error).splitlines()[0]}"
        ) from error
    if found.min() < 0 or found.max() > STARS:
        raise DataError(f"{path.name} holds a number that is not from 0 to {STARS}")
    return found


def _ratings(matrix: NDArray[np.int64]) -> pd.DataFrame:
    user, item = np.nonzero(matrix)
    ids = {_USER: (user + 1).astype(str), _ITEM: (item + 1).astype(str)}
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
