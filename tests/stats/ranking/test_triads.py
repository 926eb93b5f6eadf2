"""Counts of triples, against a loop over triples."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.ranking.comparisons import bradley_terry
from metaeval.stats.ranking.triads import CYCLES_BY_CHANCE, triads

PAIRS = list(itertools.combinations(range(7), 2))


def counted(tournaments):
    """Count the triples of tournaments, each the number of its players and its pairs: winner, loser."""
    first = np.cumsum([0, *(n for n, _ in tournaments)])
    pairs = [
        np.array(p, dtype=int).reshape(-1, 2) + at for (_, p), at in zip(tournaments, first, strict=False)
    ]
    won, lost = np.concatenate(pairs).T
    return triads(won, lost, np.repeat(np.arange(len(tournaments)), np.diff(first)))


def looped(n, wins):
    """Return triples, cycles, expected cycles and players in cycles, by loops."""
    beats = {tuple(w) for w in wins}
    met = {frozenset(w) for w in wins}
    matrix = np.zeros((n, n))
    for w in beats:
        matrix[w] = 1
    s = np.nan_to_num(bradley_terry(matrix))

    def p(i, j):
        return 1 / (1 + np.exp(s[j] - s[i]))

    triples, cycles, expected = 0, 0, 0.0
    for a, b, c in itertools.combinations(range(n), 3):
        if {frozenset((a, b)), frozenset((b, c)), frozenset((a, c))} <= met:
            triples += 1
            cycles += any(walk <= beats for walk in ({(a, b), (b, c), (c, a)}, {(b, a), (c, b), (a, c)}))
            expected += p(a, b) * p(b, c) * p(c, a) + p(b, a) * p(c, b) * p(a, c)
    reached = (np.linalg.matrix_power(matrix + np.eye(n), n) > 0).astype(int)
    together = (reached & reached.T).sum(axis=1) > 1
    return triples, cycles, expected, int(together.sum()), len({player for pair in met for player in pair})


tournaments = st.lists(
    st.tuples(
        st.just(7), st.lists(st.sampled_from([-1, 0, 1]), min_size=len(PAIRS), max_size=len(PAIRS))
    ).map(lambda t: (t[0], [p if o > 0 else p[::-1] for p, o in zip(PAIRS, t[1], strict=True) if o])),
    min_size=1,
    max_size=4,
)


@given(these=tournaments, fewer=st.lists(st.integers(3, 7), min_size=4, max_size=4))
def test_counts_are_those_of_loops_over_triples(these, fewer):
    these = [(n, [w for w in wins if max(w) < n]) for n, (_, wins) in zip(fewer, these, strict=False)]
    found = counted(these)
    for at, (n, wins) in enumerate(these):
        triples, cycles, expected, in_cycles, players = looped(n, wins)
        assert (found.triples[at], found.cycles[at], found.players[at]) == (triples, cycles, players)
        assert found.expected[at] == pytest.approx(expected, abs=1e-6 * max(1, triples))
        assert found.in_cycles[at] == in_cycles


def test_a_cycle_of_all_players_is_one_component():
    ring = [(i, (i + 1) % 5) for i in range(5)]
    found = counted([(5, ring), (4, [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)])])
    assert found.triples.tolist() == [0, 4]  # no three of the ring have met
    assert found.cycles.tolist() == [0, 1]
    assert found.in_cycles.tolist() == [5, 3]


@pytest.mark.parametrize("n", [120, 300])
def test_a_coin_makes_a_quarter_cycles(n):
    """The counts are exact however many there are: 4,455,100 triples are known without a matrix."""
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(n, 1)
    heads = rng.random(len(first)) < 0.5
    won = np.where(heads, first, second)
    found = triads(won, np.where(heads, second, first), np.zeros(n, int))
    wins = np.bincount(won)
    assert found.triples[0] == math.comb(n, 3)
    assert found.cycles[0] == math.comb(n, 3) - (wins * (wins - 1) // 2).sum()  # Kendall & Babington Smith
    assert found.cycles[0] / found.triples[0] == pytest.approx(CYCLES_BY_CHANCE, abs=0.01)
    assert found.expected[0] / found.triples[0] == pytest.approx(CYCLES_BY_CHANCE, abs=0.02)


@pytest.mark.parametrize("spread", [0.5, 3.0, 30.0])
def test_what_is_expected_is_that_of_exact_strengths(spread):
    """Single precision and the short fit move the share by less than a millionth."""
    rng = np.random.default_rng(0)
    n, first, second = 60, *np.triu_indices(60, 1)
    s = spread * rng.normal(size=n)
    heads = rng.random(len(first)) < 1 / (1 + np.exp(s[second] - s[first]))
    won, lost = np.where(heads, first, second), np.where(heads, second, first)
    matrix = np.zeros((n, n))
    matrix[won, lost] = 1
    s = bradley_terry(matrix)
    p = np.where(np.eye(n, dtype=bool), 0, 1 / (1 + np.exp(s[None] - s[:, None])))
    found = triads(won, lost, np.zeros(n, int))
    assert found.expected[0] == pytest.approx(np.trace(p @ p @ p) / 3, abs=1e-6 * math.comb(n, 3))
