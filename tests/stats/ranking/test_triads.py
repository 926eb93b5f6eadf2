"""Counts of triples, against a loop over triples."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.ranking.comparisons import bradley_terry
from metaeval.stats.ranking.triads import CYCLES_BY_CHANCE, triads

PAIRS = list(itertools.combinations(range(7), 2))


@given(outcomes=st.lists(st.sampled_from([-1, 0, 1]), min_size=len(PAIRS), max_size=len(PAIRS)))
def test_counts_are_those_of_a_loop_over_triples(outcomes):
    decided = {p: o for p, o in zip(PAIRS, outcomes, strict=True) if o}
    wins = [pair if o > 0 else pair[::-1] for pair, o in decided.items()]
    wins = np.array(wins, dtype=int).reshape(-1, 2)
    found = triads(wins[:, 0], wins[:, 1], 7)
    beats = {tuple(w) for w in wins.tolist()}
    matrix = np.zeros((7, 7))
    matrix[wins[:, 0], wins[:, 1]] = 1
    s = np.nan_to_num(bradley_terry(matrix))

    def p(i, j):
        return 1 / (1 + np.exp(s[j] - s[i]))

    triples, cycles, expected = 0, 0, 0.0
    for a, b, c in itertools.combinations(range(7), 3):
        if {(a, b), (b, c), (a, c)} <= decided.keys():
            triples += 1
            cycles += any(walk <= beats for walk in ({(a, b), (b, c), (c, a)}, {(b, a), (c, b), (a, c)}))
            expected += p(a, b) * p(b, c) * p(c, a) + p(b, a) * p(c, b) * p(a, c)
    assert (found.triples, found.cycles) == (triples, cycles)
    assert found.expected == pytest.approx(expected)


def test_a_cycle_of_all_players_is_one_component():
    ring = np.arange(5)
    found = triads(ring, (ring + 1) % 5, 5)
    assert found.triples == 0  # no three of them have met
    loser = np.array([1, 2, 0, 3, 3, 3])
    found = triads(np.array([0, 1, 2, 0, 1, 2]), loser, 4)
    assert (found.triples, found.cycles, found.in_cycles) == (4, 1, 3)


def test_a_coin_makes_a_quarter_cycles():
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(120, 1)
    heads = rng.random(len(first)) < 0.5
    found = triads(np.where(heads, first, second), np.where(heads, second, first), 120)
    assert found.cycles / found.triples == pytest.approx(CYCLES_BY_CHANCE, abs=0.01)
    assert found.expected / found.triples == pytest.approx(CYCLES_BY_CHANCE, abs=0.02)
