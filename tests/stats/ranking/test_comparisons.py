"""Strengths from paired comparisons, against evalica, which solves one set at a time and otherwise."""

from __future__ import annotations

import evalica
import numpy as np
import pandas as pd
import pytest

from metaeval.evaluators.strengths import METHODS, elo_order, strengths, strengths_by_group
from metaeval.stats.ranking.comparisons import ELO_K, Games, average_win_rate, bradley_terry, elo
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


def test_strengths_that_are_planted_are_found() -> None:
    games = drawn(5, 40_000)
    found = bradley_terry(games.matrix(np.zeros(len(games), np.int64), 1))[0]
    # Ties at random draw strengths nearer to each other; the steps between them stay alike.
    np.testing.assert_allclose(np.diff(found), np.diff(found).mean(), atol=0.06)
    assert 0.3 < np.diff(found).mean() < 0.5


def test_a_player_without_a_game_has_no_strength() -> None:
    games = Games(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.5]), 3)
    for method in METHODS:
        found = strengths(method, games)
        assert np.isnan(found[2])
        assert found[0] > found[1]
        none = Games(games.first[:0], games.second[:0], games.points[:0], 3)
        assert np.isnan(strengths(method, none)).all()


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match="square"):
        bradley_terry(np.zeros((2, 3)))
