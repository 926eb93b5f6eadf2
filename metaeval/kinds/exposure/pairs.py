"""Matched pairs: two items of one user with different outcomes and the same bins.

Items of a user come in an order drawn by the user's name and the seed. Each is paired with the first one
still waiting that has the same bins and another outcome, or else waits. No item is in two pairs of a user,
and which of the two is first is as random as the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.records import FIRST, SECOND
from metaeval.data.checks import combine
from metaeval.kinds.exposure.data.log_set import (
    MATCHING,
    PAIR,
    PROPENSITY,
    USER,
    WEIGHT,
    LogSet,
    preferences_of,
    units_of,
)
from metaeval.kinds.exposure.propensity.exposures import BINS, Exposures, Features, popularity_bins
from metaeval.kinds.exposure.propensity.propensities import Propensities, propensities_of
from metaeval.kinds.exposure.study import BIN_NAMES, FEATURES, Bin, ExposureStudy
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.propensity import quantile_bins
from metaeval.stats.resampling.weights import permutation

PER_USER = 10
SIDES = (f"{PROPENSITY}_{FIRST}", f"{PROPENSITY}_{SECOND}")
"""Columns of the propensities of both items."""
_NONE = -1  # the bin of what is not known


class Why(NamedTuple):
    """Why items of users are in no pair: how many."""

    alone: int
    """No other item of the user has the same bins."""
    alike: int
    """All those have the same outcome."""
    left_over: int
    """All those with another outcome were paired already."""
    beyond: int
    """The user has as many pairs as are wanted."""


class MatchedPairsFound(NamedTuple):
    """Pairs, a row each as the table ``pairs`` has them, and what became of the other items."""

    frame: pd.DataFrame
    items: int
    """Different items of users in the log."""
    unmatched: Why
    matched_on: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return how many were matched, and why others were not."""
        pairs, users, why = len(self.frame), self.frame[USER].nunique(), self.unmatched
        made = f"{counted(pairs, 'pair')} of {counted(users, 'user')}, matched on "
        made += f"{matching_name(self.matched_on)}: {2 * pairs:,} of {self.items:,} items of users"
        rest = f"{why.alone:,} alone in their bins, {why.alike:,} whose bins have one outcome only"
        more = f"{why.left_over:,} left over, {why.beyond:,} beyond the number of pairs per user"
        return [made, f"not matched: {rest}, {more}"]


def matching_name(bins: Sequence[str]) -> str:
    """Return what pairs are matched on, in words."""
    return ", ".join(bins) or "nothing"


def weights_of(first: Floats, second: Floats, floor: float) -> dict[str, Floats]:
    """Return propensities and weights of pairs: 1 / max(p, floor), summed (the source's equation 1)."""
    weight = 1 / np.maximum(first, floor) + 1 / np.maximum(second, floor)
    return {**dict(zip(SIDES, (first, second), strict=True)), WEIGHT: weight}


def matched_pairs(
    propensities: Propensities,
    *,
    match: Sequence[Bin] | None = None,
    per_user: int = PER_USER,
    seed: int = 0,
    floor: float,
) -> MatchedPairsFound:
    """Pair items of each user.

    Two items of a pair have ``match`` in common: nothing if empty; popularity, and age where the log has
    times, if left out. A user has at most ``per_user`` pairs; ``floor`` is the least propensity that one is
    weighted by. Raises `MetaevalError` if the log has no users, or nothing for a bin.
    """
    log = propensities.log
    if not len(log.users):
        raise MetaevalError("pairs are of a user's items, and the log has no column 'user_id'")
    chosen = BIN_NAMES[: 1 + (log.time is not None)] if match is None else tuple(match)
    rows = log.first_rows(np.arange(len(log)))
    inverse = np.unique(log.pair, return_inverse=True)[1]  # in the order of these rows
    outcome = np.bincount(inverse, log.outcome) / np.bincount(inverse)
    bins: dict[str, Ints] = {name: _bins(log, name, rows) for name in chosen}
    cell = combine(log.user[rows].astype(np.int64), *map(pd.Series, bins.values()))
    ends = np.cumsum(np.bincount(log.user[rows], minlength=len(log.users))).tolist()
    pairs: list[tuple[int, int, int]] = []
    for name, start, stop in zip(log.users, [0, *ends[:-1]], ends, strict=True):
        order = [start + at for at in permutation(stop - start, seed, "pairs", str(name))]
        pairs += _paired(order, cell, outcome)
    numbers, one, other = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    taken = np.zeros(len(rows), dtype=bool)
    taken[one] = taken[other] = True
    in_cell = pd.DataFrame({"cell": cell, "outcome": outcome}).groupby("cell")["outcome"]
    alone = (in_cell.transform("size") == 1).to_numpy()
    alike = (in_cell.transform("nunique") == 1).to_numpy() & ~alone
    kept = numbers <= per_user
    why = Why(*map(int, (alone.sum(), alike.sum(), (~taken & ~alone & ~alike).sum(), 2 * (~kept).sum())))
    numbers, one, other = numbers[kept], one[kept], other[kept]
    first, second = (propensities.probability[rows[side]] for side in (one, other))
    items = log.items.to_numpy(dtype=object)
    frame = pd.DataFrame(
        {
            USER: log.users.to_numpy(dtype=object)[log.user[rows[one]]],
            PAIR: numbers.astype(str),
            FIRST: items[log.item[rows[one]]],
            SECOND: items[log.item[rows[other]]],
            **{name: values[one].astype(str) for name, values in bins.items()},
            **weights_of(first, second, floor),
        }
    )
    if "category" in bins:
        frame["category"] = log.fields["category"].fillna("").to_numpy(dtype=object)[log.item[rows[one]]]
    return MatchedPairsFound(frame, len(rows), why, chosen)


