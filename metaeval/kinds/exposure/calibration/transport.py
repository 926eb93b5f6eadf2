"""Whether a map that was fitted on other data predicts a held-out group, against a margin.

The group is a bin of items, a segment of users or the later half of the log. The map from a judge's scores to
targets is fitted without the group, and predicts the target of each recommender within it. The intervals of
all errors hold at once (Bonferroni's correction over recommenders), users resampled:

- **transports**: every interval lies within ± the margin;
- **does not**: an interval lies wholly beyond the margin;
- **inconclusive**: neither, or no score of the group is in the range that was fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from metaeval.kinds.exposure.calibration.link import LEAST
from metaeval.stats.regression.isotonic import isotonic
from metaeval.stats.resampling.threads import one_thread
from metaeval.stats.resampling.weights import percentile_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Resampler, Statistic

_FITTED = 1_000  # resamples at most: each fits a map


class Transport(StrEnum):
    """What an audit finds."""

    TRANSPORTS = "transports"
    DOES_NOT = "does not"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, eq=False)
class TransportErrors:
    """What a map of the rest predicts for recommenders in a group, less what the group's targets are."""

    score: Statistic
    target: Statistic
    group_score: Statistic
    group_target: Statistic

    def at(self, weights: Floats) -> Floats:
        """Return the error of each recommender under each column of weights, shape (systems, columns)."""
        parts = [s.at(weights) for s in (self.score, self.target, self.group_score, self.group_target)]
        found = np.full_like(parts[0], np.nan)
        for c in range(weights.shape[1]):
            x, y, own_x, own_y = (part[:, c] for part in parts)
            there = ~np.isnan(x + y)
            if there.any():
                found[:, c] = isotonic(x[there], y[there])(own_x) - own_y
        return found

    def outside(self, weights: Floats) -> NDArray[np.bool_]:
        """Say which scores in the group are out of the range that was fitted, shape (systems,)."""
        x, y, own = (s.at(weights)[:, 0] for s in (self.score, self.target, self.group_score))
        known = x[~np.isnan(x + y)]
        low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
        return np.asarray(np.isnan(own) | (own < low) | (own > high))


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found of one group."""

    outcome: Transport
    system: int
    """The recommender whose interval reaches furthest; -1 if there is none."""
    error: float
    low: float
    high: float
    n_systems: int
    n_outside: int
    reason: str


@one_thread()
def audit(errors: TransportErrors, margin: float, resampler: Resampler) -> Audit:
    """Hold the errors of a group against a margin.

    Parameters
    ----------
    margin
        The largest error that does not matter, on the scale of the target.
    resampler
        Users; its confidence is that of all intervals together.
    """
    ones = np.ones((resampler.n_clusters, 1))
    value, outside = errors.at(ones)[:, 0], errors.outside(ones)
    fitted = int((~np.isnan(errors.score.at(ones) + errors.target.at(ones))).sum())
    there = ~np.isnan(value) & ~outside
    n, n_outside = int(there.sum()), int((outside & ~np.isnan(errors.group_target.at(ones)[:, 0])).sum())
    if fitted < LEAST or not n:
        few = f"{fitted} recommenders to fit a map on (at least {LEAST})"
        why = few if fitted < LEAST else "every score in the group is outside the range that was fitted"
        return Audit(Transport.INCONCLUSIVE, -1, np.nan, np.nan, np.nan, n, n_outside, why)
    fewer = resampler.at_most(_FITTED)
    level = 1 - (1 - fewer.level) / n
    low, high = percentile_interval(fewer.replicates(errors)[there], level)
    reach = np.maximum(np.abs(low), np.abs(high))
    beyond = np.maximum(low, -high)  # the least |error| of an interval without 0
    outcome, reason, worst = Transport.INCONCLUSIVE, "", int(np.nan_to_num(reach, nan=-1).argmax())
    if (beyond > margin).any():
        outcome, worst = Transport.DOES_NOT, int(np.nan_to_num(beyond, nan=-np.inf).argmax())
    elif (reach < margin).all():
        outcome = Transport.TRANSPORTS
    else:
        reason = "an interval reaches over the margin"
    at = int(np.flatnonzero(there)[worst])
    return Audit(outcome, at, float(value[at]), float(low[worst]), float(high[worst]), n, n_outside, reason)
