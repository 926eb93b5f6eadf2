"""Triples of a tournament, counted without listing them: how many there are, and how many are cycles.

With D the symmetric 0/1 matrix of decided pairs and W that of wins, tr(D³)/6 triples have three decided
pairs, and tr(W³)/3 of them are cycles: a beats b, b beats c, c beats a (Kendall & Babington Smith 1940,
Biometrika 31, 324).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.stats.ranking.comparisons import bradley_terry

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints

CYCLES_BY_CHANCE = 0.25
"""The share of cycles when a fair coin decides every pair: 2 of the 8 outcomes of a triple."""


class Triads(NamedTuple):
    """Counts of one tournament."""

    triples: float
    """Triples of which all three pairs are decided."""
    cycles: float
    expected: float
    """Cycles that Bradley and Terry's model expects, fitted to the same wins."""
    in_cycles: int
    """Players in a strongly connected component of more than one: they are all in a cycle together."""
    players: int


def triads(winner: Ints, loser: Ints, n: int) -> Triads:
    """Count the triples of a tournament.

    Parameters
    ----------
    winner, loser
        Players, in ``range(n)``, of each decided pair, shape (pairs,); each pair once.
    n
        Players.
    """
    wins = np.zeros((n, n))
    wins[winner, loser] = 1.0
    decided = wins + wins.T
    triples = _closed(decided) / 6
    if not triples:
        return Triads(0.0, 0.0, 0.0, 0, n)
    return Triads(round(triples), round(_closed(wins) / 3), _expected(wins, decided), _in_cycles(wins), n)


def _closed(matrix: Floats) -> float:
    """Return the trace of the third power: closed walks of length three."""
    return float(np.einsum("ij,ji->", matrix @ matrix, matrix))


def _expected(wins: Floats, decided: Floats) -> float:
    from scipy.special import expit

    strengths = np.nan_to_num(bradley_terry(wins))
    # Both ways round a cycle are counted by the one matrix of chances.
    return _closed(decided * expit(strengths[:, None] - strengths)) / 3


def _in_cycles(wins: Floats) -> int:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(csr_array(wins), connection="strong")
    sizes = np.bincount(component)
    return int(sizes[sizes > 1].sum())
