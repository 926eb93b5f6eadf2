"""MovieLens → a collection: the newest ratings are labels, the older ones histories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, sound
from metaeval.base.records import USER_RATER
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, USER
from metaeval.kinds.relevance.data.imports.collecting import ImportedCollection, collected
from metaeval.kinds.relevance.data.loading import refuse_if_in_the_way
from metaeval.sources.tables.columns import number_column, text_column
from metaeval.sources.tables.table import read_table

if TYPE_CHECKING:
    import os

Split = Literal["user", "time"]
_NAMES = {"userId": USER, "movieId": ITEM}
_LABELS = {str(half): f"{half / 2:g} star{'' if half == 2 else 's'}" for half in range(1, 11)}
_RELEVANT = 8  # four stars
_TAGS = 10
_YEAR = r"\s*\((\d{4})\)\s*$"


def import_movielens(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    newest: float = 0.2,
    split: Split = "user",
    users: int | None = None,
    seed: int = 0,
    name: str | None = None,
    force: bool = False,
) -> ImportedCollection:
    """Make a collection of a release of MovieLens with ``ratings.csv`` and ``movies.csv``.

    A label is a rating in half stars, 1 to 10. Items have ``title``, ``year``, ``genres``, ``tags`` (the
    most frequent), ``average_rating`` and ``number_of_ratings``; labels do not count in them, nor do tags of
    a user who labels the item.

    Parameters
    ----------
    folder
        Of the release; ``tags.csv`` may be missing.
    out
        The folder to write.
    newest
        The share of the ratings that are labels.
    split
        ``user``: the newest of each user; ``time``: the newest of all, so that histories end before the first
        label.
    users
        How many users to draw; all, if None. Others' ratings count in the fields of the items alone.
    seed
        Of that draw.
    name
        Of the data set; the name of the folder, if None.

    Raises
    ------
    DataError
        If a file is missing or wrong, or ``newest`` leaves no labels.
    """
    refuse_if_in_the_way(Path(out), force=force)
    source = Path(folder)
    ratings = _read(source / "ratings.csv", ("userId", "movieId"), ("rating", "timestamp"))
    movies = _read(source / "movies.csv", ("movieId", "title", "genres"), ())
    ordered = ratings.sort_values(["timestamp", *KEYS], kind="stable", ignore_index=True)
    label = _newest(ordered, newest, split)
    shown = ordered[~label]
    items = movies.set_index(ITEM)
    items.insert(1, "year", items["title"].str.extract(_YEAR)[0].fillna(""))
    items["title"] = items["title"].str.replace(_YEAR, "", regex=True)
    items["genres"] = items["genres"].str.replace("|", ", ").replace("(no genres listed)", "")
    if (source / "tags.csv").is_file():
        tags = _read(source / "tags.csv", ("userId", "movieId", "tag"), ())
        items["tags"] = _tags(tags, ordered[label]).reindex(items.index, fill_value="")
    of_item = shown.groupby(ITEM)["rating"]
    items["average_rating"] = of_item.mean().map("{:.1f}".format).reindex(items.index, fill_value="")
    items["number_of_ratings"] = of_item.size().reindex(items.index, fill_value=0).astype(str)
    chosen = _drawn(ordered, users, seed)
    labels = ordered[label & chosen]
    if labels.empty:
        raise DataError(f"no rating becomes a label with newest={newest:g}; give more")
    first = labels["timestamp"].min()
    when = (
        "the newest of each user"
        if split == "user"
        else f"all since {pd.Timestamp(first, unit='s'):%Y-%m-%d}"
    )
    about = {
        "name": name or Path(out).resolve().name,
        "licence": "research, no commercial use; see README.txt of the release",
        "source": f"MovieLens, {source.resolve().name}; labels: {when} (share {newest:g})",
        "language": "en",
        "statement": "How does the user rate the film, in half stars?",
        "scale": {"min": 1, "max": 10},
        "labels": _LABELS,
        "relevant": _RELEVANT,
    }
    tables = {
        "labels": labels[[*KEYS]].assign(rater=USER_RATER, label=2 * labels["rating"]),
        "items": items.reset_index(),
        "histories": ordered[~label & chosen],
    }
    told = f"{counted(len(labels), 'label')}: {when}; the ratings before them are histories"
    return collected(about, tables, out, notes=[told], force=force)


def _read(path: Path, texts: tuple[str, ...], numbers: tuple[str, ...]) -> pd.DataFrame:
    """Return the columns of a file of the release, ids by our names."""
    table = sound(read_table(path)) if path.is_file() else None
    if table is None:
        raise DataError(f"there is no file {str(path)!r}; give the folder of a release of MovieLens")
    lacking = [c for c in (*texts, *numbers) if c not in table.frame.columns]
    if lacking:
        raise DataError([Problem(path.name, 1, column, "is missing") for column in lacking])
    columns: dict[str, Any] = {}
    problems: list[Problem] = []
    for column in (*texts, *numbers):
        read = text_column if column in texts else number_column
        columns[_NAMES.get(column, column)], found = read(table, column)
        problems += found
    if problems:
        raise DataError(problems)
    return pd.DataFrame(columns).astype({_NAMES.get(c, c): "str" for c in texts})


def _newest(ordered: pd.DataFrame, share: float, split: Split) -> pd.Series[bool]:
    """Say which ratings, in the order of time, are labels."""
    if split == "time":
        return pd.Series(np.arange(len(ordered)) >= round((1 - share) * len(ordered)))
    of_user = ordered.groupby(USER)
    return of_user.cumcount(ascending=False) < (share * of_user[ITEM].transform("size")).round()


def _drawn(ratings: pd.DataFrame, users: int | None, seed: int) -> pd.Series[bool]:
    names = np.sort(ratings[USER].unique())
    if users is None or users >= len(names):
        return pd.Series(True, index=ratings.index)
    drawn = np.random.default_rng(seed).permutation(len(names))[:users]
    return ratings[USER].isin(names[drawn])


def _tags(tags: pd.DataFrame, labelled: pd.DataFrame) -> pd.Series[str]:
    """Return the most frequent tags of each item, without those of users who label it."""
    own = pd.MultiIndex.from_frame(tags[[*KEYS]]).isin(pd.MultiIndex.from_frame(labelled[[*KEYS]]))
    words = tags[~own].assign(tag=tags["tag"].str.casefold().str.strip())
    counts = words.groupby([ITEM, "tag"]).size().rename("n").reset_index()
    ranked = counts.sort_values([ITEM, "n", "tag"], ascending=[True, False, True])
    return ranked.groupby(ITEM).head(_TAGS).groupby(ITEM)["tag"].agg(", ".join)
