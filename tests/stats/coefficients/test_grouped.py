import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.coefficients import grouped as coefficients
from metaeval.stats.coefficients.grouped import correlation_matrix, grouped
from metaeval.stats.coefficients.tables import ContingencyTables, encode
from tests.examples import examples
from tests.stats import naive

likert = st.integers(1, 5).map(float)
plain = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 3))
tied = st.sampled_from([0.5, 1 / 3, 2.0, 2.5, -1.0, 7.0, 11 / 3])
many = st.integers(0, 10**6).map(float)
values = st.sampled_from([likert, plain, tied, many])


@st.composite
def columns(draw, max_size=40):
    n = draw(st.integers(1, max_size))
    x = draw(st.lists(draw(values), min_size=n, max_size=n))
    y = draw(st.lists(draw(values), min_size=n, max_size=n))
    return np.array(x), np.array(y)


@given(columns())
@settings(max_examples=examples(300))
def test_equals_scipy(xy):
    x, y = xy
    for name in naive.COEFFICIENTS:
        assert naive.same(getattr(coefficients, name)(x, y), naive.coefficient(x, y, name)), name


@given(columns(), st.integers(1, 6), st.randoms(use_true_random=False))
@settings(max_examples=examples(200))
def test_ragged_groups_equal_scipy_on_each(xy, n_groups, random):
    x, y = xy
    group = np.array([random.randrange(n_groups) for _ in x])
    found = grouped(ContingencyTables.of(encode(x), encode(y), group, n_groups), naive.COEFFICIENTS)
    for row, name in zip(found, naive.COEFFICIENTS, strict=True):
        for g in range(n_groups):
            assert naive.same(row[g], naive.coefficient(x[group == g], y[group == g], name)), (name, g)


@given(columns(), st.sampled_from([1e9, -1e9, 123456789.0]))
@settings(max_examples=examples(200))
def test_an_offset_of_a_billion_changes_nothing(xy, offset):
    x, y = xy
    shifted = np.round(x) + offset  # whole numbers stay exact, so the true coefficient does not change
    for name in naive.COEFFICIENTS:
        assert naive.same(
            getattr(coefficients, name)(shifted, y), getattr(coefficients, name)(np.round(x), y)
        )
    assert naive.same(coefficients.pearson(shifted, y), naive.exact_pearson(shifted, y))


@given(columns(), st.sampled_from([1e-300, 1e-160, 1e-9, 1e150, 1e300]))
@settings(max_examples=examples(200))
def test_scale_changes_nothing(xy, scale):
    x, y = xy
    scaled = x * scale
    for name in naive.COEFFICIENTS:
        if len(np.unique(scaled)) == len(np.unique(x)):
            assert naive.same(getattr(coefficients, name)(scaled, y), getattr(coefficients, name)(x, y))


def test_neighbouring_floats_are_not_constant():
    x = np.array([1.0, np.nextafter(1.0, 2), 1.0, np.nextafter(1.0, 2)])
    y = np.array([1.0, 2.0, 1.0, 2.0])
    assert coefficients.pearson(x, y) == 1.0
    assert coefficients.kendall(x + 0, y) == 1.0


def test_extremes_of_the_float_range():
    x = np.array([-1.7e308, 1.7e308, 0.0])
    assert coefficients.pearson(x, [1, 3, 2]) == pytest.approx(1.0, abs=1e-12)
    assert coefficients.pearson([0.0, 5e-324, 0.0], [1, 2, 1]) == 1.0


@pytest.mark.parametrize("name", naive.COEFFICIENTS)
@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [1]), ([2, 2, 2], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])])
def test_undefined_is_nan(name, x, y):
    assert np.isnan(getattr(coefficients, name)(x, y))


@pytest.mark.parametrize("name", naive.COEFFICIENTS)
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_refuses_what_is_not_finite(name, bad):
    with pytest.raises(ValueError, match="finite"):
        getattr(coefficients, name)([1, bad, 3], [1, 2, 3])


def test_refuses_arrays_of_different_lengths():
    with pytest.raises(ValueError, match="one length"):
        coefficients.pearson([1, 2], [1, 2, 3])


@pytest.mark.parametrize("n_values", [3, 13, 5000])
def test_many_units_in_few_groups(n_values):
    """Exercises the pass over bits, and sorting instead of counting."""
    rng = np.random.default_rng(0)
    n, n_groups = 20_000, 7
    x, y = rng.integers(0, n_values, n).astype(float), rng.normal(size=n).round(3 if n_values > 100 else 0)
    group = rng.integers(0, n_groups, n)
    found = grouped(ContingencyTables.of(encode(x), encode(y), group, n_groups), naive.COEFFICIENTS)
    for row, name in zip(found, naive.COEFFICIENTS, strict=True):
        expected = [naive.coefficient(x[group == g], y[group == g], name) for g in range(n_groups)]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-12)


def table(rng):
    x = rng.integers(1, 6, size=(7, 60)).astype(float)
    x[1] = 1e9 + x[0] + rng.normal(size=60)  # a large offset
    x[2, :20] = np.nan
    x[3, 10:30] = np.nan
    x[4] = 3.0  # a constant
    x[5] = np.nan  # nothing at all
    x[6] *= 1e-170
    return x


@pytest.mark.parametrize("by_signs", [4_000, 0])
@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
def test_a_matrix_has_each_pair_on_what_both_have(coefficient, by_signs, monkeypatch):
    monkeypatch.setattr(coefficients, "_BY_SIGNS", by_signs)
    x = table(np.random.default_rng(3))
    r, n = correlation_matrix(x, coefficient)
    for i, a in enumerate(x):
        for j, b in enumerate(x):
            both = ~np.isnan(a) & ~np.isnan(b)
            assert n[i, j] == both.sum()
            # scipy's own sums lose digits to the offset, and underflow.
            plain = [v[both] - v[both][0] if both.any() else v[both] for v in (a, b)]
            expected = naive.coefficient(*(v / (np.abs(v).max(initial=0) or 1.0) for v in plain), coefficient)
            assert r[i, j] == pytest.approx(expected, abs=1e-9, nan_ok=True), (i, j)


def test_a_single_column_has_no_correlation():
    r, n = correlation_matrix(np.array([[1.0, np.nan], [2.0, np.nan]]), "pearson")
    assert np.isnan(r).all()
    assert (n == 1).all()
