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
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import OUTCOME, PROPENSITY, USER, LogSet
from metaeval.kinds.exposure.propensity.exposures import Exposures, Features
from metaeval.kinds.exposure.study import PropensityOptions
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.propensity import (
    BinnedCalibration,
    LogisticModel,
    calibration_of,
    cross_fitted,
)

MOST = 100
"""Different outcomes of naive Bayes, at most."""
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

    source: ClassVar[str] = "fitted"
    features: Features
    sample: Cases
    logistic: LogisticModel
    options: PropensityOptions

    def of_log(self) -> Floats:
        """Return the propensity of each row, by a model that was fitted without its user."""
        log = self.features.log
        probability = np.empty(len(log))
        for start in range(0, len(log), _PART):
            at = slice(start, start + _PART)
            time = None if log.time is None else log.time[at]
            rows = self.features.rows(log.user[at], log.item[at], time, log.repeats[at])
            probability[at] = self.logistic.probability(rows, log.user[at])
        return probability

    def refitted(self, users: Floats) -> ExposureModel:
        """Return the same, fitted again with each user counted so many times."""
        return replace(self, logistic=_fit(self.sample, self.options, users))

    @property
    def fitted_to(self) -> str:
        """What it was fitted to, in a sentence."""
        cases, n = int(self.sample.exposed.sum()), len(self.sample.exposed)
        return (
            f"Fitted to {cases:,} pairs of a user and an item of {self.sample.users:,} users, and "
            f"{n - cases:,} that were not shown, weighted to all of them; {self.options.folds} folds of "
            "users, each predicted and calibrated by a model fitted to the others."
        )

    def calibration(self) -> BinnedCalibration:
        """Hold cross-fitted probabilities of the sample against what was exposed."""
        sample = self.sample
        probability = self.logistic.probability(sample.features, sample.user)
        return calibration_of(probability, sample.exposed, sample.weight)

    def coefficients(self) -> pd.DataFrame:
        """Return log odds per unit of each feature: the mean over folds, and their least and largest."""
        rows = np.column_stack([self.logistic.intercepts, self.logistic.slopes])
        spread = np.sqrt(np.average(self.sample.features**2, axis=0, weights=self.sample.weight))
        ends = {"coefficient": rows.mean(axis=0), "least": rows.min(axis=0), "largest": rows.max(axis=0)}
        names = ["intercept", *self.features.names]
        return pd.DataFrame({"feature": names, **ends, "root_mean_square": [1.0, *spread]})


def exposure_model(log: Exposures, options: PropensityOptions) -> ExposureModel:
    """Fit the probability that a log holds a user and an item.

    Raises `MetaevalError` if the log names fewer than three users, has nothing for any of the features, or
    shows every user every item.
    """
    log.need_users("fitted propensities")
    features = Features(log, options.features)
    if not features.names:
        raise MetaevalError(
            f"the log has no data for the features {', '.join(options.features)}; name others"
        )
    sample = _sample(log, features, options)
    return ExposureModel(features, sample, _fit(sample, options, np.ones(log.n_clusters)), options)


def _fit(sample: Cases, options: PropensityOptions, users: Floats) -> LogisticModel:
    rows = sample.features, sample.exposed, sample.weight * users[sample.user], sample.user
    try:
        return cross_fitted(*rows, n_clusters=len(users), folds=options.folds, seed=options.seed)
    except ValueError as error:
        message = "propensities cannot be fitted: the log shows nearly every user every item"
        raise MetaevalError(message) from error


