"""Item-kNN and its recall against sums made user by user; what is held out is never learnt from."""

import numpy as np
import pytest

from metaeval.kinds.exposure.data.simulated import simulate
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.synthesis.interactions import Interactions, incidence
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.exposure.synthesis.recommender import HeldOut, downstream, held_out, item_knn, recall_sums


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


def test_recall_is_the_weighted_share_of_what_was_held_out() -> None:
    lists = np.array([[0, 1], [2, -1], [3, 0]])
    held = HeldOut(np.array([0, 0, 1, 1]), np.array([0, 4, 2, 3]), np.array([2.0, 1.0, 4.0, 1.0]))
    ips, plain, tail, lengths = recall_sums(lists, held, np.array([0, 1, 2, 3, 4])).sum(axis=2)
    assert ips.tolist() == [2 + 4, 8]
    assert plain.tolist() == [2, 4]
    assert tail.tolist() == [0, 2]  # of items 3 and 4
    assert lengths.tolist() == [1, 5]


def test_what_is_held_out_is_real_late_and_new_to_the_user() -> None:
    data = simulate(users=60, items=100, seed=5).data
    known = Interactions.of_log(data)
    train, late = known.split(0.3)
    given = propensities_of(data, PropensityOptions())
    held = held_out(known, train, given, late, 1e-6)
    shown = set(train.of.pair.tolist())
    pairs = held.user.astype(np.int64) * len(known.of.items) + held.item
    assert not shown & set(pairs.tolist())
    successes = known.of.pair[late & (known.of.outcome == 1)]
    assert set(pairs.tolist()) == set(successes.tolist()) - shown
    rows = dict(zip(known.of.pair.tolist(), given.probability, strict=True))
    assert held.weight == pytest.approx([1 / rows[pair] for pair in pairs.tolist()])


def test_without_constraints_on_exposure_lists_move_to_the_tail_as_the_target_says() -> None:
    data = simulate(users=100, items=100, seed=8).data
    given, known = propensities_of(data, PropensityOptions()), Interactions.of_log(data)
    share = []
    for target in ((1, 0, 0, 0, 0), (0, 0, 0, 0, 1)):
        before, after = downstream(known, given, SynthesisOptions(target=target), 1e-6, 1)[:, 3].sum(axis=-1)
        share.append(after[0] / after[1])
    assert share[0] < before[0] / before[1] < share[1]
