"""Draws depend on a seed and on names alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.resampling.draws import drawn, generator, permutation

NAMES = st.lists(st.text(max_size=3), unique=True, max_size=8)


@given(NAMES, NAMES, st.integers(0, 8), st.randoms())
def test_fewer_names_are_among_more_whatever_else_is_there(names, others, count: int, random) -> None:
    found = drawn(names, count or 1, 0)
    assert drawn(random.sample(names, len(names)), count or 1, 0) == found
    assert drawn(names, (count or 1) + 1, 0)[: count or 1] == found
    wider = drawn({*names, *others}, None, 0)
    assert sorted(wider) == sorted({*names, *others})
    of_both = drawn({*names, *others}, len({*names, *others}) or 1, 0)
    assert [name for name in of_both if name in found] == found


def test_another_seed_or_name_is_another_draw() -> None:
    names = [f"n{i}" for i in range(40)]
    assert drawn(names, 10, 0) != drawn(names, 10, 1)
    assert drawn(names, 0, 0) == sorted(names)
    assert generator(0, "a", "b").random() == generator(0, "a", "b").random()
    assert generator(0, "a", "b").random() != generator(0, "ab").random()
    assert sorted(permutation(9, 3, "a")) == list(range(9))
