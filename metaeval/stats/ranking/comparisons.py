"""Strengths from paired comparisons: Bradley and Terry's model, Elo ratings and win rates, many sets at once.

A set is a resample of a bootstrap, or the comparisons of one user and item. The numbers are those of the
library evalica, which takes one set at a time; a test holds them to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from metaeval.base.errors import needed
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.weights import one_thread

PRIOR = 1.0
"""Ties of every player with an opponent of fixed strength, so that no strength is infinite."""
ELO_START, ELO_K, ELO_SCALE = 1000.0, 4.0, 400.0

_STEP = 3.0  # longest step of a log strength: a full Newton step may overshoot
_TOLERANCE = 1e-10
_MOST_STEPS = 500
_CELLS = 2**22  # of the matrices that are solved at a time


@dataclass(frozen=True, slots=True, eq=False)
class Games:
    """Paired comparisons, in their order."""

    first: Ints
    """Players, in ``range(n_players)``; shape (comparisons,)."""
    second: Ints
    points: Floats
    """Of the first player: 1, 0, or 0.5 for a tie."""
    n_players: int

    def __len__(self) -> int:
        """Return the number of comparisons."""
        return len(self.first)

    def take(self, at: Ints) -> Games:
        """Return a selection of the comparisons."""
        return Games(self.first[at], self.second[at], self.points[at], self.n_players)

    @property
    def met(self) -> Ints:
        """Players that have a comparison."""
        return np.unique(np.concatenate([self.first, self.second]))

    def matrix(self, group: Ints, n_groups: int) -> Floats:
        """Return the points of each player against each other one, shape (n_groups, n_players, n_players)."""
        n = self.n_players
        there = (group * n + self.first) * n + self.second
        back = (group * n + self.second) * n + self.first
        total = np.zeros(n_groups * n**2)
        total += np.bincount(there, self.points, total.size)
        total += np.bincount(back, 1 - self.points, total.size)
        return total.reshape(n_groups, n, n)


def bradley_terry(points: ArrayLike, *, tolerance: float = _TOLERANCE) -> Floats:
    """Return the log strengths of Bradley and Terry's model (1952, Biometrika 39, 324).

    The chance that i beats j is 1 / (1 + exp(s_j - s_i)). Each player also has ``PRIOR`` ties with an
    opponent of strength 0: without it one that always wins has no finite strength. Newton's method, all sets
    at once, ends at a step below ``tolerance``; the error is about its square.

    ``points``, shape (…, players, players), are those of the row's player against the column's, a tie half a
    point each; of single precision, strengths are so too. Strengths have shape (…, players) and mean 0; NaN
    for a player without a comparison.
    """
    values = np.asarray(points)
    values = values if values.dtype == np.float32 else values.astype(np.float64, copy=False)
    n = values.shape[-1]
    flat = values.reshape(-1, n, n)
    step = max(1, _CELLS // max(1, n * n))
    parts = [_newton(flat[at : at + step], tolerance) for at in range(0, len(flat), step)]
    return np.concatenate([np.zeros((0, n), values.dtype), *parts]).reshape(values.shape[:-1])


def _newton(points: Floats, tolerance: float) -> Floats:
    """Return strengths, shape (sets, players), for points of shape (sets, players, players)."""
    from scipy.special import expit, logit

    own = np.arange(points.shape[-1])
    games = points + np.swapaxes(points, -1, -2)
    gained, played = points.sum(axis=-1), games.sum(axis=-1)
    # The start is right where all opponents have strength 0.
    found = strengths = logit((gained + PRIOR / 2) / (played + PRIOR))
    todo, there = np.arange(len(points)), played > 0
    for _ in range(_MOST_STEPS):
        power = np.exp(strengths)
        chance = power[..., None] / (power[..., None] + power[..., None, :])
        expected, prior_expected = games * chance, expit(strengths)
        gradient = gained - expected.sum(axis=-1) + PRIOR * (0.5 - prior_expected)
        chance -= 1
        system = np.multiply(expected, chance, out=chance)
        system[..., own, own] += PRIOR * prior_expected * (1 - prior_expected) - system.sum(axis=-1)
        step = np.linalg.solve(system, gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=-1, initial=0.0)
        strengths = strengths + step * np.minimum(1.0, _STEP / np.maximum(longest, _TOLERANCE))[..., None]
        found[todo] = strengths
        left = longest > tolerance
        if not left.any():
            break
        if not left.all():
            todo, games, gained, strengths = todo[left], games[left], gained[left], strengths[left]
    return centred(np.where(there, found, np.nan))


def centred(values: Floats) -> Floats:
    """Return values with their mean 0 along the last axis, NaN left out."""
    there = ~np.isnan(values)
    mean = np.where(there, values, 0.0).sum(axis=-1) / np.maximum(1, there.sum(axis=-1))
    return np.asarray(values - mean[..., None])


def average_win_rate(points: ArrayLike) -> Floats:
    """Return the mean over opponents of the share of points won against each; points as in `bradley_terry`.

    Shape (…, players), from 0 to 1; NaN for a player without a comparison.
    """
    won = np.asarray(points, dtype=np.float64)
    games = won + np.swapaxes(won, -1, -2)
    rates = np.divide(won, games, out=np.zeros_like(won), where=games > 0)
    opponents = (games > 0).sum(axis=-1)
    return np.where(opponents > 0, rates.sum(axis=-1) / np.maximum(1, opponents), np.nan)


def win_rate_errors(points: ArrayLike) -> Floats:
    """Return standard errors of `average_win_rate`, or of its mean over aspects, shape (players,).

    ``points`` has shape (aspects, clusters, players, players). The rate is linearised; the variance is
    n / (n - 1) times the sum of squared influences of the n clusters in which a player has a comparison. With
    one comparison per cluster and one opponent it is the standard error of the mean, as AlpacaEval prints it.
    """
    won = np.asarray(points, dtype=np.float64)
    games = won + np.swapaxes(won, -1, -2)
    total = games.sum(axis=1, keepdims=True)
    safe = np.where(total > 0, total, 1.0)
    opponents = np.maximum(1, (total > 0).sum(axis=-1))
    of_aspects = ((won - won.sum(axis=1, keepdims=True) / safe * games) / safe).sum(axis=-1) / opponents
    influence, n = of_aspects.mean(axis=0), (games.sum(axis=(0, -1)) > 0).sum(axis=0)
    few = np.where(n > 1, n / np.maximum(1, n - 1), np.nan)
    return np.asarray(np.sqrt(few * np.square(influence).sum(axis=0)))


def length_controlled_rate(points: ArrayLike, longer: ArrayLike, weights: ArrayLike) -> Floats:
    """Return the win rate that a player would have at equal lengths, under each column of weights.

    The chance of winning is expit(θ + φ tanh(d / s)), with d the difference of the lengths and s its standard
    deviation; the rate is expit(θ) (AlpacaEval 2: Dubois et al. 2024, arXiv 2404.04475, without the term of
    the instruction's difficulty, which needs many players). ``PRIOR`` ties, half of them at each end of
    tanh, keep both finite.

    Parameters
    ----------
    points, longer
        Of the player in each comparison, 0 to 1; by how much its text is longer, shape (n,).
    weights
        How often each comparison counts, shape (n, columns); the result has shape (columns,).
    """
    from scipy.special import expit

    d, w = np.asarray(longer, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    t = np.concatenate([np.tanh(d / (d.std() or 1.0)), [-1.0, 1.0]])
    y = np.concatenate([np.asarray(points, dtype=np.float64), [0.5, 0.5]])[:, None]
    w = np.concatenate([w, np.full((2, w.shape[1]), PRIOR / 2)])
    design = np.stack([np.ones_like(t), t], axis=1)
    found = np.zeros((2, w.shape[1]))
    for _ in range(_MOST_STEPS):
        chance = expit(design @ found)
        gradient = design.T @ (w * (y - chance))
        system = np.einsum("ni,nb,nj->bij", design, w * chance * (1 - chance), design, optimize=True)
        step = np.linalg.solve(system, gradient.T[..., None])[..., 0].T
        found += np.clip(step, -_STEP, _STEP)
        if np.abs(step).max(initial=0.0) < _TOLERANCE:
            break
    return np.where(w[:-2].sum(axis=0) > 0, expit(found[0]), np.nan)


def elo(games: Games, weights: ArrayLike) -> Floats:
    """Return Elo ratings after a sequence of comparisons, for many sequences at once.

    Ratings begin at 1000; a difference of 400 is odds of ten to one. They depend on the order of the games.
    ``weights``, shape (comparisons, sequences), says how often each stands in a sequence: one of weight w
    moves ratings w times as far, which for a small ``ELO_K`` is nearly what w of them do. The result has
    shape (sequences, n_players); NaN for a player without a comparison in a sequence.
    """
    weight = np.asarray(weights, dtype=np.float64)
    ratings = np.full((games.n_players, weight.shape[1]), ELO_START)
    played = np.zeros(ratings.shape, dtype=bool)
    for a, b, won, w in zip(games.first, games.second, games.points, weight, strict=True):
        expected = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / ELO_SCALE))
        change = ELO_K * w * (won - expected)
        ratings[a] += change
        ratings[b] -= change
        played[a] |= w > 0
        played[b] |= w > 0
    return np.where(played, ratings, np.nan).T


def elo_spread(games: Games, seed: int, orders: int = 50) -> Floats:
    """Return the standard deviation of each player's Elo rating over drawn orders of the comparisons.

    Shape (n_players,); NaN for a player without a comparison.
    """
    order = np.random.default_rng(seed).permuted(np.tile(np.arange(len(games)), (orders, 1)), axis=1)
    first, second, won = games.first[order], games.second[order], games.points[order]
    ratings, each = np.full((orders, games.n_players), ELO_START), np.arange(orders)
    for a, b, points in zip(first.T, second.T, won.T, strict=True):
        expected = 1 / (1 + 10 ** ((ratings[each, b] - ratings[each, a]) / ELO_SCALE))
        change = ELO_K * (points - expected)
        ratings[each, a] += change
        ratings[each, b] -= change
    return np.where(np.isin(np.arange(games.n_players), games.met), ratings.std(axis=0), np.nan)


def components(games: Games) -> Ints:
    """Return the group of each player, shape (n_players,): those of two groups never met, at no remove."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    shape = (games.n_players, games.n_players)
    met = csr_array((np.ones(len(games)), (games.first, games.second)), shape=shape)
    group: Ints = connected_components(met, directed=False)[1].astype(np.int64)
    return group


CYCLES_BY_CHANCE = 0.25
"""The share of cycles when a fair coin decides every pair: 2 of the 8 outcomes of a triple."""

_SIDES = 3  # of a triple
_CACHED = 2**18  # of the matrices that are multiplied at a time, so that they stay in the processor's cache
_EXACT = 2**12  # players up to which sums of a row's products are exact in single precision
_NEAR = 1e-3  # last step of the strengths, which leaves an error of its square


class Triads(NamedTuple):
    """Counts of tournaments, arrays of shape (tournaments,)."""

    triples: Floats
    """Triples of which all three pairs are decided."""
    cycles: Floats
    expected: Floats
    """Cycles that Bradley and Terry's model expects, fitted to the same wins."""
    in_cycles: Ints
    """Players in a strongly connected component of more than one: they are all in a cycle together."""
    players: Ints
    """Players that won or lost a decided pair."""


@one_thread()
def triads(winner: Ints, loser: Ints, tournament: Ints, weight: Floats | float = 1.0) -> Triads:
    """Count the triples of each tournament.

    Each pair stands once, with players in ``range(len(tournament))``; ``tournament`` of each player ascends
    from 0. If ``weight`` is the probability of each win, a pair may stand twice; triples and cycles are
    expectations.
    """
    size = np.bincount(tournament)
    start = np.cumsum(size) - size
    counts = np.zeros((3, len(size)))
    pairs = np.bincount(tournament[winner], minlength=len(size))
    # Tournaments of a batch have one size, that of the largest: similar ones come together.
    by_size = np.argsort(size, kind="stable")
    by_size = by_size[pairs[by_size] >= _SIDES]
    place = np.full(len(size), len(by_size))
    place[by_size] = np.arange(len(by_size))
    of_pair = place[tournament[winner]]
    order = np.argsort(of_pair, kind="stable")
    of_pair, first = of_pair[order], start[tournament]
    row, column = ((side - first[side])[order] for side in (winner, loser))
    weights = np.broadcast_to(weight, len(winner))[order]
    for low, high in _batches(size[by_size]):
        at = slice(*np.searchsorted(of_pair, (low, high)))
        n = int(size[by_size[high - 1]])
        wins = np.zeros((high - low, n, n), np.float32 if n < _EXACT else np.float64)
        wins[of_pair[at] - low, row[at], column[at]] = weights[at]
        counts[:, by_size[low:high]] = _counted(wins)
    played, cyclic = np.zeros((2, len(tournament)), bool)
    played[winner] = played[loser] = True
    cyclic[_in_cycles(winner, loser, len(tournament))] = True
    players, in_cycles = (np.bincount(tournament[which], minlength=len(size)) for which in (played, cyclic))
    triples, cycles, expected = counts
    return Triads(triples, cycles, expected, in_cycles, players)


def _batches(size: Ints) -> Iterator[tuple[int, int]]:
    """Yield where batches of tournaments begin and end; their sizes ascend."""
    low = 0
    while low < len(size):
        high = low + 1
        while high < len(size) and (high + 1 - low) * int(size[high]) ** 2 <= _CACHED:
            high += 1
        yield low, high
        low = high


def _counted(wins: Floats) -> Floats:
    """Return triples, cycles and expected cycles, shape (3, tournaments)."""
    lost = np.swapaxes(wins, -1, -2)
    decided = wins + lost
    cycles = _sums(wins @ wins, lost) / 3
    triples = cycles + _sums(lost @ wins, decided) / 2
    power = np.exp(np.nan_to_num(bradley_terry(wins, tolerance=_NEAR)))[..., None]
    chances = decided * (power / (power + np.swapaxes(power, -1, -2)))
    # Both ways round a cycle are counted by the one matrix of chances.
    expected = _sums(chances @ chances, np.swapaxes(chances, -1, -2)) / 3
    return np.stack([triples, cycles, np.where(triples > 0, expected, 0.0)])


def _sums(one: Floats, other: Floats) -> Floats:
    """Return the sum of products of each tournament; each row's sum is exact in its own precision."""
    return np.asarray(np.einsum("tij,tij->ti", one, other).sum(axis=-1, dtype=np.float64))


def _in_cycles(winner: Ints, loser: Ints, n: int) -> Ints:
    """Return the players in strongly connected components of more than one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    wins = csr_array((np.ones(len(winner)), (winner, loser)), shape=(n, n))
    _, component = connected_components(wins, connection="strong")
    return np.flatnonzero(np.bincount(component)[component] > 1)


GRAPHS = ("counting", "eigen", "pagerank")
"""Strengths that evalica makes of the graph of wins: points, an eigenvector, PageRank."""


def graph_strengths(method: str, games: Games, weights: ArrayLike) -> Floats:
    """Return one of `GRAPHS` by the library evalica, under each column of weights.

    ``weights`` says how often each game counts, shape (comparisons, columns); the result has shape (columns,
    n_players), NaN for a player without a game.
    """
    import pandas as pd

    evalica = needed("evalica", f"strengths by {method}", "pairs")
    solve = getattr(evalica, method)
    # A part of a point is a win and a loss, each of its weight; those of weight 0 are left out below.
    even, times = games.points == 0.5, np.asarray(weights, dtype=np.float64)
    shares = np.concatenate([np.where(even, 1.0, games.points), np.where(even, 0.0, 1 - games.points)])
    winners = [evalica.Winner.Draw if e else evalica.Winner.X for e in even]
    winners += [evalica.Winner.Y] * len(games)
    games, times = games.take(np.tile(np.arange(len(games)), 2)), shares[:, None] * np.tile(times, (2, 1))
    found = []
    for column in times.T:
        use = np.flatnonzero(column)
        sides = games.first[use].tolist(), games.second[use].tolist()
        made = solve(*sides, [winners[i] for i in use], weights=column[use].tolist()) if len(use) else None
        scores = pd.Series(dtype=np.float64) if made is None else made.scores
        found.append(scores.reindex(range(games.n_players)).to_numpy(dtype=np.float64))
    return np.stack(found)
