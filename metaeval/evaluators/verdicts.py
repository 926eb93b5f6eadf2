"""Verdicts on pairs, long: the columns, and what the two orders of a pair come to together.

A row is one order of one pair. First come the keys that both texts have in common, then ``first`` and
``second`` (generators, in the order of their names as text), ``aspect``, ``evaluator``, ``order`` (whose text
was shown first), ``winner`` (``first``, ``second`` or ``tie``, whatever the order shown; empty without a
verdict), ``status`` as of scores, and ``call``, the key of the reply in the store. Verdicts that say how sure
they are have ``share``, what ``first`` has of each, 0 to 1: that counts where points are counted.

A judge is asked in both orders. An evaluator without any pair in both was asked once about each, as people
are, in an order that was drawn: its one verdict is what becomes of the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metaeval.base.errors import DataError, nearest, shown
from metaeval.base.frames import row_text
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.data.verdicts.verdict_columns import PLAYED, SHARE
from metaeval.evaluators.grid import CodeArray, FloatArray
from metaeval.stats.coefficients.tables import Ints
from metaeval.stats.ranking import comparisons
from metaeval.stats.ranking.comparisons import Games

Flips: TypeAlias = Literal["tie", "drop"]
PairFlips: TypeAlias = Literal["tie", "drop", "each"]
"""What a flip is where verdicts are ranked; with ``each``, both orders count, each by itself."""
Orders: TypeAlias = Literal["net", "tie", "both", "each"]
"""What both orders of a pair come to: the side with more votes (no tie counts: JudgeBench), a tie
if they differ (MT-Bench), no verdict if they differ, or two verdicts, each by itself."""

COLUMNS = ("first", "second", "aspect", "evaluator", "order", "winner", "status", "call")
"""After the keys that both texts of a pair have in common, such as ``user_id`` and ``item_id``."""
WINNERS = (TIE, FIRST, SECOND, "")
"""By their codes; the last, no verdict, is -1."""
OUTCOMES = (TIE, FIRST, SECOND, "flip", "failed")
"""Of both orders, by their codes; the last is -1."""
NO_VERDICT, FLIP, FAILED = -1, 3, -1
FLIPS: tuple[Flips, ...] = ("tie", "drop")
"""What a flip is for an aggregation: half a point for each side, or nothing."""
SHARES = ("share_first", "share_second")
"""Of comparisons: what ``first`` has of the verdict where first's, or second's, text was shown first."""


def pair_keys(frame: pd.DataFrame) -> list[str]:
    """Return the columns that the two texts of a pair have in common: those before ``first``."""
    columns = list(map(str, frame.columns))
    before = columns[: columns.index(FIRST)] if FIRST in columns else []
    return [c for c in before if c not in (*COLUMNS, "gold")]


def outcomes(shown_first: ArrayLike, shown_second: ArrayLike) -> CodeArray:
    """Return what the verdicts in both orders come to, as positions in `OUTCOMES`, given those in `WINNERS`.

    A win, or a tie, counts only if both orders say so; where they differ it is a flip; where one has no
    verdict, the pair has failed.
    """
    one, two = (np.asarray(codes, dtype=np.int8) for codes in (shown_first, shown_second))
    both = np.where(one == two, one, np.int8(FLIP))
    return np.where((one == NO_VERDICT) | (two == NO_VERDICT), np.int8(FAILED), both).astype(np.int8)


def points(codes: ArrayLike, flips: Flips = "tie") -> FloatArray:
    """Return the points of ``first`` for outcomes: 1, 0, or 0.5 for a tie; NaN where nothing counts."""
    of_code = np.array([0.5, 1.0, 0.0, 0.5 if flips == "tie" else np.nan, np.nan])
    found: FloatArray = of_code[np.asarray(codes, dtype=np.intp)]
    return found


def points_of(comparisons: pd.DataFrame, flips: PairFlips = "tie") -> FloatArray:
    """Return the points of ``first`` in rows of `comparisons_of`, 0 to 1; NaN where nothing counts.

    Of verdicts that have shares it is their mean over both orders.
    """
    won = points(comparisons["outcome"].to_numpy(), "drop" if flips == "drop" else "tie")
    return np.where(np.isnan(won), np.nan, mean_points(comparisons)) if set(SHARES) <= {*comparisons} else won


def mean_points(comparisons: pd.DataFrame) -> FloatArray:
    """Return the mean points, or share, of ``first`` over the verdicts that there are; NaN for none."""
    if set(SHARES) <= {*comparisons}:
        of_orders = comparisons[[*SHARES]].to_numpy(dtype=np.float64).T
    else:
        of_orders = np.stack([points(comparisons[shown]) for shown in ("shown_first", "shown_second")])
    there = ~np.isnan(of_orders)
    found: FloatArray = np.where(there, of_orders, 0).sum(axis=0) / np.where(
        there.any(axis=0), there.sum(axis=0), np.nan
    )
    return found


def votes_of(comparisons: pd.DataFrame, orders: Orders) -> pd.DataFrame:
    """Return what the verdicts on each pair come to by one of `Orders`, a row for each that should be there.

    They are rows of `comparisons_of`, with ``code``: the position in `WINNERS`, the last for none.
    """
    names = ("shown_first", "shown_second", "outcome", "due")
    one, two, outcome, due = (comparisons[name].to_numpy(dtype=np.int8) for name in names)
    again: Any = []  # rows that count twice
    if orders == "each":
        (again,) = np.nonzero(due == 2)
        codes = np.where(due == 1, outcome, one)
    elif orders == "net":
        lead = np.sign(sum(np.array([0, 1, -1, 0])[of] for of in (one, two)))
        codes = np.where((one == NO_VERDICT) & (two == NO_VERDICT), NO_VERDICT, lead % 3)
    else:
        codes = np.where(outcome == FLIP, WINNERS.index(TIE) if orders == "tie" else NO_VERDICT, outcome)
    codes = np.concatenate([codes, two[again]])
    rows = np.concatenate([np.arange(len(one)), again]).astype(np.intp)
    return comparisons.iloc[rows].assign(code=codes.astype(np.int64) % len(WINNERS))


def each_order(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons of one verdict each: those in both orders count twice, each by itself."""
    votes = votes_of(comparisons, "each")
    codes = votes.pop("code").to_numpy()
    if set(SHARES) <= {*votes}:
        again = votes.index.duplicated()
        twice = (votes["due"] == 2).to_numpy()
        votes[SHARES[0]] = votes[SHARES[0]].mask(again)
        votes[SHARES[1]] = votes[SHARES[1]].mask(twice & ~again)
    return votes.assign(outcome=np.where(codes == len(WINNERS) - 1, FAILED, codes).astype(np.int8))


