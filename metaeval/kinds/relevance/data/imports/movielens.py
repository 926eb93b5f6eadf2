"""MovieLens → a collection: the newest ratings are labels, the older ones histories."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError
from metaeval.base.records import USER_RATER
from metaeval.data.imports import Files
from metaeval.data.released import LICENCE, read_movielens
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, USER, Split, newest_of
from metaeval.kinds.relevance.data.loading import importer_of_labels
from metaeval.stats.resampling.weights import drawn

_LABELS = {str(half): f"{half / 2:g} star{'' if half == 2 else 's'}" for half in range(1, 11)}
_RELEVANT = 8  # four stars
_TAGS = 10


@importer_of_labels
def import_movielens(
    folder: str | os.PathLike[str],
    *,
    newest: float = 0.2,
    split: Split = "user",
    users: int | None = None,
    seed: int = 0,
) -> Files:
    """Make a collection of a release of MovieLens, with files ``.csv`` or, as 1M and 10M, ``.dat``.

    A label is a rating in half stars, 1 to 10. Items have ``title``, ``year``, ``genres``, ``tags`` (the
    most frequent), ``average_rating`` and ``number_of_ratings``; labels do not count in them, nor do tags of
    a user who labels the item.

    Parameters
    ----------
    folder
        Of the release; tags and users may be missing.
    newest
        The share of the ratings that are labels.
    split
        ``user``: the newest of each user; ``time``: the newest of all, so that histories end before the first
        label.
    users
        How many users with labels to draw; all, if None. Others' ratings count in the fields of the items
        alone.
    seed
        Of that draw.

    Raises
    ------
    DataError
        If a file is missing or wrong, or ``newest`` leaves no labels.
    """
    source = Path(folder)
    release = read_movielens(source)
    ordered = release.ratings
    label = newest_of(ordered, newest, split)
    shown = ordered[~label]
    items = release.items.set_index(ITEM)
    if release.tags is not None:
        items["tags"] = _tags(release.tags, ordered[label]).reindex(items.index, fill_value="")
    of_item = shown.groupby(ITEM)["rating"]
    items["average_rating"] = of_item.mean().map("{:.1f}".format).reindex(items.index, fill_value="")
    items["number_of_ratings"] = of_item.size().reindex(items.index, fill_value=0).astype(str)
    chosen = ordered[USER].isin(drawn(ordered[label][USER].unique(), users, seed))
    labels = ordered[label & chosen]
    if labels.empty:
        raise DataError(f"no rating becomes a label with newest={newest:g}; give more")
    first = labels["timestamp"].min()
    since = f"all since {pd.Timestamp(first, unit='s'):%Y-%m-%d}"
    when = "the newest of each user" if split == "user" else since
    about = {
        "licence": LICENCE,
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
    if release.profiles is not None:
        tables["profiles"] = release.profiles
    note = f"{counted(len(labels), 'label')}: {when}; the ratings before them are histories"
    return Files(about, tables, [note])


def _tags(tags: pd.DataFrame, labelled: pd.DataFrame) -> pd.Series[str]:
    """Return the most frequent tags of each item, without those of users who label it."""
    own = pd.MultiIndex.from_frame(tags[[*KEYS]]).isin(pd.MultiIndex.from_frame(labelled[[*KEYS]]))
    words = tags[~own].assign(tag=tags["tag"].str.casefold().str.strip())
    counts = words.groupby([ITEM, "tag"]).size().rename("n").reset_index()
    ranked = counts.sort_values([ITEM, "n", "tag"], ascending=[True, False, True])
    return ranked.groupby(ITEM).head(_TAGS).groupby(ITEM)["tag"].agg(", ".join)
