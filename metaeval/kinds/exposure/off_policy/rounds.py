"""A log as arrays of codes, read a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from metaeval.kinds.exposure.data.log_set import (
    ITEM,
    OUTCOME,
    POSITION,
    PROBABILITY,
    PROPENSITY,
    TIME,
    USER,
    LogSet,
)
from metaeval.kinds.exposure.propensity.propensities import Propensities, propensities_of
from metaeval.kinds.exposure.study import PropensityOptions
from metaeval.stats.coefficients.tables import Floats, Ints

_PART = 2**20  # rounds worked on at a time
_LEAST = 1e-100  # propensities below have weights whose squares are no floats; all such rounds are refused
_BINS = 5  # of a context that is a number
_CATEGORIES = 50  # of a context that is text; the rarer ones stand together
ROUND = "round"


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
    """How often a round counts, if not once: see `metaeval.stats.off_policy.estimators.Rounds`."""
    propensities: Propensities | None = None
    """Those that ``propensity`` is made of, as the data set has them."""
    table: pd.DataFrame | None = None
    """The log itself, of whose columns policies may depend."""
    sample: Floats | None = None
    """The random sample: sums of outcomes by user, and how many there are, shape (2, users)."""

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.outcome)

    @property
    def source(self) -> str:
        """Where propensities come from."""
        return "logged" if self.propensities is None else self.propensities.source

    @property
    def fitted(self) -> bool:
        """Whether propensities were fitted, and not logged."""
        return self.source != "logged"

    def key(self, column: str) -> tuple[Sequence[str], Ints] | None:
        """Return names, and the code of each round, of what policies may depend on; None of anything else.

        ``position``, ``user_id``, columns of the context and fields of profiles; and ``round``: the log's
        column of that name, or else the number of the row, from 1.
        """
        if column == POSITION:
            return [str(p) for p in self.positions], self.position
        if column == USER and len(self.users):
            return self.users, self.cluster
        if self.table is not None and column in self.table and column not in _OWN:
            codes, names = pd.factorize(self.table[column].astype("str"))
            return names.tolist(), codes
        if column == ROUND:
            return [str(n) for n in range(1, len(self) + 1)], np.arange(len(self))
        if self.propensities is not None and column in (profiles := self.propensities.log.profiles):
            codes, names = pd.factorize(profiles[column].fillna("").astype("str"))
            return names.tolist(), codes[self.cluster]
        return None

    def refitted(self, users: Floats) -> LogArrays:
        """Return the same with propensities fitted again, each user counted so many times; or logged ones."""
        if self.propensities is None or not self.fitted:
            return self
        propensities = self.propensities.refitted(users)
        return replace(self, propensity=_of_rounds(propensities), propensities=propensities)

    def parts(self) -> Iterator[slice]:
        """Yield the rounds, so many at a time that what is made of them stays small."""
        for first in range(0, len(self), _PART):
            yield slice(first, first + _PART)


_OWN = {ITEM, TIME, OUTCOME, PROPENSITY}


def arrays_of(data: LogSet, propensities: Propensities | None = None) -> LogArrays:
    """Return the rounds of a log with their propensities; `MetaevalError` if there are none.

    Fitted ones, and some logged ones, are of pairs of a user and an item. A policy then serves all users
    alike, and a round counts by how few its user has.
    """
    log = data.log
    propensities = propensities or propensities_of(data, PropensityOptions(source="logged"))
    rows, count = propensities.log, None
    if propensities.exposure == "pair":
        count = len(log) / len(rows.users) / np.bincount(rows.user)[rows.user]
    positions, codes = np.array([1]), np.zeros(len(log), dtype=np.int64)
    if POSITION in log:
        positions, codes = np.unique(log[POSITION].to_numpy(np.int32), return_inverse=True)
    own = {*_OWN, USER, POSITION, ROUND, *filter(is_policy, log)}
    sample = None
    if data.test is not None:
        sample = data.test.groupby(USER)[OUTCOME].agg(["sum", "count"]).to_numpy(np.float64).T
    return LogArrays(
        rows.outcome,
        _of_rounds(propensities),
        rows.item,
        rows.items.tolist(),
        codes.astype(np.int32),
        positions.tolist(),
        rows.user,
        rows.n_clusters,
        rows.users.tolist(),
        {str(name): context_codes(log[name]) for name in log if name not in own},
        count,
        propensities,
        log,
        sample,
    )


def _of_rounds(propensities: Propensities) -> Floats:
    """Return the propensity of each round.

    A round is one of the k of a pair of a user and an item, which has the propensity p, and of the n of a log
    of U users: given its user, its propensity is p k U / n.
    """
    probability, rows = np.maximum(propensities.probability, _LEAST), propensities.log
    if propensities.exposure == "pair":
        probability *= rows.repeats / (len(rows) / len(rows.users))
    return probability


def numbered(codes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return a number for each combination of codes that there is, and the first round that has it."""
    frame = pd.DataFrame(dict(enumerate(codes)))
    numbers = frame.groupby([*frame], sort=False).ngroup().to_numpy(np.int32)
    return numbers, np.flatnonzero(~frame.duplicated())


def context_codes(values: pd.Series[str]) -> Ints:
    """Return codes: fifths of numbers, by quantiles; the 50 most frequent texts, and one for the others."""
    codes, names = pd.factorize(values, sort=True, use_na_sentinel=False)
    numbers = pd.to_numeric(pd.Series(names), errors="coerce").to_numpy(np.float64)
    count = np.bincount(codes)
    if len(names) > _BINS and np.isfinite(numbers).all():
        order = np.argsort(numbers)
        below = np.cumsum(count[order]) / len(codes)
        place = np.empty(len(names), dtype=np.int32)
        place[order] = np.minimum(np.concatenate([[0.0], below[:-1]]) * _BINS, _BINS - 1).astype(np.int32)
    else:
        kept = np.argsort(-count, kind="stable")[:_CATEGORIES]
        place = np.full(len(count), len(kept), dtype=np.int32)
        place[kept] = np.arange(len(kept))
    return place[codes]


def is_policy(column: object) -> bool:
    """Say whether a column of a log holds the probabilities of a policy of its own."""
    return str(column).startswith(f"{PROBABILITY}_")
