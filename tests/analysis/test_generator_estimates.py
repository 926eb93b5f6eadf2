"""How many of the clusters with labels may keep them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.analysis.generator_estimates import check_labelled
from metaeval.base.errors import MetaevalError


@given(st.integers(-1, 9), st.integers(2, 6), st.integers(0, 9))
def test_what_is_allowed_is_possible(n: int, least: int, known: int) -> None:
    if least <= n < known:
        check_labelled(n, least, known, "user")
        return
    with pytest.raises(MetaevalError) as caught:
        check_labelled(n, least, known, "user")
    ends = re.search(r"from (\d+) to (-?\d+)", str(caught.value))
    assert (ends is None) == (known <= least)
    assert ends is None or least <= int(ends[2]) < known
    assert f"labels of {known} user" in str(caught.value)
