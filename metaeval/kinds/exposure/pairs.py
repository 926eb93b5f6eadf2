"""Matched pairs: two items of one user with different outcomes and the same bins.

Items of a user come in an order drawn by the user's name and the seed. Each is paired with the first one
still waiting that has the same bins and another outcome, or else waits. No item is in two pairs of a user,
and which of the two is first is as random as the order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.records import FIRST, SECOND
from metaeval.kinds.exposure.data.log_set import PAIR, PROPENSITY, USER, WEIGHT
from metaeval.kinds.exposure.propensity.features import BINS, Features, popularity_bins
from metaeval.kinds.exposure.propensity.options import FEATURES
from metaeval.kinds.files.checks import combine
from metaeval.stats.regression.quantile_bins import quantile_bins
from metaeval.stats.resampling.draws import permutation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.kinds.exposure.propensity.exposures import Exposures
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.stats.coefficients.tables import Floats, Ints

Bin: TypeAlias = Literal["popularity", "age", "price", "category"]
BIN_NAMES: tuple[Bin, ...] = get_args(Bin)
PER_USER = 10
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
    """The user has as many pairs as are asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchedPairsFound:
    """Pairs, a row each as the table ``pairs`` has them, and what became of the other items."""

    frame: pd.DataFrame
    items: int
    """Different items of users in the log."""
    unmatched: Why
    matched_on: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return how many were matched, and why others were not."""
        pairs, users = len(self.frame), self.frame[USER].nunique()
        why = self.unmatched
        made = (
            f"{counted(pairs, 'pair')} of {counted(users, 'user')}, matched on "
            f"{matching_name(self.matched_on)}"
        )
        rest = f"{why.alone:,} alone in their bins, {why.alike:,} whose bins have one outcome only"
        more = f"{why.left_over:,} left over, {why.beyond:,} beyond the number of pairs per user"
        return [
            f"{made}: {2 * pairs:,} of {self.items:,} items of users",
            f"not matched: {rest}, {more}",
        ]


def matching_name(bins: Sequence[str]) -> str:
    """Return what pairs are matched on, in words."""
    return ", ".join(bins) or "nothing"


def pair_weight(first: Floats, second: Floats, floor: float) -> Floats:
    """Return the weights of pairs: 1 / max(p, floor), summed over both items (the source's equation 1)."""
    return np.asarray(1 / np.maximum(first, floor) + 1 / np.maximum(second, floor))


def reweighted(table: pd.DataFrame, floor: float) -> pd.DataFrame:
    """Return units with the weights of their pairs under another floor, where propensities are known."""
    sides = [f"{PROPENSITY}_{side}" for side in (FIRST, SECOND)]
    if not {*sides} <= {*table}:
        return table
    first, second = (table[side].to_numpy(dtype=np.float64) for side in sides)
    return table.assign(
        **{WEIGHT: table[WEIGHT].where(np.isnan(first + second), pair_weight(first, second, floor))}
    )


def weighted_anew(units: pd.DataFrame, given: Propensities, floor: float) -> pd.DataFrame:
    """Return units of pairs with propensities and weights by other propensities than those they came with."""
    of = given.of
    rows = of.first_rows(np.arange(len(of)))
    user = of.users.get_indexer(pd.Index(units[USER])).astype(np.int64) * len(of.items)

    def probability(side: str) -> Floats:
        wanted = user + of.items.get_indexer(pd.Index(units[side]))
        return given.probability[rows[np.searchsorted(of.pair[rows], wanted)]]

    first, second = probability(FIRST), probability(SECOND)
    known = {f"{PROPENSITY}_{FIRST}": first, f"{PROPENSITY}_{SECOND}": second}
    return units.assign(**known, **{WEIGHT: pair_weight(first, second, floor)})


def matched_pairs(
    given: Propensities,
    *,
    match: Sequence[Bin] | None = None,
    per_user: int = PER_USER,
    seed: int = 0,
    floor: float,
) -> MatchedPairsFound:
    """Pair items of each user.

    Parameters
    ----------
    given
        The log and its propensities.
    match
        What the two items have in common, nothing if empty; popularity, and age where the log has times, if
        left out.
    per_user
        The most pairs of a user.
    floor
        The least propensity that a pair is weighted by.

    Raises
    ------
    MetaevalError
        If the log has no users, or nothing for a bin.
    """
    of = given.of
    if not len(of.users):
        raise MetaevalError("pairs are of a user's items, and the log has no column 'user_id'")
    chosen = BIN_NAMES[: 1 + (of.time is not None)] if match is None else tuple(match)
    rows = of.first_rows(np.arange(len(of)))
    inverse = np.unique(of.pair, return_inverse=True)[1]  # in the order of these rows
    outcome = np.bincount(inverse, of.outcome) / np.bincount(inverse)
    bins: dict[str, Ints] = {name: _bins(of, name, rows) for name in chosen}
    cell = combine(of.user[rows].astype(np.int64), *map(pd.Series, bins.values()))
    pairs = [p for order in _orders(of, rows, seed) for p in _paired(order, cell, outcome)]
    numbers, one, other = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    taken = np.zeros(len(rows), dtype=bool)
    taken[one] = taken[other] = True
    in_cell = pd.DataFrame({"cell": cell, "outcome": outcome}).groupby("cell")["outcome"]
    alone = (in_cell.transform("size") == 1).to_numpy()
    alike = (in_cell.transform("nunique") == 1).to_numpy() & ~alone
    kept = numbers <= per_user
    why = Why(
        int(alone.sum()), int(alike.sum()), int((~taken & ~alone & ~alike).sum()), 2 * int((~kept).sum())
    )
    numbers, one, other = numbers[kept], one[kept], other[kept]
    first, second = (given.probability[rows[side]] for side in (one, other))
    items = of.items.to_numpy(dtype=object)
    frame = pd.DataFrame(
        {
            USER: of.users.to_numpy(dtype=object)[of.user[rows[one]]],
            PAIR: numbers.astype(str),
            FIRST: items[of.item[rows[one]]],
            SECOND: items[of.item[rows[other]]],
            **{name: values[one].astype(str) for name, values in bins.items()},
            f"{PROPENSITY}_{FIRST}": first,
            f"{PROPENSITY}_{SECOND}": second,
            WEIGHT: pair_weight(first, second, floor),
        }
    )
    if "category" in bins:
        frame["category"] = of.fields["category"].fillna("").to_numpy(dtype=object)[of.item[rows[one]]]
    return MatchedPairsFound(frame, len(rows), why, chosen)


def _orders(of: Exposures, rows: Ints, seed: int) -> Iterator[list[int]]:
    """Yield the items of each user, as positions in ``rows``, in the order in which they are paired."""
    ends = np.cumsum(np.bincount(of.user[rows], minlength=len(of.users))).tolist()
    for name, start, stop in zip(of.users, [0, *ends[:-1]], ends, strict=True):
        yield [start + at for at in permutation(stop - start, seed, "pairs", str(name))]


def _paired(order: list[int], cell: Ints, outcome: Floats) -> Iterator[tuple[int, int, int]]:
    """Yield pairs of a user's items, numbered from 1."""
    waiting: dict[int, list[int]] = {}
    number = 0
    for item in order:
        others = waiting.setdefault(
            int(cell[item]), []
        )  # which all have one outcome, for another one is never kept waiting
        if others and outcome[others[0]] != outcome[item]:
            number += 1
            yield number, others.pop(0), item
        else:
            others.append(item)


def _bins(of: Exposures, name: Bin, rows: Ints) -> Ints:
    """Return the bin of each row's item."""
    item = of.item[rows]
    if name == "popularity":
        return popularity_bins(of)[item]
    if name == "age":
        ages = Features(of, FEATURES).ages
        if ages is None or of.time is None:
            raise MetaevalError("items cannot be matched on age: not every row of the log has a `timestamp`")
        return ages.of(of.age(item, of.time[rows]))
    if name not in of.fields:
        raise MetaevalError(f"items cannot be matched on {name}: the table `items` has no column {name!r}")
    if name == "category":
        return pd.factorize(of.fields[name].fillna(""))[0][item]
    prices = of.fields[name].to_numpy(dtype=np.float64)
    return np.where(np.isnan(prices), _NONE, quantile_bins(prices, BINS).of(prices))[item]
