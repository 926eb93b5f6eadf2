"""Make the matched pairs of a log on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError
from metaeval.base.progress import progress
from metaeval.kinds.exposure.data.loading import load, put
from metaeval.kinds.exposure.pairs import PER_USER, matched_pairs
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.propensity.propensities import propensities_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.kinds.exposure.pairs import Bin, MatchedPairsFound


def make_pairs(
    place: str | os.PathLike[str],
    *,
    match: Sequence[Bin] | None = None,
    per_user: int = PER_USER,
    seed: int = 0,
    propensity: PropensityOptions | None = None,
    force: bool = False,
) -> MatchedPairsFound:
    """Match items of each user and write the table ``pairs`` into the folder of the log.

    Raises
    ------
    MetaevalError
        If there are pairs already, no two items match, or the log has no users or nothing for a bin.
    """
    folder = Path(place)
    if not folder.is_dir():  # what ships or lies on the hub is read only
        raise DataError(f"there is no folder {str(place)!r}; pairs are written into the folder of a log")
    data = load(place)
    if len(data) and not force:
        raise DataError(f"{place} has pairs already; replace them with --force")
    if data.scores is not None:
        raise DataError(f"{place} has recorded verdicts (scores) on pairs; remove them before making pairs")
    options = propensity or PropensityOptions(seed=seed)
    with progress("propensities"):
        given = propensities_of(data, options)
    with progress("pairs"):
        found = matched_pairs(given, match=match, per_user=per_user, seed=seed, floor=options.least)
    if not len(found.frame):
        raise DataError(f"no two items of a user match: {found.lines()[1]}; match on less with --match")
    put(folder, "pairs", found.frame, force=force)
    return found
