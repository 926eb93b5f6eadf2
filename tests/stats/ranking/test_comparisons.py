"""Strengths from paired comparisons, against evalica, which solves one set at a time and otherwise."""

from __future__ import annotations

import itertools
import math

import evalica
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.evaluators.verdicts import METHODS, elo_order, strengths, strengths_by_group
from metaeval.stats.ranking.comparisons import (
    CYCLES_BY_CHANCE,
    ELO_K,
    Games,
    average_win_rate,
    bradley_terry,
    elo,
    triads,
)
from metaeval.stats.resampling.weights import Resamples

WINNER = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}


def drawn(seed: int, n: int, players: int = 5) -> Games:
    """Draw games in which a player's number is its strength."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, players, n)
    second = (first + rng.integers(1, players, n)) % players
    wins = rng.random(n) < 1 / (1 + np.exp((second - first) / 2))
    return Games(first, second, np.where(rng.random(n) < 0.2, 0.5, wins.astype(float)), players)


def evalicas(method: str, games: Games) -> np.ndarray:
    """Return evalica's strengths; for Bradley and Terry's, all tie an opponent who is taken out again."""
    n, met = games.n_players, games.met.tolist()
    xs, ys = games.first.tolist(), games.second.tolist()
    winners = [WINNER[p] for p in games.points.tolist()]
    if method == "bradley-terry":
        xs, ys, winners = xs + met, ys + [n] * len(met), winners + [evalica.Winner.Draw] * len(met)
        result = evalica.bradley_terry(xs, ys, winners, tolerance=1e-12, limit=1_000_000, solver="naive")
        found = np.log(result.scores.reindex(range(n)).to_numpy())
        return found - np.nanmean(found)
    if method == "elo":
        return evalica.elo(xs, ys, winners, k=ELO_K).scores.reindex(range(n)).to_numpy()
    return evalica.average_win_rate(xs, ys, winners).scores.reindex(range(n)).to_numpy()


@pytest.mark.parametrize("seed", range(8))
def test_bradley_terry_is_evalicas_on_every_resample(seed: int) -> None:
    games = drawn(seed, 60)
    cluster = np.random.default_rng(seed).integers(0, 7, len(games))
    by_cluster = games.matrix(cluster, 7)
    (weights,) = Resamples(7, 12, seed).blocks()
    found = bradley_terry(np.einsum("cij,cb->bij", by_cluster, weights))
    for column, strengths_ in zip(weights.T.astype(int), found, strict=True):
        again = games.take(np.repeat(np.arange(len(games)), column[cluster]))
        np.testing.assert_allclose(strengths_, evalicas("bradley-terry", again), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_done_for_all_groups_at_once_is_what_evalica_does_for_each(method: str, seed: int) -> None:
    games = drawn(seed, 90)
    group = np.random.default_rng(seed + 1).integers(0, 6, len(games))
    group[group == 4] = 5  # a group without a game
    found = strengths_by_group(method, games, group, 6, seed=3)
    for g in set(range(6)) - {4}:
        of_group = games.take(np.flatnonzero(group == g))
        np.testing.assert_allclose(found[g], strengths(method, of_group, seed=3))
        in_order = of_group.take(elo_order(len(of_group), 3))
        np.testing.assert_allclose(found[g], evalicas(method, in_order), atol=1e-5)
    assert np.isnan(found[4]).all()


def test_elo_of_a_resample_is_nearly_that_of_the_games_written_out() -> None:
    games = drawn(0, 400)
    times = np.random.default_rng(1).poisson(1.0, len(games))
    again = games.take(np.repeat(np.arange(len(games)), times))
    winners = [WINNER[p] for p in again.points.tolist()]
    result = evalica.elo(
        again.first.tolist(), again.second.tolist(), winners, index=pd.Index(range(5)), k=ELO_K
    )
    found = elo(games, times[:, None].astype(float))[0]
    exact = result.scores.reindex(range(5)).to_numpy()
    assert np.abs(exact - 1000).max() > 50
    np.testing.assert_allclose(found, exact, atol=1.0)
    assert elo_order(10, 0).tolist() != list(range(10))


def test_who_always_wins_is_strong_and_not_infinitely_so() -> None:
    points = np.array([[0, 50, 50], [0, 0, 25], [0, 25, 0.0]])
    found = bradley_terry(points)
    assert np.isfinite(found).all()
    assert found[0] > 3
    assert found[1] == pytest.approx(found[2])
    assert found.sum() == pytest.approx(0)
    np.testing.assert_allclose(average_win_rate(points), [1, 0.25, 0.25])


def test_a_player_without_a_game_has_no_strength() -> None:
    games = Games(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.5]), 3)
    for method in METHODS:
        found = strengths(method, games)
        assert np.isnan(found[2])
        assert found[0] > found[1]
        none = Games(games.first[:0], games.second[:0], games.points[:0], 3)
        assert np.isnan(strengths(method, none)).all()


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
