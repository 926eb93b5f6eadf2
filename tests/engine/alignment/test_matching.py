"""Codes of key columns, by the fast ways and by pandas' own."""

import numpy as np
import pandas as pd
import pytest

from metaeval.engine.alignment.matching import numbered_runs, shared_codes


@pytest.mark.parametrize("dtype", ["str", "category", "object", "int64", "string", "float64"])
@pytest.mark.parametrize("runs", [0, 1, 7, 20_000])
def test_runs_are_numbered_as_single_values_are(dtype, runs):
    rng = np.random.default_rng(runs)
    values = np.repeat(rng.integers(0, 4, runs), rng.integers(1, 4, runs))
    named = {0: np.nan if dtype == "float64" else None if "int" not in dtype else 0}
    named |= {v: v if dtype in ("int64", "float64") else f"v{v}" for v in (1, 2, 3)}
    array = pd.Series([named[v] for v in values.tolist()], dtype=dtype).array
    codes, distinct = numbered_runs(array)
    wanted, known = pd.factorize(array)
    np.testing.assert_array_equal(codes, wanted)
    assert list(distinct) == list(known)


@pytest.mark.parametrize("scores", [["a", "b", "a", "b"], ["a", "b"], ["a", "b", "b", "a"], ["b", "c", "a"]])
def test_codes_mean_the_same_however_often_the_rows_of_the_truth_come(scores):
    found = shared_codes(pd.Series(["a", "b"]), pd.Series(scores), "user")
    assert [found.labels[c] if c >= 0 else None for c in found.scores] == [
        s if s in ("a", "b") else None for s in scores
    ]
