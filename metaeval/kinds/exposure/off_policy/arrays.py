"""A log as arrays of codes, read a part at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import ITEM, OUTCOME, POSITION, PROPENSITY, TIME, USER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.stats.coefficients.tables import Floats, Ints

PART = 2**20  # rounds worked on at a time
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

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.outcome)

    def parts(self) -> Iterator[slice]:
        """Yield the rounds, so many at a time that what is made of them stays small."""
        for first in range(0, len(self), PART):
            yield slice(first, first + PART)


def arrays_of(data: LogSet) -> LogArrays:
    """Return the rounds of a log whose propensities are known.

    Where these are of pairs, of which the log may hold each once, a policy serves all users alike, and a row
    with propensity p is one of n that the log drew with probability p / n: given the user, of U, p U / n.

    Raises
    ------
    MetaevalError
        If the log has no propensities.
    """
    log = data.log
    if PROPENSITY not in log:
        raise MetaevalError(
            f"the log of {data.name!r} has no column {PROPENSITY!r}; give one with the probability of "
            "showing each item"
        )
    item, items = _coded(log[ITEM])
    if data.items is not None:
        items = [*items, *sorted(set(data.items[ITEM].astype("str")) - set(items))]
    position, positions = (
        _coded(log[POSITION]) if POSITION in log else (np.zeros(len(log), dtype=np.int32), ["1"])
    )
    cluster, users = _coded(log[USER]) if USER in log else (np.arange(len(log), dtype=np.int32), [])
    known = {USER, ITEM, TIME, OUTCOME, POSITION, PROPENSITY}
    propensity, count = log[PROPENSITY].to_numpy(np.float64), None
    if data.exposure == "pair" and users:
        per_user = len(log) / len(users)
        propensity, count = propensity / per_user, per_user / np.bincount(cluster)[cluster]
    return LogArrays(
        log[OUTCOME].to_numpy(np.float64),
        propensity,
        item,
        items,
        position,
        [int(p) for p in positions],
        cluster,
        len(users) or len(log),
        users,
        {str(name): context_codes(log[name]) for name in log if name not in known},
        count,
    )


def _coded(values: pd.Series[str]) -> tuple[Ints, list[str]]:
    """Return codes of the values that there are, and their names in order."""
    codes, names = pd.factorize(values, sort=True)
    return codes.astype(np.int32), [str(name) for name in names]


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
