"""Samples of labels: so many of each user, spread over the depths of the pool."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaeval.kinds.relevance.systems.curve import best_rank, sample_places
from metaeval.kinds.relevance.systems.effectiveness import RankedRuns


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.booleans()), min_size=1), st.integers(0, 99)
)
def test_every_labelled_unit_has_a_place_among_those_of_its_user(units, seed):
    user, depth, there = (np.array(column) for column in zip(*units, strict=True))
    places = sample_places(user, depth, there.astype(bool), np.arange(len(user)), seed=seed)
    for u in set(user[there]):
        assert sorted(places[(user == u) & there]) == list(range(int(((user == u) & there).sum())))
    assert (places[~there] >= len(user)).all()  # what has no label is in no sample


def test_every_sample_has_all_depths_in_proportion():
    user, depth = np.zeros(64, dtype=int), np.repeat(np.arange(8), 8)
    for seed in range(20):
        places = sample_places(user, depth, np.ones(64, dtype=bool), np.arange(64), seed=seed)
        for size in (8, 16, 32):
            taken = np.bincount(depth[places < size], minlength=8)
            assert taken.tolist() == [size // 8] * 8


def test_the_depth_of_a_unit_is_the_best_rank_that_a_system_gives_it(made_up):
    data, judgements = made_up
    runs = RankedRuns.of(data.runs, judgements.units)
    best = data.runs.groupby(["user_id", "item_id"])["rank"].min()
    assert best_rank(runs).tolist() == [best[tuple(pair)] - 1 for pair in judgements.units.to_numpy()]
