"""What a slate is worth to a user: the mean gain of its items, or the nDCG of their order.

The gain of an item is from 0 to 1. Of a rating r on a scale from min to max it is (r − min) / (max − min),
of a click 1, and of a place in a reference order it falls from 1 for the first item to 1/n for the last of n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.kinds.slates.data.slate_set import BOTH, ORDERING, SET

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats

UTILITIES = {
    SET: "which items: the sum of rescaled ratings",
    ORDERING: "which order of the same items: nDCG, against the best order of these items",
    BOTH: "which items in which order: nDCG, against the best list of the user's candidates",
}
"""Task → what the utility of a slate is in it."""
_DIGITS = 12  # so that sums of the same gains in another order are equal


def rescaled(ratings: Floats, low: float, high: float) -> Floats:
    """Return ratings moved from a scale to 0 … 1."""
    return (ratings - low) / (high - low)


def by_position(users: pd.Series[str], positions: pd.Series[float]) -> pd.Series[float]:
    """Return the gains of places in a user's reference order, from 1 for the first to 1/n for the last."""
    place = positions.groupby(users).rank(method="dense")
    return 1 - (place - 1) / place.groupby(users).transform("max")


def total(gains: Floats) -> Floats:
    """Return the sum of the rescaled ratings r' = gain / K of slates, which lies in 0 … 1.

    Parameters
    ----------
    gains
        Of shape (slates, K): the gains of their items.
    """
    found: Floats = np.round(gains.mean(axis=-1), _DIGITS)
    return found


def ndcg(gains: Floats, candidates: Floats) -> Floats:
    """Return the nDCG of slates: the sum of gain / log2(place + 1), as a share of the greatest possible.

    Parameters
    ----------
    gains
        Of shape (slates, K): the gains of their items, in order.
    candidates
        The gains of the items of which the best list of K is made. If all are 0, so is the nDCG.
    """
    size = gains.shape[-1]
    discounts = 1 / np.log2(np.arange(2, size + 2))
    best = -np.sort(-candidates)[:size] @ discounts[: len(candidates)]
    found: Floats = np.round(gains @ discounts / best, _DIGITS) if best else np.zeros(gains.shape[:-1])
    return found


def utilities(task: str, gains: Floats, slates: NDArray[np.intp]) -> Floats:
    """Return the utility of slates: rows of places in a user's candidates, which have these gains."""
    match task:
        case "T1":
            return total(gains[slates])
        case "T2":
            return ndcg(gains[slates], gains[slates[0]])
    return ndcg(gains[slates], gains)
