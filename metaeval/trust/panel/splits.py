"""The disagreement of a panel of judges on each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Disagreement on each of N units, shape (N,); NaN where fewer than two members gave a score."""

    n_members: Ints
    """Members that scored the unit."""
    range: Floats
    """Highest minus lowest score."""
    sd: Floats
    """Population standard deviation over the members."""
    off_majority: Floats
    """Share of the members who did not give the modal score."""
    split: Floats
    """Ordinal disagreement: 0 if all gave the same score, 1 if half gave each end of the scale."""


def splits(scores: Floats, least: float | Floats, most: float | Floats) -> Splits:
    """Measure the disagreement of K members on N units.

    Parameters
    ----------
    scores
        Shape (K, N); NaN for a missing score.
    least, most
        The ends of the scale, or of that of each unit, shape (N,).

    Notes
    -----
    Ordinal disagreement is D of Leik (1966, Pacific Sociological Review 9, 85), 2 Σ min(F, 1 - F) / (m - 1)
    over the m ratings of a scale, F being the share of the members at or below one. The sum is the mean
    absolute deviation from the median, so D = 2 · deviation / (most - least), for any scores on the scale.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or not np.all(np.greater(most, least)):
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

    median = ordered[last // 2, columns]  # any median has the same mean deviation
    votes = (values[:, None] == values[None]).sum(axis=0)
    most_votes = np.where(there, votes, 0).max(axis=0, initial=0)
    return Splits(
        n,
        of_units(ordered[last, columns] - ordered[0]),
        of_units(np.sqrt(mean((values - mean(values)) ** 2))),
        of_units(1 - most_votes / np.maximum(n, 1)),
        of_units(2 * mean(np.abs(values - median)) / (most - least)),
    )
