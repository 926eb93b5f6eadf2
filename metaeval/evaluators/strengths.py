"""Points of paired comparisons → how strong each player is."""

from __future__ import annotations

import numpy as np

from metaeval.evaluators.grid import FloatArray
from metaeval.stats.coefficients.tables import Ints
from metaeval.stats.ranking import comparisons
from metaeval.stats.ranking.comparisons import Games

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
