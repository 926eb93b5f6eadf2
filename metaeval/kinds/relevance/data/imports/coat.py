"""Coat → a collection: the random ratings are labels, the self-chosen ones histories."""

from __future__ import annotations

import os

from metaeval.base.records import USER_RATER
from metaeval.data.imports import Files
from metaeval.data.released import STARS, read_coat
from metaeval.kinds.relevance.data.loading import importer_of_labels

_RELEVANT = 4


@importer_of_labels
def import_coat(folder: str | os.PathLike[str]) -> Files:
    """Make a collection of the released files of Coat.

    ``test.ascii``, ratings of random coats, gives the labels; ``train.ascii``, of coats that users chose, the
    histories; the features give the fields of items and the profiles of users. A user or coat is named by its
    row, from 1.

    Raises
    ------
    DataError
        If a file is missing, or is not as released.
    """
    release = read_coat(folder)
    about = {
        "name": "coat",
        "source": "Coat (Schnabel et al. 2016): labels are ratings of random coats",
        "language": "en",
        "statement": "How do you rate this coat?",
        "scale": {"min": 1, "max": STARS},
        "relevant": _RELEVANT,
    }
    tables = {
        "labels": release.random.rename(columns={"rating": "label"}).assign(rater=USER_RATER),
        "items": release.items,
        "histories": release.chosen,
        "profiles": release.profiles,
    }
    return Files(about, tables)
