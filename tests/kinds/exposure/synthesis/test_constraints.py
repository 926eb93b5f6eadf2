"""Transitions and cosines against counts made pair by pair."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metaeval.kinds.exposure.synthesis.constraints import cosine_graph, steps_of, transition_counts
from metaeval.kinds.exposure.synthesis.interactions import incidence

ITEMS, GENRES = 6, 3


@given(
    arrays(bool, (ITEMS, GENRES)),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, ITEMS - 1)), min_size=2, max_size=20),
)
def test_a_step_counts_once_in_equal_parts_of_its_genres(has, pairs) -> None:
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
def test_neighbours_are_the_items_with_the_highest_cosines(taken, most) -> None:
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