def comparisons_of(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return a row per comparison, both orders of a pair together, in the order of their first rows.

    The columns are those that name a pair, ``aspect`` and ``evaluator``; ``shown_first`` and
    ``shown_second``, the codes of the winners (`WINNERS`) where first's, or second's, text was shown first;
    ``due``, how many verdicts there should be (1 of an evaluator that was asked once, else 2); ``outcome``, a
    position in `OUTCOMES`; `SHARES`, if verdicts have them; and ``played``, if verdicts came in an order.
    `DataError` is raised if a column is missing, a word is not known, or an order of a pair stands twice.
    """
    by = [*pair_keys(verdicts), "first", "second", "aspect", "evaluator"]
    check_columns(verdicts, [*by, "order", "winner"])
    codes = _codes(verdicts["winner"], WINNERS, "winner")
    codes[codes == len(WINNERS) - 1] = NO_VERDICT
    order = _codes(verdicts["order"], (FIRST, SECOND), "order")
    group = verdicts.groupby(by, sort=False, observed=True, dropna=False).ngroup().to_numpy()
    n = int(group.max(initial=-1)) + 1
    cell = group * 2 + order
    if len(np.unique(cell)) < len(cell):
        at = int(np.flatnonzero(pd.Series(cell).duplicated().to_numpy())[0])
        names = row_text(verdicts, at, [*by, "order"])
        raise DataError(f"two verdicts are on {names}; there must be one")
    shown, asked = np.full(2 * n, NO_VERDICT, np.int8), np.zeros(2 * n, dtype=bool)
    shown[cell], asked[cell] = codes, True
    _, head = np.unique(group, return_index=True)
    found = verdicts[by].iloc[head].reset_index(drop=True)
    one, two = found["shown_first"], found["shown_second"] = shown[0::2], shown[1::2]
    twice = pd.Series(asked[0::2] & asked[1::2]).groupby(found["evaluator"].to_numpy()).transform("any")
    found["due"] = np.where(twice, 2, 1)
    if SHARE in verdicts:
        shares = np.full(2 * n, np.nan)
        shares[cell] = verdicts[SHARE].to_numpy(dtype=np.float64)
        found[SHARES[0]], found[SHARES[1]] = shares[0::2], shares[1::2]
    if PLAYED in verdicts:
        found[PLAYED] = pd.to_numeric(verdicts[PLAYED].iloc[head]).to_numpy()
    only = np.where(asked[0::2], one, two)
    found["outcome"] = np.where(twice, outcomes(one, two), outcomes(only, only))
    return found


def check_columns(frame: pd.DataFrame, wanted: Sequence[str]) -> None:
    """Raise `DataError` unless a frame of verdicts has the columns."""
    for column in wanted:
        if column not in frame.columns:
            raise DataError(
                f"the verdicts have no column {column!r}{nearest(column, map(str, frame.columns))}; "
                f"they need what names a pair, then {', '.join(COLUMNS[:-2])}"
            )
    if not pair_keys(frame):
        raise DataError("the verdicts have no column before 'first', where what names a pair stands")


def _codes(column: pd.Series[Any], words: Sequence[str], name: str) -> CodeArray:
    plain = column.astype(object)
    codes = pd.Index(list(words)).get_indexer(pd.Index(plain.where(plain.notna(), "")))
    if (codes < 0).any():
        wrong = plain.iloc[int(np.flatnonzero(codes < 0)[0])]
        allowed = ", ".join(w or "empty" for w in words)
        raise DataError(f"a verdict has the {name} {shown(wrong)}; it may be {allowed}")
    return codes.astype(np.int8)


BRADLEY_TERRY, ELO, WIN_RATE = METHODS = ("bradley-terry", "elo", "win-rate")


def strengths(method: str, games: Games, seed: int = 0) -> FloatArray:
    """Return the strength of each player, shape (n_players,); NaN for one without a comparison.

    ``bradley-terry``: log strengths with the prior of `metaeval.stats.ranking.comparisons.bradley_terry`,
    their mean 0; ``elo``: ratings after all comparisons in an order that ``seed`` draws; ``win-rate``: mean
    over opponents of the share of points.
    """
    found: FloatArray = strengths_by_group(method, games, np.zeros(len(games), dtype=np.int64), 1, seed)[0]
    return found


def elo_order(n: int, seed: int) -> Ints:
    """Return the order in which Elo takes ``n`` comparisons: drawn, for that of the data has no meaning."""
    return np.random.default_rng(seed).permutation(n)


def strengths_by_group(method: str, games: Games, group: Ints, n_groups: int, seed: int = 0) -> FloatArray:
    """Return `strengths` within each group, shape (n_groups, n_players), from its own comparisons alone.

    ``group`` is that of each comparison, in ``range(n_groups)``.
    """
    if method == ELO:
        # As many calls as groups: each is a short sequence of its own.
        found = np.full((n_groups, games.n_players), np.nan)
        by_group = np.argsort(group, kind="stable")
        for at in np.split(by_group, np.cumsum(np.bincount(group, minlength=n_groups))[:-1]):
            if len(at):
                of_group = games.take(at[elo_order(len(at), seed)])
                found[group[at[0]]] = comparisons.elo(of_group, np.ones((len(at), 1)))[0]
        return found
    points = games.matrix(group, n_groups)
    return (
        comparisons.bradley_terry(points) if method == BRADLEY_TERRY else comparisons.average_win_rate(points)
    )
