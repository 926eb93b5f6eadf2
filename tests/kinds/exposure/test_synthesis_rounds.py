"""Pairs of the next round are real and follow the synthetic exposure; changes pair the same users."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from data.make_exposure import simulate
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.data.loading import pairs_of
from metaeval.kinds.exposure.data.log_set import preferences_of, units_of
from metaeval.kinds.exposure.pairs import matched_pairs
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.recommenders.sums import HeldOut
from metaeval.kinds.exposure.study import PropensityOptions, SynthesisOptions
from metaeval.kinds.exposure.synthesis_rounds import (
    agreement_sums,
    augmented,
    change_rows,
    downstream,
    item_knn,
    own_pairs,
    with_synthetic,
)
from metaeval.kinds.exposure.synthesizer import KnownInteractions, incidence, synthesize
from tests.kinds.exposure.studies import random_pairs, scored

SIMULATED = simulate(users=150, items=100, seed=2)
GIVEN = propensities_of(SIMULATED.data, PropensityOptions())
UNITS = units_of(matched_pairs(GIVEN, match=("popularity",), floor=1e-6).frame)
DATA = replace(SIMULATED.data, table=UNITS, ratings=preferences_of(UNITS, SIMULATED.data.log))
MADE = synthesize(KnownInteractions.of_log(DATA), SynthesisOptions())


def test_the_mixed_propensity_is_that_of_the_log_or_the_synthesizer():
    mixed = augmented(GIVEN, MADE.item, MADE.bins)
    shown = np.zeros(SIMULATED.propensity.shape, dtype=bool)
    shown[GIVEN.log.user, GIVEN.log.item] = True
    for bin_ in range(5):
        own = MADE.bins == bin_
        free = ~shown[:, own]
        chance = (MADE.bins[MADE.item] == bin_).sum() / free.sum()  # of an unexposed pair
        rows = own[GIVEN.log.item]
        p = GIVEN.probability[rows]
        np.testing.assert_allclose(mixed.probability[rows], 1 - (1 - p) * (1 - chance))
    assert (mixed.probability >= GIVEN.probability).all()
    assert mixed.probability.max() <= 1


def test_mixed_choices_are_drawn_from_log_and_synthesizer_by_their_rows():
    choices = replace(GIVEN, exposure="choice", probability=np.full(len(GIVEN.log), 0.01))
    mixed = augmented(choices, MADE.item, MADE.bins).probability
    n, m = len(GIVEN.log), len(MADE.item)
    for row in (0, 7, 99):
        bin_ = MADE.bins[GIVEN.log.item[row]]
        share = (MADE.bins[MADE.item] == bin_).mean() / (MADE.bins == bin_).sum()
        assert mixed[row] == pytest.approx((n * 0.01 + m * share) / (n + m))


def test_pairs_follow_the_curve_as_far_as_there_are_any_and_are_of_the_real_log():
    new = with_synthetic(DATA, [MADE], GIVEN, floor=1e-6, seed=0)
    again = with_synthetic(DATA, [MADE], GIVEN, floor=1e-6, seed=0)
    pd.testing.assert_frame_equal(new.table, again.table)
    before, after = pairs_of(DATA), pairs_of(new)
    assert before is not None
    assert after is not None
    share = [pairs["popularity"].isin(["3", "4"]).mean() for pairs in (before, after)]
    assert share[1] > 2 * share[0]
    wanted = np.bincount(MADE.bins[MADE.item], minlength=5) / len(MADE.item) * len(before)
    for bin_, count in after["popularity"].value_counts().items():
        assert count <= round(wanted[int(bin_)])
    # The truth is made of the log alone, whatever was made up.
    pd.testing.assert_frame_equal(new.ratings, preferences_of(new.table, DATA.log))
    assert (new.log is DATA.log, new.scores) == (True, None)
    assert new.synthetic is not None
    assert len(new.synthetic) == len(MADE.item)


def test_pairs_that_an_ablation_added_are_no_part_of_it():
    further = UNITS.assign(matching=np.where(np.arange(len(UNITS)) % 4 < 2, "", "nothing"))
    left = own_pairs(replace(DATA, table=further))
    assert left.table.equals(UNITS[(further["matching"] == "").to_numpy()].reset_index(drop=True))
    assert left.ratings.equals(preferences_of(left.table, DATA.log))
    assert own_pairs(DATA) is DATA


def test_of_a_change_that_all_users_share_the_interval_is_narrow_though_users_differ():
    draw = np.random.default_rng(1)
    level = draw.random(400) * 50
    before = np.stack([level, np.full(400, 100.0)])
    after = np.stack([level + 10, np.full(400, 100.0)])
    rounds = np.stack([before, after])[:, None]
    (row,) = change_rows("evaluator", "e", ["share"], rounds, Bootstrap(resamples=400))
    assert row["change"] == pytest.approx(0.1)
    assert row["change_high"] - row["change_low"] < 1e-9
    assert row["before_high"] - row["before_low"] > 0.01
    (other,) = change_rows("evaluator", "e", ["share"], rounds, None)
    assert (other["change"], np.isnan(other["change_low"])) == (row["change"], True)


@pytest.mark.parametrize("ties", ["wrong", "half", "drop"])
def test_agreement_is_the_pair_auc_of_the_run(ties):
    data = random_pairs(3)
    draw = np.random.default_rng(3)
    cells = scored(data, {e: draw.integers(-1, 2, len(data)) for e in "ab"}, ties=ties).cells
    users = pd.Index(["another", *data.table["user_id"].unique()])
    sums = agreement_sums(cells, users)
    for at, weighting in enumerate(("ips", "none")):
        board = cells.board().of({"bin": "all", "weighting": weighting, "measure": "PairAUC"})
        found = [right / count for right, count in (sums[e][at].sum(axis=1) for e in "ab")]
        assert found == pytest.approx(board["estimate"].tolist())
    assert not sums["a"][:, :, 0].any()
    units = data.table.assign(weight=np.nan)
    unknown = agreement_sums(scored(replace(data, table=units), {"a": np.ones(len(data))}).cells, users)
    assert np.isnan(unknown["a"][0]).all()
    assert not np.isnan(unknown["a"][1]).any()


def test_items_are_ranked_by_the_sum_of_their_cosines_and_those_shown_are_left_out():
    draw = np.random.default_rng(0)
    taken = draw.random((30, 12)) < 0.3
    shown = taken | (draw.random(taken.shape) < 0.1)
    size = np.sqrt(np.maximum(taken.sum(axis=0), 1))
    cosine = (taken.T.astype(float) @ taken) / np.outer(size, size)
    np.fill_diagonal(cosine, 0)
    rows = [incidence(*np.nonzero(of), of.shape) for of in (taken, shown)]
    lists = item_knn(*rows, 4, 12)
    for user in range(30):
        score = {i: round(taken[user] @ cosine[:, i], 10) for i in range(12) if not shown[user, i]}
        best = [i for i in sorted(score, key=lambda i: (-score[i], i)) if score[i] > 0][:4]
        assert lists[user].tolist() == best + [-1] * (4 - len(best))


def test_recall_is_the_weighted_share_of_the_held_out_successes_in_the_lists():
    """Against sums over the rows themselves, without and with synthetic interactions."""
    data = simulate(users=60, items=100, seed=5).data
    known, given = KnownInteractions.of_log(data), propensities_of(data, PropensityOptions())
    how = SynthesisOptions(held_out=0.3, k=10)
    found = downstream(data, given, how, floor=1e-6, rounds=1).sum(axis=-1)
    held = HeldOut.latest(known.log, 0.3, how.seed)
    assert not np.isin(known.log.pair[held.rows], known.log.pair[held.early]).any()
    train = known.among(held.early)
    assert known.log.time is not None
    for user in range(60):
        own = [known.log.time[rows][known.log.user[rows] == user] for rows in (held.early, held.rows)]
        assert not own[0].size or not own[1].size or own[0].max() <= own[1].min()
    made = synthesize(train, how)
    bins, of = made.bins, known.log
    weight = dict(zip(held.rows.tolist(), held.weight(given, 1e-6), strict=True))
    learnt = [(train.user, train.item), (np.r_[train.user, made.user], np.r_[train.item, made.item])]
    shape = (len(of.users), len(of.items))
    shown = incidence(train.log.user, train.log.item, shape)
    recommended = [item_knn(incidence(*pairs, shape), shown, 10, how.neighbours) for pairs in learnt]
    served = np.any([(lists >= 0).any(axis=1) for lists in recommended], axis=0)
    liked = [r for r in held.rows.tolist() if of.outcome[r] == 1 and served[of.user[r]]]
    for number, lists in enumerate(recommended):
        hits = [row for row in liked if of.item[row] in lists[of.user[row]]]
        ips, plain, tail, share = found[number]
        assert ips == pytest.approx([sum(weight[r] for r in rows) for rows in (hits, liked)])
        assert plain == pytest.approx([len(hits), len(liked)])
        own = [[r for r in rows if bins[of.item[r]] >= 3] for rows in (hits, liked)]
        assert tail == pytest.approx([sum(weight[r] for r in rows) for rows in own])
        flat = lists[lists >= 0]
        assert share.tolist() == [(bins[flat] >= 3).sum(), len(flat)]


def test_lists_move_to_where_the_target_puts_the_interactions():
    data = simulate(users=100, items=100, seed=8).data
    given = propensities_of(data, PropensityOptions())
    share = []
    for target in ((1, 0, 0, 0, 0), (0, 0, 0, 0, 1)):
        how = SynthesisOptions(target=target)
        before, after = downstream(data, given, how, floor=1e-6, rounds=1)[:, 3].sum(axis=-1)
        share.append(after[0] / after[1])
    assert share[0] < before[0] / before[1] < share[1]
