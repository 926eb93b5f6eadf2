"""The exposure model: which users and items a log holds, among all that it could hold.

Every user could have been shown every item. A case is a user and an item that the log has, at the time of the
first such row. Beside each case ``negatives`` items are drawn at random, with replacement, and those that the
user was never shown are kept, as of the same time. Each stands for m / k of them, where the user was never
shown m items and k of those drawn are kept. So the sample adds up to all users × all items, and a regression
with these weights estimates the probability itself, not only up to the intercept. Of a log with many cases,
users are drawn whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.propensity.features import Features
from metaeval.stats.regression.propensity import (
    BinnedCalibration,
    LogisticModel,
    calibration_of,
    cross_fitted,
)

if TYPE_CHECKING:
    from metaeval.kinds.exposure.propensity.exposures import Exposures
    from metaeval.kinds.exposure.propensity.options import PropensityOptions
    from metaeval.stats.coefficients.tables import Floats, Ints

CASES = 100_000
"""Cases that a model is fitted to at most, but for those of the last user drawn."""
_PART = 2**20  # rows predicted at a time


class Cases(NamedTuple):
    """Cases and the negatives beside them."""

    features: Floats
    exposed: Ints
    weight: Floats
    user: Ints
    users: int
    """How many users it has."""


@dataclass(frozen=True, slots=True, eq=False)
class ExposureModel:
    """Fitted propensities: the probability that a log holds a user and an item."""

    features: Features
    sample: Cases
    logistic: LogisticModel
    options: PropensityOptions

    def of_log(self) -> Floats:
        """Return the propensity of each row, by a model that was fitted without its user."""
        of = self.features.of
        found = np.empty(len(of))
        for start in range(0, len(of), _PART):
            at = slice(start, start + _PART)
            time = None if of.time is None else of.time[at]
            rows = self.features.rows(of.user[at], of.item[at], time, of.repeats[at])
            found[at] = self.logistic.probability(rows, of.user[at])
        return found

    def refitted(self, users: Floats) -> ExposureModel:
        """Return the same, fitted again with each user counted so many times."""
        return replace(self, logistic=_fit(self.sample, self.options, users))

    def calibration(self) -> BinnedCalibration:
        """Hold cross-fitted probabilities of the sample against what was exposed."""
        found = self.logistic.probability(self.sample.features, self.sample.user)
        return calibration_of(found, self.sample.exposed, self.sample.weight)

    def coefficients(self) -> pd.DataFrame:
        """Return log odds per unit of each feature: the mean over folds, and their least and largest."""
        rows = np.column_stack([self.logistic.intercepts, self.logistic.slopes])
        spread = np.sqrt(np.average(self.sample.features**2, axis=0, weights=self.sample.weight))
        return pd.DataFrame(
            {
                "feature": ["intercept", *self.features.names],
                "coefficient": rows.mean(axis=0),
                "least": rows.min(axis=0),
                "largest": rows.max(axis=0),
                "root_mean_square": [1.0, *spread],
            }
        )


def exposure_model(of: Exposures, options: PropensityOptions) -> ExposureModel:
    """Fit the probability that a log holds a user and an item.

    Raises
    ------
    MetaevalError
        If the log names fewer than three users, has nothing for any of the features, or shows every user
        every item.
    """
    of.need_users("fitted propensities")
    features = Features(of, options.features)
    if not features.names:
        raise MetaevalError(
            f"the log has no data for the features {', '.join(options.features)}; name others"
        )
    sample = _sample(of, features, options)
    return ExposureModel(features, sample, _fit(sample, options, np.ones(of.n_clusters)), options)


def _fit(sample: Cases, options: PropensityOptions, users: Floats) -> LogisticModel:
    try:
        return cross_fitted(
            sample.features,
            sample.exposed,
            sample.weight * users[sample.user],
            sample.user,
            n_clusters=len(users),
            folds=options.folds,
            seed=options.seed,
        )
    except ValueError as error:
        raise MetaevalError(
            "propensities cannot be fitted: the log shows nearly every user every item"
        ) from error


def _sample(of: Exposures, features: Features, options: PropensityOptions) -> Cases:
    draw = np.random.default_rng([options.seed, 16])
    n_items = len(of.items)
    chosen = draw.permutation(of.n_clusters)
    many = np.cumsum(np.bincount(of.user, minlength=of.n_clusters)[chosen])
    drawn = np.zeros(of.n_clusters, dtype=bool)
    drawn[chosen[: 1 + int(np.searchsorted(many, CASES))]] = True
    rows = of.first_rows(np.flatnonzero(drawn[of.user]))
    user, cases = of.user[rows].astype(np.int64), of.pair[rows]
    items = draw.integers(0, n_items, (len(rows), options.negatives))
    beside = np.repeat(np.arange(len(rows)), options.negatives)
    codes = user[beside] * n_items + items.ravel()
    unseen = ~np.isin(codes, cases)
    beside, item = beside[unseen], items.ravel()[unseen]
    n_cases = np.bincount(user, minlength=of.n_clusters)
    kept = np.bincount(user[beside], minlength=of.n_clusters)
    weight = (n_items - n_cases)[user[beside]] / kept[user[beside]]
    both = np.concatenate([user, user[beside]])
    time = None if of.time is None else np.concatenate([of.time[rows], of.time[rows][beside]])
    own = np.concatenate([of.repeats[rows], np.zeros(len(beside), dtype=np.int32)])
    return Cases(
        features.rows(both, np.concatenate([of.item[rows], item]), time, own),
        np.concatenate([np.ones(len(rows), dtype=np.int64), np.zeros(len(beside), dtype=np.int64)]),
        np.concatenate([np.ones(len(rows)), weight]),
        both,
        int(drawn.sum()),
    )