def _sample(log: Exposures, features: Features, options: PropensityOptions) -> Cases:
    draw = np.random.default_rng([options.seed, 16])
    n_items = len(log.items)
    chosen = draw.permutation(log.n_clusters)
    many = np.cumsum(np.bincount(log.user, minlength=log.n_clusters)[chosen])
    drawn = np.zeros(log.n_clusters, dtype=bool)
    drawn[chosen[: 1 + int(np.searchsorted(many, CASES))]] = True
    rows = log.first_rows(np.flatnonzero(drawn[log.user]))
    user, cases = log.user[rows].astype(np.int64), log.pair[rows]
    items = draw.integers(0, n_items, (len(rows), options.negatives))
    beside = np.repeat(np.arange(len(rows)), options.negatives)
    codes = user[beside] * n_items + items.ravel()
    unseen = ~np.isin(codes, cases)
    beside, item = beside[unseen], items.ravel()[unseen]
    n_cases = np.bincount(user, minlength=log.n_clusters)
    kept = np.bincount(user[beside], minlength=log.n_clusters)
    weight = (n_items - n_cases)[user[beside]] / kept[user[beside]]
    both = np.concatenate([user, user[beside]])
    time = None if log.time is None else np.concatenate([log.time[rows], log.time[rows][beside]])
    own = np.concatenate([log.repeats[rows], np.zeros(len(beside), dtype=np.int32)])
    return Cases(
        features.rows(both, np.concatenate([log.item[rows], item]), time, own),
        np.concatenate([np.ones(len(rows), dtype=np.int64), np.zeros(len(beside), dtype=np.int64)]),
        np.concatenate([np.ones(len(rows)), weight]),
        both,
        int(drawn.sum()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayes:
    """Propensities that depend on the outcome alone, from a random sample (Schnabel et al. 2016, section 5).

    P(in the log | outcome) = P(outcome | in the log) · P(in the log) / P(outcome); the last one is of the
    random sample.
    """

    source: ClassVar[str] = "naive-bayes"
    log: Exposures
    values: Floats
    """Each outcome that there is."""
    logged: Floats
    """How many pairs of each user have each outcome in the log, shape (users, values)."""
    sampled: Floats
    """The same of the random sample."""
    users: Floats
    """How often each user counts, shape (users,)."""

    def by_value(self) -> Floats:
        """Return the propensity of each outcome."""
        logged, sampled = self.users @ self.logged, self.users @ self.sampled
        seen = logged / (self.users.sum() * len(self.log.items))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.clip(seen / (sampled / sampled.sum()), 0.0, 1.0))

    def of_log(self) -> Floats:
        """Return the propensity of each row."""
        return self.by_value()[np.searchsorted(self.values, self.log.outcome)]

    def refitted(self, users: Floats) -> NaiveBayes:
        """Return the same with each user counted so many times."""
        return replace(self, users=users)

    @property
    def fitted_to(self) -> str:
        """What it was fitted to, in a sentence."""
        return (
            "Naive Bayes (Schnabel et al. 2016): the propensity of an outcome is its share in the log, times "
            "the log's share of all pairs, divided by its share in the random sample "
            f"({self.sampled.sum():,.0f} outcomes)."
        )

    def coefficients(self) -> pd.DataFrame:
        """Return the log odds of each outcome; the root mean square is of its indicator in the sample."""
        p = np.clip(self.by_value(), 1e-12, 1 - 1e-12)
        odds = np.log(p / (1 - p))
        spread = np.sqrt(self.sampled.sum(axis=0) / self.sampled.sum())
        names = [f"{OUTCOME} {value:g}" for value in self.values]
        ends = {"coefficient": odds, "least": odds * np.nan, "largest": odds * np.nan}
        return pd.DataFrame({"feature": names, **ends, "root_mean_square": spread})


def naive_bayes(log: Exposures, test: pd.DataFrame | None) -> NaiveBayes:
    """Estimate propensities from a random sample; `MetaevalError` if there is none or it lacks an outcome."""
    log.need_users("propensities by naive Bayes")
    if test is None:
        raise MetaevalError("propensities by naive Bayes need outcomes of random items: a table `test`")
    values = np.union1d(log.outcome, test[OUTCOME])
    if len(values) > MOST:
        raise MetaevalError(f"naive Bayes needs at most {MOST} different outcomes; there are {len(values):,}")
    if len(lacking := np.setdiff1d(log.outcome, test[OUTCOME])):
        raise MetaevalError(
            f"the random sample has no outcome {lacking[0]:g}, which the log has; naive Bayes needs every one"
        )
    shape = (log.n_clusters, len(values))
    logged, sampled = np.zeros(shape), np.zeros(shape)
    np.add.at(logged, (log.user, np.searchsorted(values, log.outcome)), 1 / log.repeats)
    rows = log.users.get_indexer(pd.Index(test[USER])), np.searchsorted(values, test[OUTCOME])
    np.add.at(sampled, rows, 1)
    return NaiveBayes(log, values, logged, sampled, np.ones(log.n_clusters))


@dataclass(frozen=True, slots=True, eq=False)
class Propensities:
    """With what probability each row of a log came to be in it."""

    log: Exposures
    probability: Floats
    """Shape (n,), above 0 and 1 at most."""
    exposure: str
    """``choice``: the probability that the row's item was chosen for it. ``pair``: that the log has the user
    and the item at all; fitted ones are such."""
    model: ExposureModel | NaiveBayes | None = None
    """What they were fitted by; None if they were logged."""

    @property
    def source(self) -> str:
        """``logged``, ``fitted`` or ``naive-bayes``."""
        return "logged" if self.model is None else self.model.source

    @property
    def weight(self) -> Floats:
        """The weight of each row where every item counts alike.

        Of choices it is (1 / items) / p, about 1 in the mean. Of pairs it is 1 / (p · rows of the pair): the
        number of pairs of a user and an item that the row stands for.
        """
        if self.exposure == "choice":
            return 1 / (self.probability * len(self.log.items))
        return 1 / (self.probability * self.log.repeats)

    def refitted(self, users: Floats) -> Propensities:
        """Return fitted ones, fitted again with each user counted so many times; logged ones as they are."""
        if self.model is None:
            return self
        model = self.model.refitted(users)
        return replace(self, probability=model.of_log(), model=model)

    @property
    def expected(self) -> float:
        """What the weights on each item should add up to."""
        return (
            len(self.log) / len(self.log.items) if self.exposure == "choice" else float(len(self.log.users))
        )

    @property
    def by_user(self) -> Floats:
        """What the weights of each user should add up to."""
        if self.exposure == "choice":
            return np.bincount(self.log.user, minlength=self.log.n_clusters).astype(np.float64)
        return np.full(self.log.n_clusters, float(len(self.log.items)))


def propensities_of(data: LogSet, options: PropensityOptions) -> Propensities:
    """Return the propensities of a log: logged ones where there are any, unless fitted ones are wanted.

    Raises `MetaevalError` if logged ones are wanted and there are none, or they cannot be fitted.
    """
    log = Exposures.of(data)
    logged = PROPENSITY in data.log
    if options.source == "logged" and not logged:
        raise MetaevalError(
            f"the log of {data.name} has no column {PROPENSITY!r}; fit propensities instead (source: fitted)"
        )
    if logged and options.source in (None, "logged"):
        if data.exposure == "pair":
            log.need_users("propensities of pairs")
        return Propensities(log, data.log[PROPENSITY].to_numpy(), data.exposure)
    by_outcome = options.source == "naive-bayes"
    model = naive_bayes(log, data.test) if by_outcome else exposure_model(log, options)
    return Propensities(log, model.of_log(), "pair", model)
