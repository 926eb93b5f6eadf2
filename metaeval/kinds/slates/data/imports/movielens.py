"""MovieLens → duels: the newest ratings of a user are the candidates, those before them the history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metaeval.kinds.slates.data.imports.collecting import Candidates, collected, newest
from metaeval.kinds.slates.data.loading import refuse_if_in_the_way
from metaeval.kinds.slates.data.sampling import GAIN, Sampling
from metaeval.kinds.slates.data.slate_set import Domain
from metaeval.kinds.slates.data.utilities import rescaled
from metaeval.sources.movielens import LICENCE, read_movielens

if TYPE_CHECKING:
    import os

    from metaeval.kinds.files.loading import Imported
    from metaeval.kinds.slates.data.slate_set import SlateSet

FILMS = Domain(
    platform="a large film catalogue",
    noun="film",
    plural="films",
    liked="rating in stars",
    popularity="well-known, well-regarded films",
    diversity="different genres, decades and moods",
)


def import_movielens(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    how: Sampling | None = None,
    *,
    name: str | None = None,
    force: bool = False,
) -> Imported[SlateSet]:
    """Make duels of a release of MovieLens, with files ``.csv`` or, as 1M and 10M, ``.dat``.

    Parameters
    ----------
    folder
        Of the release.
    out
        The folder to write.
    how
        How to draw.
    name
        Of the data set; the name of the folder, if None.

    Raises
    ------
    DataError
        If a file is missing or wrong, or no duel can be made.
    """
    refuse_if_in_the_way(Path(out), force=force)
    how = how or Sampling()
    release = read_movielens(Path(folder))
    stars = release.ratings["rating"].to_numpy()
    halves = bool((stars % 1 != 0).any())
    low, high = 0.5 if halves else 1.0, 5.0
    rated = release.ratings.assign(**{GAIN: np.clip(rescaled(stars, low, high), 0, 1)})
    candidates, histories = newest(rated, "timestamp", how)
    about = {
        "name": name,
        "licence": LICENCE,
        "source": f"MovieLens, {Path(folder).resolve().name}",
        "language": "en",
        "domain": FILMS._asdict(),
        "history_scale": {"min": low, "max": high, "integer": not halves},
    }
    found = Candidates(candidates, histories.drop(columns=GAIN), release.items, release.profiles)
    return collected(about, found, out, how, force=force)
