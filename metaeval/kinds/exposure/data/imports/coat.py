"""Coat → a log: ratings of coats that users chose, with the released propensities, and of random coats."""

from __future__ import annotations

import os
from functools import partial

from metaeval.data.imports import Files, importer
from metaeval.data.released import STARS, chosen_propensities, read_coat
from metaeval.kinds.exposure.data.loading import FOLDER
from metaeval.kinds.exposure.data.log_set import OUTCOME, PROPENSITY

_POSITIVE = 4


@partial(importer, FOLDER)
def import_coat(folder: str | os.PathLike[str]) -> Files:
    """Make a log of the released files of Coat.

    ``train.ascii`` gives the log and ``propensities.ascii``, or ``.gz``, the propensity of each of its rows;
    ``test.ascii``, ratings of random coats, the random sample; the features the fields of items and profiles.
    Raises `DataError` if a file is missing, or is not as released.
    """
    release = read_coat(folder)
    about = {
        "name": "coat",
        "source": "Coat (Schnabel et al. 2016): ratings of coats that users chose, and of random ones",
        "language": "en",
        "statement": "How do you rate this coat?",
        "outcome": {"min": 1, "max": STARS},
        "positive": _POSITIVE,
        "exposure": "pair",
    }
    log = release.chosen.rename(columns={"rating": OUTCOME})
    tables = {
        "log": log.assign(**{PROPENSITY: chosen_propensities(folder, release)}),
        "items": release.items,
        "profiles": release.profiles,
        "test": release.random.rename(columns={"rating": OUTCOME}),
    }
    return Files(about, tables)
