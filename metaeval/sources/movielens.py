"""A release of MovieLens as tables: of ``ratings.csv`` and its like, or ``ratings.dat`` as 1M and 10M."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from metaeval.base.errors import DataError, Problem, sound
from metaeval.sources.tables.columns import number_column, text_column
from metaeval.sources.tables.table import read_headerless, read_table
from metaeval.sources.tables.times import time_column

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
