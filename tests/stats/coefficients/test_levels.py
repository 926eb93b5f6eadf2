import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.coefficients import levels, tables
from metaeval.stats.coefficients.levels import Grouping, estimate
from tests.examples import examples
from tests.stats import naive


def arrays(seed, n=400, rows=3, *, continuous=False, sort=True):
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 12, n)
    pair = user * 5 + rng.integers(0, 5, n)
    if sort:
        order = np.argsort(pair, kind="stable")
        user, pair = user[order], pair[order]
    x = rng.normal(size=(rows, n)) if continuous else rng.integers(1, 6, (rows, n)).astype(float)
    y = rng.integers(1, 6, (2, n)).astype(float)
    groupings = {
        "dataset": Grouping(np.zeros(n, dtype=np.int8), 1),
        "user": Grouping(user, 12),
        "pair": Grouping(pair, 60),
        "generator": Grouping(rng.integers(0, 6, n), 6, between=True),
    }
    return x, y, groupings, np.array([0, 1, 0][:rows])


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("sort", [False, True])
def test_large_inputs_are_cut_into_blocks_and_give_the_same(monkeypatch, continuous, sort):
    x, y, groupings, y_row = arrays(0, continuous=continuous, sort=sort)
    mask = np.random.default_rng(1).random(x.shape) < 0.9
    whole = estimate(x, y, groupings, naive.COEFFICIENTS, y_row=y_row, mask=mask)
    for module in (levels, tables):
        monkeypatch.setattr(module, "BLOCK", 50)
    in_blocks = estimate(x, y, groupings, naive.COEFFICIENTS, y_row=y_row, mask=mask)
    assert whole.keys() == in_blocks.keys()
    for key, result in whole.items():
        np.testing.assert_allclose(result.estimate, in_blocks[key].estimate, rtol=0, atol=1e-13)
        for count in ("n_units", "n_groups", "n_undefined"):
            assert (getattr(result, count) == getattr(in_blocks[key], count)).all()


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=examples(30))
def test_every_row_is_correlated_with_its_row_of_truth(seed, continuous):
    x, y, groupings, y_row = arrays(seed, n=60, continuous=continuous)
    found = estimate(x, y, groupings, naive.COEFFICIENTS, y_row=y_row)
    for row in range(len(x)):
        for name in naive.COEFFICIENTS:
            whole = naive.coefficient(x[row], y[y_row[row]], name)
            assert naive.same(found["dataset", name].estimate[row], whole)
            group = groupings["user"].group
            within = [
                naive.coefficient(x[row][group == g], y[y_row[row]][group == g], name) for g in set(group)
            ]
            defined = [r for r in within if not np.isnan(r)]
            assert naive.same(found["user", name].estimate[row], np.mean(defined))
            assert found["user", name].n_undefined[row] == len(within) - len(defined)


def test_undefined_everywhere_is_nan_with_its_counts():
    groupings = {
        "dataset": Grouping(np.zeros(4, dtype=int), 1),
        "user": Grouping(np.array([0, 0, 1, 1]), 2),
        "generator": Grouping(np.array([0, 1, 0, 1]), 2, between=True),
    }
    x, y = np.ones((1, 4)), np.array([[1.0, 2, 3, 4]])
    found = estimate(x, y, groupings, ["pearson"])
    for level, groups in (("dataset", 1), ("user", 2), ("generator", 2)):
        result = found[level, "pearson"]
        assert np.isnan(result.estimate[0])
        assert (result.n_units[0], result.n_groups[0], result.n_undefined[0]) == (4, groups, groups)
    as_zero = estimate(x, y, groupings, ["pearson"], undefined="zero")
    assert all(result.estimate[0] == 0 for result in as_zero.values())


def test_a_row_without_units_is_nan():
    x, y, groupings, y_row = arrays(3)
    mask = np.ones(x.shape, dtype=bool)
    mask[1] = False
    found = estimate(x, y, groupings, ["pearson", "kendall"], y_row=y_row, mask=mask, undefined="zero")
    for result in found.values():
        assert np.isnan(result.estimate[1])
        assert result.n_units[1] == 0
        assert not np.isnan(result.estimate[[0, 2]]).any()
