"""Generators ranked by verdicts on pairs."""

from __future__ import annotations

import evalica
import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.evaluators.verdicts import METHODS, comparisons_of
from metaeval.stats.resampling.weights import Resamples, expanded
from metaeval.trust.verdicts.strengths import pairwise_sheets, rank_by_verdicts


def drawn(users: int = 12, seed: int = 0, *, bias: float = 0.0, strength: float = 1.0) -> pd.DataFrame:
    """Draw verdicts on four generators, the later in the alphabet the better."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        for one in range(4):
            for two in range(one + 1, 4):
                for order in ("first", "second"):
                    better = rng.random() < 1 / (1 + np.exp(-strength * (two - one)))
                    winner = "second" if better else "first"
                    if rng.random() < bias:
                        winner = order
                    if rng.random() < 0.1:
                        winner = "tie"
                    rows.append((f"u{user}", "i", "abcd"[one], "abcd"[two], "clear", "j", order, winner))
    names = ["user_id", "item_id", "first", "second", "aspect", "evaluator", "order", "winner"]
    return pd.DataFrame(rows, columns=names).assign(status="ok", call="")


def test_the_ranking_and_its_intervals_are_those_of_a_loop_over_evalica() -> None:
    compared = comparisons_of(drawn())
    (found,) = rank_by_verdicts(compared, resamples=60, seed=4)
    assert found.generators == tuple("abcd")
    level = expanded(0.95, 12)
    winners = {0: evalica.Winner.Draw, 1: evalica.Winner.X, 2: evalica.Winner.Y, 3: evalica.Winner.Draw}
    users = compared["user_id"].unique()
    (weights,) = Resamples(12, 60, 4).blocks()
    rates = []
    for column in weights.T.astype(int):
        again = pd.concat([compared[compared["user_id"] == u] for u in np.repeat(users, column)])
        who = [again[c].tolist() for c in ("first", "second")]
        result = evalica.average_win_rate(*who, [winners[o] for o in again["outcome"]])
        rates.append(result.scores.reindex(list("abcd")).to_numpy())
    ends = np.quantile(rates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    at = METHODS.index("win-rate")
    np.testing.assert_allclose(found.low[at], ends[0], atol=1e-9)
    np.testing.assert_allclose(found.high[at], ends[1], atol=1e-9)
    for method in found.estimate:
        assert (np.diff(method) > 0).all()
    assert ((found.low < found.estimate) & (found.estimate < found.high)).all()


def test_several_aspects_and_their_mean() -> None:
    one, two = drawn(seed=1), drawn(seed=2, strength=-1.0).assign(aspect="true")
    clear, true, average = rank_by_verdicts(comparisons_of(pd.concat([one, two])), resamples=40)
    assert [s.aspect for s in (clear, true, average)] == ["clear", "true", "average"]
    np.testing.assert_allclose(average.estimate, (clear.estimate + true.estimate) / 2)
    assert ((average.low < average.estimate) & (average.estimate < average.high)).all()
    assert average.counts["pairs"].tolist() == [72] * 4


def test_the_sheets_say_what_became_of_the_pairs() -> None:
    verdicts = drawn(40, bias=0.3, strength=0.0)
    verdicts.loc[0, ["winner", "status"]] = ["", "refused"]
    pairs, ranking = pairwise_sheets(verdicts, resamples=200)
    (row,) = pairs.frame.to_dict("records")
    assert row["pairs"] == 240 == row["wins"] + row["ties"] + row["flips"] + row["failed"]
    assert row["failed"] == 1
    assert row["first_share_low"] > 0.5
    assert row["first_share"] == pytest.approx(0.65, abs=0.06)
    assert row["flip_share"] == pytest.approx(row["flips"] / 239)
    assert ranking.frame["bt_rank"].tolist() == sorted(ranking.frame["bt_rank"])
    clean = pairwise_sheets(drawn(40, strength=0.0), resamples=200)[0].frame.iloc[0]
    assert clean["first_share_low"] < 0.5 < clean["first_share_high"]


def test_sheets_are_the_same_every_time() -> None:
    verdicts = drawn()
    one, two = (pairwise_sheets(verdicts, resamples=50) for _ in range(2))
    for first, second in zip(one, two, strict=True):
        pd.testing.assert_frame_equal(first.frame, second.frame)
    with pytest.raises(DataError, match="no verdicts"):
        pairwise_sheets(verdicts[:0])


def test_generators_that_never_met_are_ranked_apart() -> None:
    others = dict(zip("abcd", "wxyz", strict=True))
    one, two = drawn(seed=3), drawn(seed=4).replace({"first": others, "second": others})
    (alone,) = rank_by_verdicts(comparisons_of(one), resamples=40)
    (both,) = rank_by_verdicts(comparisons_of(pd.concat([one, two])), resamples=40)
    assert both.generators == tuple("abcdwxyz")
    assert len(set(both.group[:4])) == len(set(both.group[4:])) == 1 != len(set(both.group))
    at = METHODS.index("bradley-terry")
    np.testing.assert_allclose(both.estimate[at, :4], alone.estimate[at], atol=1e-9)  # the mean of each is 0
    _, ranking = pairwise_sheets(pd.concat([one, two]), resamples=40)
    assert ranking.frame["bt_rank"].tolist() == [1, 2, 3, 4] * 2
    assert any("no pair connects d, c, b, a; z, y, x, w" in note for note in ranking.notes)
    assert not any("no pair connects" in note for note in pairwise_sheets(one, resamples=40)[1].notes)


def test_elo_is_in_the_order_of_the_verdicts_or_its_spread_over_orders_is_told() -> None:
    verdicts = drawn(20)
    verdicts = verdicts[verdicts["order"] == "first"]
    (found,) = rank_by_verdicts(comparisons_of(verdicts), resamples=10)
    assert (found.elo_spread > 0).all()
    played = np.random.default_rng(1).permutation(len(verdicts))
    compared = comparisons_of(verdicts.assign(played=played))
    (given,) = rank_by_verdicts(compared, resamples=10)
    assert np.isnan(given.elo_spread).all()
    elo = METHODS.index("elo")
    assert given.estimate[elo] != pytest.approx(found.estimate[elo])
    winners = [evalica.Winner.Draw, evalica.Winner.X, evalica.Winner.Y]
    rows = compared.sort_values("played")
    sides = (rows["first"].tolist(), rows["second"].tolist())
    one_by_one = evalica.elo(*sides, [winners[o] for o in rows["outcome"]], initial=1000, k=4)
    np.testing.assert_allclose(given.estimate[elo], one_by_one.scores.reindex(list("abcd")), atol=1e-6)
