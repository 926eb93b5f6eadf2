"""How far the members of a panel of judges disagree on each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """How far members differ over each of N units; NaN for units that fewer than two of them scored."""

    n_members: Ints
    """Members that scored the unit."""
    range: Floats
    """Highest less lowest score, in points of the scale."""
    sd: Floats
    """Standard deviation over the members, who are all there are (divided by n)."""
    off_majority: Floats
    """Share of the members who did not give the score that most gave."""
    split: Floats
    """Ordinal disagreement: 0 if all gave the same score, 1 if half gave each end of the scale."""


def splits(scores: Floats, least: float, most: float) -> Splits:
    """Measure the disagreement of K members over N units.

    Parameters
    ----------
    scores
        Shape (K, N); NaN where a member gave none.
    least, most
        The ends of the scale.

    Notes
    -----
    Ordinal disagreement is D of Leik (1966, Pacific Sociological Review 9, 85), 2 Σ min(F, 1 - F) / (m - 1)
    over the m ratings of a scale, F being the share of the members at or below one. The sum is the mean
    absolute deviation from the median. So D is twice that over the length of the scale, also for scores that
    lie between the ratings.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or not most > least:
        raise ValueError("scores must have two dimensions, and the scale a length")
    there = ~np.isnan(values)
    n = there.sum(axis=0)
    several = n >= 2
    columns = np.arange(values.shape[1])
    ordered = np.sort(values, axis=0)  # NaN last
    last = np.maximum(n - 1, 0)

    def of_units(found: Floats) -> Floats:
        return np.where(several, found, np.nan)

    def mean(of_members: Floats) -> Floats:
        total: Floats = np.where(there, of_members, 0.0).sum(axis=0) / np.maximum(n, 1)
        return total

    median = ordered[np.maximum(n - 1, 0) // 2, columns]  # any median has the same mean deviation
    votes = (values[:, None] == values[None]).sum(axis=0)
    most_votes = np.where(there, votes, 0).max(axis=0, initial=0)
    return Splits(
        n,
        of_units(ordered[last, columns] - ordered[0]),
        of_units(np.sqrt(mean((values - mean(values)) ** 2))),
        of_units(1 - most_votes / np.maximum(n, 1)),
        of_units(2 * mean(np.abs(values - median)) / (most - least)),
    )
