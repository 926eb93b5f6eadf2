"""MovieLens → duels: the newest ratings of a user are the candidates, those before them the history."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from metaeval.data.released import LICENCE, read_movielens
from metaeval.kinds.slates.data.imports.collecting import Candidates, importer_of_duels, newest
from metaeval.kinds.slates.data.sampling import GAIN, Sampling, rescaled
from metaeval.kinds.slates.data.slate_set import Domain

FILMS = Domain(
    platform="a large film catalogue",
    noun="film",
    plural="films",
    liked="rating in stars",
    popularity="well-known, well-regarded films",
    diversity="different genres, decades and moods",
)


@importer_of_duels
def import_movielens(folder: Path, how: Sampling) -> Candidates:
    """Read a release of MovieLens, with files ``.csv`` or, as 1M and 10M, ``.dat``.

    `DataError` is raised if a file is missing or wrong, or no duel can be made.
    """
    release = read_movielens(folder)
    stars = release.ratings["rating"].to_numpy()
    halves = bool((stars % 1 != 0).any())
    low, high = 0.5 if halves else 1.0, 5.0
    rated = release.ratings.assign(**{GAIN: np.clip(rescaled(stars, low, high), 0, 1)})
    candidates, histories = newest(rated, "timestamp", how)
    about = {
        "licence": LICENCE,
        "source": f"MovieLens, {folder.resolve().name}",
        "language": "en",
        "domain": FILMS._asdict(),
        "history_scale": {"min": low, "max": high, "integer": not halves},
    }
    known = histories.drop(columns=GAIN), release.items, release.profiles
    return Candidates(about, candidates, *known, ordered=False)
