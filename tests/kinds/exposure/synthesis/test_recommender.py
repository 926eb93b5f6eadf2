"""Item-kNN and its recall against sums made user by user; what is held out is never learnt from."""

import numpy as np
import pytest

from metaeval.kinds.exposure.data.simulated import simulate
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.recommenders.lists import HeldOut
from metaeval.kinds.exposure.synthesis.interactions import Interactions, incidence
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.exposure.synthesis.recommender import downstream, item_knn
from metaeval.kinds.exposure.synthesis.synthesizer import synthesize


def test_items_are_ranked_by_the_sum_of_their_cosines_and_those_shown_are_left_out() -> None:
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


def test_recall_is_the_weighted_share_of_the_held_out_successes_in_the_lists() -> None:
    """Against sums over the rows themselves, without and with synthetic interactions."""
    data = simulate(users=60, items=100, seed=5).data
    known, given = Interactions.of_log(data), propensities_of(data, PropensityOptions())
    how = SynthesisOptions(held_out=0.3, k=10)
    found = downstream(data, given, how, floor=1e-6, rounds=1).sum(axis=-1)
    held = HeldOut.latest(known.of, 0.3, how.seed)
    assert not np.isin(known.of.pair[held.rows], known.of.pair[held.early]).any()
    train = known.among(held.early)
    assert known.of.time is not None
    for user in range(60):
        own = [known.of.time[rows][known.of.user[rows] == user] for rows in (held.early, held.rows)]
        assert not own[0].size or not own[1].size or own[0].max() <= own[1].min()
    made = synthesize(train, how)
    bins, of = made.bins, known.of
    weight = dict(zip(held.rows.tolist(), held.weight(given, 1e-6), strict=True))
    learnt = [(train.user, train.item), (np.r_[train.user, made.user], np.r_[train.item, made.item])]
    shape = (len(of.users), len(of.items))
    shown = incidence(train.of.user, train.of.item, shape)
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


def test_lists_move_to_where_the_target_puts_the_interactions() -> None:
    data = simulate(users=100, items=100, seed=8).data
    given = propensities_of(data, PropensityOptions())
    share = []
    for target in ((1, 0, 0, 0, 0), (0, 0, 0, 0, 1)):
        how = SynthesisOptions(target=target)
        before, after = downstream(data, given, how, floor=1e-6, rounds=1)[:, 3].sum(axis=-1)
        share.append(after[0] / after[1])
    assert share[0] < before[0] / before[1] < share[1]
