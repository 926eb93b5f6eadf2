"""Triples of tournaments, counted without listing them: how many there are, and how many are cycles.

With W the 0/1 matrix of wins, tr(W³)/3 triples are cycles: a beats b, b beats c, c beats a (Kendall &
Babington Smith 1940, Biometrika 31, 324). In any other triple one player beats both others: with D = W + Wᵀ
the decided pairs, there are tr(WᵀWD)/2 of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.stats.ranking.comparisons import bradley_terry
from metaeval.stats.resampling.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats, Ints

CYCLES_BY_CHANCE = 0.25
"""The share of cycles when a fair coin decides every pair: 2 of the 8 outcomes of a triple."""

_SIDES = 3  # of a triple
_CELLS = 2**18  # of the matrices that are multiplied at a time, so that they stay in the processor's cache
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

    Parameters
    ----------
    winner, loser
        Players, in ``range(len(tournament))``, of each decided pair, shape (pairs,); each pair once.
    tournament
        The tournament of each player, ascending from 0.
    weight
        The probability of each win, which does not depend on other pairs; a pair may then stand twice, won by
        the one or by the other. Triples and cycles are expectations.
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
        while high < len(size) and (high + 1 - low) * int(size[high]) ** 2 <= _CELLS:
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
    rows = np.einsum("tij,tij->ti", one, other)
    return np.asarray(rows.sum(axis=-1, dtype=np.float64))


def _in_cycles(winner: Ints, loser: Ints, n: int) -> Ints:
    """Return the players in strongly connected components of more than one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    wins = csr_array((np.ones(len(winner)), (winner, loser)), shape=(n, n))
    _, component = connected_components(wins, connection="strong")
    return np.flatnonzero(np.bincount(component)[component] > 1)
