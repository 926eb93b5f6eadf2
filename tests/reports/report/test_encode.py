"""Short JSON for arrays."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from metaeval.reports.report.units import Texts, coded, decimals, number

FLOATS = st.floats(-1e6, 1e6) | st.just(math.nan)


@given(hnp.arrays(np.float64, st.integers(0, 30), elements=FLOATS))
def test_coded_values_come_back(values: np.ndarray) -> None:
    found = json.loads(json.dumps(coded(values), allow_nan=False))
    back = [found["values"][c] if c >= 0 else math.nan for c in found["codes"]]
    np.testing.assert_allclose(back, values, rtol=5e-9, atol=1e-300)


@given(hnp.arrays(np.float64, (2, 3), elements=st.floats(-1, 1) | st.just(math.nan)))
def test_decimals_keep_the_shape(values: np.ndarray) -> None:
    found = json.loads(json.dumps(decimals(values), allow_nan=False))
    np.testing.assert_allclose(np.array(found, dtype=float), values, atol=5.1e-5)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (math.nan, None),
        (math.inf, None),
        (3.0, 3),
        (0.12345678949, 0.123456789),
        (-0.0, 0),
        (1e-9, 1e-9),
    ],
)
def test_number(value: float | None, expected: float | None) -> None:
    found = number(value)
    assert found == expected
    assert "-0" not in json.dumps(found) or value == 1e-9


def test_texts_stand_once() -> None:
    texts = Texts()
    assert texts.places(["b", "a", None, "b", math.nan]) == [0, 1, -1, 0, -1]
    assert texts.all == ["b", "a"]
    assert len(texts) == 2
