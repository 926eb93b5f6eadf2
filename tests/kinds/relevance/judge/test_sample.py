"""Which items of a user are asked about."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaeval.kinds.relevance.judge.sample import sampled, spread
from tests.kinds.relevance.judge.films import films


@given(st.integers(1, 300), st.integers(0, 1000))
def test_every_beginning_is_spread_evenly(count: int, seed: int) -> None:
    """No stretch of the circle between two neighbours is more than four times the mean."""
    order = spread(count, seed % count)
    assert sorted(order) == list(range(count))
    for size in range(1, count + 1):
        places = np.sort(order[:size])
        gaps = np.diff(np.append(places, places[0] + count))
        assert gaps.max() <= max(1, 4 * count / size)


def test_a_sample_has_units_of_all_depths() -> None:
    data = films(users=20, items=200, judged=100)
    depths = data.runs["rank"].to_numpy()[sampled(data, 20, seed=0)]
    quarters = np.histogram(depths, [1, 26, 51, 76, 101])[0] / 20
    assert np.allclose(quarters, 5, atol=1)
    assert sorted(sampled(data, None, seed=0)) == sorted(sampled(data, 500, seed=0)) == list(range(2000))


def test_a_smaller_sample_is_part_of_a_larger_and_a_user_depends_on_nobody_else() -> None:
    data = films(users=5, items=60, judged=40)
    some, more, other = (set(sampled(data, n, seed)) for n, seed in ((7, 0), (23, 0), (7, 1)))
    assert some < more
    assert some != other
    alone = data.without("user_id", ["u0", "u1", "u2", "u4"])
    assert {unit + 3 * 40 for unit in sampled(alone, 7, 0)} == {u for u in some if 120 <= u < 160}
    shuffled = dataclasses.replace(data, runs=data.runs.sample(frac=1, random_state=1))
    assert set(sampled(shuffled, 7, 0)) == some


def test_what_no_run_has_is_the_deepest() -> None:
    data = films(users=1, items=60, judged=40)
    data = dataclasses.replace(data, runs=data.runs[data.runs["rank"] <= 20])
    in_runs = [unit < 20 for unit in sampled(data, 10, 0)]
    assert sum(in_runs) == 5
