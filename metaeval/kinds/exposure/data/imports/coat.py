"""Coat → a log: ratings of coats that users chose, with the released propensities, and of random coats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.kinds.exposure.data.loading import log_of, refuse_if_in_the_way, save
from metaeval.kinds.exposure.data.log_set import OUTCOME, PROPENSITY
from metaeval.kinds.files.loading import Imported
from metaeval.sources.coat import STARS, chosen_propensities, read_coat

if TYPE_CHECKING:
    import os

    from metaeval.kinds.exposure.data.log_set import LogSet

_POSITIVE = 4


def import_coat(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    name: str = "coat",
    force: bool = False,
) -> Imported[LogSet]:
    """Make a log of the released files of Coat.

    ``train.ascii`` gives the log and ``propensities.ascii``, or ``.gz``, the propensity of each of its rows;
    ``test.ascii``, ratings of random coats, the random sample; the features the fields of items and profiles.

    Raises
    ------
    DataError
        If a file is missing, or is not as released.
    """
    refuse_if_in_the_way(Path(out), force=force)
    release = read_coat(folder)
    about = {
        "name": name,
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
    data = log_of(about, tables)
    save(data, out, force=force)
    return Imported(data, ())
