"""Points of paired comparisons → how strong each player is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.stats.ranking import comparisons
from metaeval.stats.ranking.comparisons import ELO_K, ELO_START, PRIOR

if TYPE_CHECKING:
    from metaeval.evaluators.grid import FloatArray
    from metaeval.stats.coefficients.tables import Ints
    from metaeval.stats.ranking.comparisons import Games

BRADLEY_TERRY, ELO, WIN_RATE = METHODS = ("bradley-terry", "elo", "win-rate")


def strengths(method: str, games: Games, seed: int = 0) -> FloatArray:
    """Return the strength of each player, by ``evalica``.

    Parameters
    ----------
    method
        ``bradley-terry``: log strengths with the prior of `metaeval.stats.ranking.comparisons.bradley_terry`,
        their mean 0; ``elo``: ratings after all comparisons in a drawn order; ``win-rate``: mean over
        opponents of the share of points.
    games
        The comparisons.
    seed
        Of the order, for ``elo``.

    Returns
    -------
    ndarray
        Shape (n_players,); NaN for a player without a comparison.
    """
    import pandas as pd
    from evalica import Winner, average_win_rate, bradley_terry, elo

    n, met = games.n_players, games.met
    found = np.full(n, np.nan)
    if not len(games):
        return found
    if method == ELO:
        games = games.take(elo_order(len(games), seed))
    winner_of = {1.0: Winner.X, 0.0: Winner.Y, 0.5: Winner.Draw}
    xs, ys = games.first.tolist(), games.second.tolist()
    winners = [winner_of[p] for p in games.points.tolist()]
    # Only who has played: of somebody who has not, evalica would make NaN for all. The last is the opponent
    # of fixed strength.
    index = pd.Index([*met.tolist(), *([n] if method == BRADLEY_TERRY else [])])
    result: Any
    if method == BRADLEY_TERRY:
        xs, ys = [*xs, *met.tolist()], [*ys, *[n] * len(met)]
        winners += [Winner.Draw] * len(met)
        weights = [1.0] * len(games) + [PRIOR] * len(met)
        result = bradley_terry(xs, ys, winners, index, weights, tolerance=1e-10, limit=100_000)
    elif method == ELO:
        result = elo(xs, ys, winners, index, initial=ELO_START, k=ELO_K)
    else:
        result = average_win_rate(xs, ys, winners, index)
    found[met] = result.scores.reindex(met).to_numpy()
    if method == BRADLEY_TERRY:
        found = np.log(found)
        found -= np.nanmean(found)
    return found


def elo_order(n: int, seed: int) -> Ints:
    """Return the order in which Elo takes ``n`` comparisons: drawn, for that of the data has no meaning."""
    return np.random.default_rng(seed).permutation(n)


def strengths_by_group(method: str, games: Games, group: Ints, n_groups: int, seed: int = 0) -> FloatArray:
    """Return the strength of each player within each group, from the group's comparisons alone.

    Parameters
    ----------
    method, games, seed
        As in `strengths`.
    group
        Of each comparison, in ``range(n_groups)``.
    n_groups
        How many there are.

    Returns
    -------
    ndarray
        Shape (n_groups, n_players); NaN for a player without a comparison in the group.
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