def _paired(order: list[int], cell: Ints, outcome: Floats) -> Iterator[tuple[int, int, int]]:
    """Yield pairs of a user's items, numbered from 1."""
    waiting: dict[int, list[int]] = {}
    number = 0
    for item in order:
        # Those that wait have one outcome, for another one is never kept waiting.
        others = waiting.setdefault(int(cell[item]), [])
        if others and outcome[others[0]] != outcome[item]:
            number += 1
            yield number, others.pop(0), item
        else:
            others.append(item)


def _bins(log: Exposures, name: Bin, rows: Ints) -> Ints:
    """Return the bin of each row's item."""
    item = log.item[rows]
    if name == "popularity":
        return popularity_bins(log)[item]
    if name == "age":
        ages = Features(log, FEATURES).ages
        if ages is None or log.time is None:
            raise MetaevalError("items cannot be matched on age: not every row of the log has a `timestamp`")
        return ages.of(log.age(item, log.time[rows]))
    if name not in log.fields:
        raise MetaevalError(f"items cannot be matched on {name}: the table `items` has no column {name!r}")
    if name == "category":
        return pd.factorize(log.fields[name].fillna(""))[0][item]
    prices = log.fields[name].to_numpy(dtype=np.float64)
    return np.where(np.isnan(prices), _NONE, quantile_bins(prices, BINS).of(prices))[item]


def pairs_of_study(study: ExposureStudy, data: LogSet) -> LogSet:
    """Return the log with the weights of the study, and the further pairs that its ablations want.

    Raises `MetaevalError` if propensities cannot be had, or there is nothing for a bin.
    """
    matchings = {matching_name(m): m for ablation in study.ablations for m in ablation.matching}
    options, table = study.propensity, data.table
    anew = options.own and data.synthetic is None  # the weights of these know how synthetic rows were drawn
    if options.floor is not None and not anew and {*SIDES} <= {*table}:
        first, second = (table[side].to_numpy(dtype=np.float64) for side in SIDES)
        weight = weights_of(first, second, options.floor)[WEIGHT]
        table = table.assign(**{WEIGHT: table[WEIGHT].where(np.isnan(first + second), weight)})
    if anew or matchings:
        propensities = propensities_of(data, options)
    if anew:
        first, second = (_probabilities(propensities, table, side) for side in (FIRST, SECOND))
        table = table.assign(**weights_of(first, second, options.least))
    if not matchings:
        return replace(data, table=table, ratings=preferences_of(table, data.log))
    parts = [table.assign(**{MATCHING: ""})]
    for name, match in matchings.items():
        frame = matched_pairs(propensities, match=match, seed=options.seed, floor=options.least).frame
        frame[PAIR] = f"matched on {name}: " + frame[PAIR]
        parts.append(units_of(frame).assign(**{MATCHING: name}))
    units = pd.concat(parts, ignore_index=True)
    return replace(data, table=units, ratings=preferences_of(units, data.log))


def _probabilities(propensities: Propensities, units: pd.DataFrame, side: str) -> Floats:
    """Return the propensity of each unit's user and the item on a side."""
    log = propensities.log
    rows = log.first_rows(np.arange(len(log)))
    user = log.users.get_indexer(pd.Index(units[USER])).astype(np.int64) * len(log.items)
    wanted = user + log.items.get_indexer(pd.Index(units[side]))
    return propensities.probability[rows[np.searchsorted(log.pair[rows], wanted)]]
