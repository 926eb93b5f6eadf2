import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.regression.variance import Design
from tests.examples import examples


def decompose(values, factors):
    return Design.of(factors).decompose(values)


def _crossed(*sizes):
    """Codes of a balanced design, one array a factor."""
    return np.array(list(itertools.product(*map(range, sizes)))).T


@pytest.mark.parametrize("seed", range(3))
def test_balanced_design_equals_the_classical_analysis(seed):
    a, b, r = 4, 3, 5
    user, item, _ = _crossed(a, b, r)
    rng = np.random.default_rng(seed)
    y = rng.normal(size=a)[user] + rng.normal(size=b)[item] + rng.normal(size=user.size) + 1000
    anova = sm.stats.anova_lm(
        smf.ols("y ~ C(user) * C(item)", pd.DataFrame({"y": y, "user": user, "item": item})).fit()
    )
    ms = anova["mean_sq"]
    found = decompose(y, {"user": user, "item": item, "pair": user * b + item}).components
    expected = {
        "user": (ms["C(user)"] - ms["C(user):C(item)"]) / (b * r),
        "item": (ms["C(item)"] - ms["C(user):C(item)"]) / (a * r),
        "pair": (ms["C(user):C(item)"] - ms["Residual"]) / r,
        "residual": ms["Residual"],
    }
    assert list(found) == list(expected)
    assert {k: float(v) for k, v in found.items()} == pytest.approx(expected, abs=1e-9)


@st.composite
def designs(draw):
    n = draw(st.integers(6, 40))
    code = st.lists(st.integers(-1, 4), min_size=n, max_size=n)
    user, item = np.array(draw(code)), np.array(draw(code))
    y = np.array(draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)), float)
    return y, {"user": user, "item": item}


def _naive(y, factors):
    """Henderson's equations with one dense matrix a quadratic form: E[y'Qy] = Σ σ² trace(Q Z Z')."""
    z = [(np.asarray(f)[:, None] == np.unique(f)).astype(float) for f in factors.values()]
    n = len(y)
    mean = np.full((n, n), 1 / n)
    forms = [m @ np.diag(1 / m.sum(axis=0)) @ m.T - mean for m in z] + [np.eye(n) - mean]
    effects = [m @ m.T for m in z] + [np.eye(n)]
    expected = np.array([[np.trace(q @ e) for e in effects] for q in forms])
    return expected, np.array([y @ q @ y for q in forms])


@given(designs())
@settings(max_examples=examples(150))
def test_unbalanced_design_equals_dense_matrices(design):
    y, factors = design
    expected, squares = _naive(y, factors)
    found = decompose(y, factors)
    if found.design.merged or found.design.undetermined:
        assert np.linalg.matrix_rank(expected, tol=1e-6) < len(expected)
    else:
        solved = np.linalg.solve(expected, squares)
        tolerance = 1e-13 * np.linalg.cond(expected) * (1 + np.abs(solved).max())
        np.testing.assert_allclose(list(found.components.values()), solved, atol=tolerance)


def test_one_row_and_many_rows_are_the_same():
    user, item, _ = _crossed(5, 4, 2)
    rows = np.random.default_rng(0).integers(1, 6, (3, user.size)).astype(float)
    rows[1] = 0.1  # a constant has no shares
    design = Design.of({"user": user, "item": item})
    found = design.decompose(rows)
    for i, row in enumerate(rows):
        alone = design.decompose(row)
        for name in ("user", "item", "residual"):
            assert alone.components[name].shape == ()
            np.testing.assert_array_equal(found.components[name][i], alone.components[name])
            np.testing.assert_array_equal(found.shares[name][i], alone.shares[name])
    assert found.components["residual"][1] == 0
    assert np.isnan(found.shares["residual"][1])


def test_negative_components_stay_and_take_no_share():
    unit, rater = _crossed(3, 4)
    y = np.tile([1.0, 2.0, 3.0, 4.0], 3)
    y[:2] = 2.0, 1.0  # all units have one mean
    found = decompose(y, {"unit": unit, "rater": rater})
    assert found.components["unit"] < 0
    assert found.shares["unit"] == 0
    assert found.shares["rater"] + found.shares["residual"] == pytest.approx(1)
    kept = found.components["rater"] + found.components["residual"]
    assert found.shares["rater"] == pytest.approx(float(found.components["rater"] / kept))


def test_factors_that_group_alike_are_one():
    """Each user has one item: user × item says what user says."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(12), 5)
    item = user % 4
    y = rng.normal(size=12)[user] + rng.normal(size=60)
    found = decompose(y, {"user": user, "item": item, "pair": user * 4 + item})
    alone = decompose(y, {"user": user, "item": item})
    assert found.design.merged == {"pair": "user"}
    assert not found.design.undetermined
    assert np.isnan(found.components["pair"])
    assert found.design.n_levels == {"user": 12, "item": 4, "pair": 12}
    for name in ("user", "item", "residual"):
        assert found.components[name] == alone.components[name]
        assert found.shares[name] == alone.shares[name]


def test_a_factor_of_single_units_is_the_residual_and_a_constant_one_the_mean():
    user, item = _crossed(6, 5)
    y = np.random.default_rng(0).normal(size=30)
    found = decompose(
        y, {"study": np.zeros(30, dtype=int), "user": user, "item": item, "pair": user * 5 + item}
    )
    assert found.design.merged == {"study": "mean", "pair": "residual"}
    assert np.isnan(found.components["study"])
    assert np.isnan(found.components["pair"])
    assert found.components["residual"] == decompose(y, {"user": user, "item": item}).components["residual"]


def test_a_design_that_tells_nothing_apart_says_so():
    """A Latin square of two: three factors use up all degrees of freedom."""
    user, item = _crossed(2, 2)
    found = decompose([1.0, 2.0, 4.0, 8.0], {"user": user, "item": item, "generator": (user + item) % 2})
    assert found.design.undetermined == ("user", "item", "generator", "residual")
    assert np.isnan(list(found.components.values())).all()
    assert np.isnan(list(found.shares.values())).all()
    one = decompose([1.0], {"user": [0]})
    assert one.design.merged == {"user": "mean"}
    assert one.design.undetermined == ("residual",)
