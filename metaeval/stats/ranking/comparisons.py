"""Strengths from paired comparisons: Bradley and Terry's model, Elo ratings and win rates, many sets at once.

A set is a resample of a bootstrap, or the comparisons of one user and item. The numbers are those of the
library evalica, which takes one set at a time; a test holds them to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Floats, Ints

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
        """Return the points of each player against each other one, shape (n_groups, n_players, n_players).

        ``group`` is the group of each comparison, in ``range(n_groups)``.
        """
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
    at once.

    Parameters
    ----------
    points
        Shape (…, players, players): points of the row's player against the column's, a tie half a point each.
        Of single precision, strengths are so too.
    tolerance
        The step of a log strength below which Newton's method ends; the error is about its square.

    Returns
    -------
    ndarray
        Shape (…, players): log strengths, their mean 0; NaN for a player without a comparison.

    Raises
    ------
    ValueError
        If ``points`` is not square.
    """
    given = np.asarray(points)
    given = given if given.dtype == np.float32 else given.astype(np.float64, copy=False)
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise ValueError(f"points must be square in its last two axes, not of shape {given.shape}")
    n = given.shape[-1]
    flat = given.reshape(-1, n, n)
    step = max(1, _CELLS // max(1, n * n))
    parts = [_newton(flat[at : at + step], tolerance) for at in range(0, len(flat), step)]
    return np.concatenate([np.zeros((0, n), given.dtype), *parts]).reshape(given.shape[:-1])


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
    return _centred(np.where(there, found, np.nan))


def _centred(values: Floats) -> Floats:
    """Return values with their mean 0 along the last axis, NaN left out."""
    there = ~np.isnan(values)
    mean = np.where(there, values, 0.0).sum(axis=-1) / np.maximum(1, there.sum(axis=-1))
    centred: Floats = values - mean[..., None]
    return centred


def average_win_rate(points: ArrayLike) -> Floats:
    """Return the mean over opponents of the share of points won against each.

    Parameters
    ----------
    points
        As in `bradley_terry`.

    Returns
    -------
    ndarray
        Shape (…, players), from 0 to 1; NaN for a player without a comparison.
    """
    given = np.asarray(points, dtype=np.float64)
    games = given + np.swapaxes(given, -1, -2)
    rates = np.divide(given, games, out=np.zeros_like(given), where=games > 0)
    opponents = (games > 0).sum(axis=-1)
    mean: Floats = np.where(opponents > 0, rates.sum(axis=-1) / np.maximum(1, opponents), np.nan)
    return mean


def elo(games: Games, weights: ArrayLike) -> Floats:
    """Return Elo ratings after a sequence of comparisons, for many sequences at once.

    Ratings begin at 1000; a difference of 400 is odds of ten to one. They depend on the order.

    Parameters
    ----------
    games
        The comparisons, in their order.
    weights
        How often each stands in a sequence, shape (comparisons, sequences). A comparison of weight w moves
        ratings w times as far, which for a small ``ELO_K`` is nearly what w of them do.

    Returns
    -------
    ndarray
        Shape (sequences, n_players); NaN for a player without a comparison in a sequence.
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
