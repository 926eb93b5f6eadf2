"""Releases as tables: of MovieLens (``ratings.csv`` and its like, or ``.dat`` as 1M and 10M), of Coat."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError, Problem, sound
from metaeval.data.tables.columns import number_column, text_column, time_column
from metaeval.data.tables.table import read_headerless, read_table

LICENCE = "research, no commercial use; see the README of the release"
USER, ITEM = "user_id", "item_id"
_NAMES = {"userId": USER, "movieId": ITEM}
_YEAR = r"\s*\((\d{4})\)\s*$"
_COLUMNS = {
    "ratings": ("userId", "movieId", "rating", "timestamp"),
    "movies": ("movieId", "title", "genres"),
    "tags": ("userId", "movieId", "tag", "timestamp"),
    "users": ("userId", "gender", "age", "occupation", "zip"),
}
"""File → the fields of its lines, where it has no header."""
_NUMBERS = ("rating", "timestamp")
_AGES = {"1": "under 18", "18": "18 to 24", "25": "25 to 34", "35": "35 to 44", "45": "45 to 49"}
_AGES |= {"50": "50 to 55", "56": "56 or more"}
_OCCUPATIONS = (
    "other", "academic or educator", "artist", "clerical or admin", "college or graduate student",
    "customer service", "doctor or health care", "executive or managerial", "farmer", "homemaker",
    "school student", "lawyer", "programmer", "retired", "sales or marketing", "scientist",
    "self-employed", "technician or engineer", "tradesman or craftsman", "unemployed", "writer"
)  # fmt: skip
_GENDERS = {"F": "female", "M": "male"}


class Release(NamedTuple):
    """What a release says, with ``user_id`` and ``item_id`` as text."""

    ratings: pd.DataFrame
    """``user_id``, ``item_id``, ``rating``, ``timestamp``, in the order of time."""
    items: pd.DataFrame
    """``item_id``, ``title``, ``year``, ``genres``."""
    tags: pd.DataFrame | None
    """``user_id``, ``item_id``, ``tag``."""
    profiles: pd.DataFrame | None
    """``user_id``, ``gender``, ``age``, ``occupation``."""


def read_movielens(folder: Path) -> Release:
    """Read a release."""
    ratings = _read(folder, "ratings", ("userId", "movieId", *_NUMBERS))
    movies = _read(folder, "movies", ("movieId", "title", "genres"))
    if ratings is None or movies is None:
        lacking = "ratings" if ratings is None else "movies"
        raise DataError(
            f"there is no file {lacking}.csv or {lacking}.dat in {str(folder)!r}; "
            "give the folder of a release of MovieLens"
        )
    ordered = ratings.sort_values(["timestamp", USER, ITEM], kind="stable", ignore_index=True)
    movies.insert(2, "year", movies["title"].str.extract(_YEAR)[0].fillna(""))
    movies["title"] = movies["title"].str.replace(_YEAR, "", regex=True)
    movies["genres"] = movies["genres"].str.replace("|", ", ").replace("(no genres listed)", "")
    users = _read(folder, "users", _COLUMNS["users"][:-1])
    if users is not None:
        occupations = {str(code): name for code, name in enumerate(_OCCUPATIONS)}
        for field, names in (("gender", _GENDERS), ("age", _AGES), ("occupation", occupations)):
            users[field] = users[field].map(names).fillna(users[field])
    return Release(ordered, movies, _read(folder, "tags", ("userId", "movieId", "tag")), users)


def _read(folder: Path, name: str, columns: tuple[str, ...]) -> pd.DataFrame | None:
    """Return columns of a file of the release, ids by our names; None if there is no such file."""
    csv, dat = folder / f"{name}.csv", folder / f"{name}.dat"
    if csv.is_file():
        table = sound(read_table(csv))
    elif dat.is_file():
        table = sound(read_headerless(dat, _COLUMNS[name], "::", latin=True))
    else:
        return None
    lacking = [c for c in columns if c not in table.frame.columns]
    if lacking:
        raise DataError([Problem(table.name, 1, column, "is missing") for column in lacking])
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for column in columns:
        read = {"timestamp": time_column, "rating": number_column}.get(column, text_column)
        found[_NAMES.get(column, column)], wrong = read(table, column)
        problems += wrong
    if problems:
        raise DataError(problems)
    texts = [_NAMES.get(c, c) for c in columns if c not in _NUMBERS]
    return pd.DataFrame(found).astype(dict.fromkeys(texts, "str"))


STARS = 5
"""The highest rating; the lowest is 1."""


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
    profiles, fields = _features(source, "user", USER, users), _features(source, "item", ITEM, items)
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
    user, item = (release.chosen[key].astype(np.int64).to_numpy() - 1 for key in (USER, ITEM))
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
