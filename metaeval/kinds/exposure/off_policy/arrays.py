"""A log as arrays of codes, read a part at a time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.exposure.data.log_set import ITEM, OUTCOME, POSITION, PROPENSITY, TIME, USER
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.propensity.propensities import propensities_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.stats.coefficients.tables import Floats, Ints

PART = 2**20  # rounds worked on at a time
_LEAST = 1e-100  # propensities below have weights whose squares are no floats; all such rounds are refused
_BINS = 5  # of a context that is a number
_CATEGORIES = 50  # of a context that is text; the rarer ones stand together


@dataclass(frozen=True, slots=True, eq=False)
class LogArrays:
    """Rounds of a log, shape (n,) each; names stand once, and rounds have their codes."""

    outcome: Floats
    propensity: Floats
    item: Ints
    items: Sequence[str]
    """All that a policy may choose: the items of the table ``items``, or else those of the log."""
    position: Ints
    positions: Sequence[int]
    """1 alone, where the log has none."""
    cluster: Ints
    n_clusters: int
    """Users, or the rounds themselves where the log has no users."""
    users: Sequence[str] = ()
    context: Mapping[str, Ints] = field(default_factory=dict)
    count: Floats | None = None
    """How often a round counts, if not once: see `metaeval.stats.off_policy.terms.Rounds`."""
    given: Propensities | None = None
    """Those that ``propensity`` is made of, as the data set has them."""

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.outcome)

    @property
    def fitted(self) -> bool:
        """Whether propensities were fitted."""
        return self.given is not None and self.given.model is not None

    def refitted(self, users: Floats) -> LogArrays:
        """Return the same with propensities fitted again, each user counted so many times; or logged ones."""
        if self.given is None or not self.fitted:
            return self
        given = self.given.refitted(users)
        return replace(self, propensity=_of_rounds(given), given=given)

    def parts(self) -> Iterator[slice]:
        """Yield the rounds, so many at a time that what is made of them stays small."""
        for first in range(0, len(self), PART):
            yield slice(first, first + PART)


def arrays_of(data: LogSet, given: Propensities | None = None) -> LogArrays:
    """Return the rounds of a log with their propensities: logged ones, unless others are given.

    Fitted ones, and some logged ones, are of pairs of a user and an item. A policy then serves all users
    alike, and a round counts by how few its user has.

    Raises
    ------
    MetaevalError
        If no propensities are given and the log has none.
    """
    log, given = data.log, given or propensities_of(data, PropensityOptions(source="logged"))
    of, count = given.of, None
    if given.exposure == "pair":
        count = len(log) / len(of.users) / np.bincount(of.user)[of.user]
    positions, codes = np.array([1]), np.zeros(len(log), dtype=np.int64)
    if POSITION in log:
        positions, codes = np.unique(log[POSITION].to_numpy(np.int32), return_inverse=True)
    known = {USER, ITEM, TIME, OUTCOME, POSITION, PROPENSITY}
    return LogArrays(
        of.outcome,
        _of_rounds(given),
        of.item,
        of.items.tolist(),
        codes.astype(np.int32),
        positions.tolist(),
        of.user,
        of.n_clusters,
        of.users.tolist(),
        {str(name): context_codes(log[name]) for name in log if name not in known},
        count,
        given,
    )


def _of_rounds(given: Propensities) -> Floats:
    """Return the propensity of each round.

    A round is one of the k of a pair of a user and an item, which has the propensity p, and of the n of a log
    of U users: given its user, its propensity is p k U / n.
    """
    found, of = np.maximum(given.probability, _LEAST), given.of
    if given.exposure == "pair":
        found *= of.repeats / (len(of) / len(of.users))
    return found


def context_codes(values: pd.Series[str]) -> Ints:
    """Return codes: fifths of numbers, by quantiles; the 50 most frequent texts, and one for the others."""
    codes, names = pd.factorize(values, sort=True, use_na_sentinel=False)
    numbers = pd.to_numeric(pd.Series(names), errors="coerce").to_numpy(np.float64)
    if len(names) > _BINS and np.isfinite(numbers).all():
        order = np.argsort(numbers)
        upto = np.cumsum(np.bincount(codes)[order]) / len(codes)
        place = np.empty(len(names), dtype=np.int32)
        place[order] = np.minimum(np.concatenate([[0.0], upto[:-1]]) * _BINS, _BINS - 1).astype(np.int32)
        return place[codes]
    count = np.bincount(codes)
    kept = np.argsort(-count, kind="stable")[:_CATEGORIES]
    place = np.full(len(count), len(kept), dtype=np.int32)
    place[kept] = np.arange(len(kept))
    return place[codes]
