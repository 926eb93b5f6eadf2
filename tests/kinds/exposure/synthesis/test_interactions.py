"""Transitions, cosines and distances against counts made pair by pair; copied users are found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from data.make_exposure import simulate
from metaeval.kinds.exposure.study import SynthesisOptions
from metaeval.kinds.exposure.synthesis_rounds import (
    nearest_of,
    nearest_users,
    synthesis_frame,
    transition_distance,
)
from metaeval.kinds.exposure.synthesizer import (
    KnownInteractions,
    cosine_graph,
    incidence,
    steps_of,
    synthesize,
    transition_counts,
)

ITEMS, GENRES = 6, 3


@given(
    arrays(bool, (ITEMS, GENRES)),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, ITEMS - 1)), min_size=2, max_size=20),
)
def test_a_step_counts_once_in_equal_parts_of_its_genres(has, pairs):
    pairs = sorted(pairs, key=lambda pair: pair[0])
    user, item = np.array(pairs).T
    wanted = np.zeros((GENRES, GENRES))
    for (one, i), (other, j) in itertools.pairwise(pairs):
        if one == other:
            for g in np.flatnonzero(has[i]):
                for h in np.flatnonzero(has[j]):
                    wanted[g, h] += 1 / has[i].sum() / has[j].sum()
    found = transition_counts(*steps_of(user, item), has.astype(float))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@given(arrays(bool, (5, ITEMS)), st.integers(1, ITEMS))
def test_neighbours_are_the_items_with_the_highest_cosines(taken, most):
    found = cosine_graph(incidence(*np.nonzero(taken), taken.shape), most).toarray()
    for i in range(ITEMS):
        a = taken[:, i].astype(float)
        cosines = {
            j: a @ taken[:, j] / np.sqrt(a.sum() * taken[:, j].sum())
            for j in range(ITEMS)
            if j != i and (taken[:, i] & taken[:, j]).any()
        }
        best = sorted(cosines, key=lambda j: (-round(cosines[j], 12), j))[:most]
        assert np.flatnonzero(found[i]).tolist() == sorted(best)
        np.testing.assert_allclose(found[i, best], [cosines[j] for j in best], atol=1e-11)


KNOWN = KnownInteractions.of_log(simulate(users=40, items=120, seed=6).data)
counts = arrays(float, (3, 3), elements=st.integers(0, 9).map(float))


@given(counts, counts)
def test_distances_are_the_means_of_their_definitions(real, other):
    def bits(p):
        return sum(x * np.log2(x) for x in p if x > 0)

    total, divergence, mass = 0.0, 0.0, 0.0
    for one, two in zip(real, other, strict=True):
        if one.sum() and two.sum():
            p, q = one / one.sum(), two / two.sum()
            mass += one.sum()
            total += one.sum() * max(abs(p[list(s)].sum() - q[list(s)].sum()) for s in _subsets())
            divergence += one.sum() * ((bits(p) + bits(q)) / 2 - bits((p + q) / 2))
    found = transition_distance(real, other)
    if mass:
        assert found == pytest.approx((total / mass, divergence / mass), abs=1e-9)
    else:
        assert np.isnan(found).all()


def _subsets():
    return [[], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]


@given(arrays(bool, (5, 6)), arrays(bool, (5, 6)))
def test_the_nearest_user_is_another_one(sequences, taken):
    sequences[:, 0] = taken[:, 0] = True  # none is empty
    rows = [incidence(*np.nonzero(of), of.shape) for of in (sequences, taken)]
    found = nearest_users(rows[0], np.arange(5), rows[1])
    for user, own in enumerate(sequences):
        others = [t for other, t in enumerate(taken) if other != user]
        cosines = [(own & t).sum() / np.sqrt(own.sum() * t.sum()) for t in others]
        assert found.cosine[user] == pytest.approx(max(cosines))
        assert found.contained[user] == any(not (own & ~t).any() for t in others)
        assert found.same[user] == any((own == t).all() for t in others)


def copied(made):
    """Give each user the real items of the next one, as a synthesizer that leaks would."""
    users = np.flatnonzero(KNOWN.count)
    pairs = [
        (user, item) for user in users for item in KNOWN.item[KNOWN.user == np.roll(users, 1)[users == user]]
    ]
    user, item = np.array(pairs).T
    step = np.concatenate([np.arange(1, n + 1) for n in np.bincount(user) if n])
    none = np.zeros(len(user), dtype=bool)
    return replace(
        made, user=user, item=item, step=step, anchor=none - 1, by_transition=none, by_similarity=none
    )


def test_a_synthesizer_that_copies_users_is_found_out():
    made = synthesize(KNOWN, SynthesisOptions())
    honest, leak = (synthesis_frame(of).set_index("measure")["value"] for of in (made, copied(made)))
    assert honest["the same as a real user"] == 0
    assert honest["nearer than real items"] < 0.3
    assert leak["the same as a real user"] == leak["contained in a real user"] == 1
    assert leak["nearer than real items"] > 0.9
    assert nearest_of(copied(made))[0].cosine == pytest.approx(1)
