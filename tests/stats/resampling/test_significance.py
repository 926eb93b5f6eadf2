import csv

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.resampling.significance import benjamini_hochberg, holm, williams
from tests.examples import examples

METHODS = {"holm": holm, "fdr_bh": benjamini_hochberg}
p_values = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0]))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(st.lists(p_values, min_size=1, max_size=40))
@settings(max_examples=examples(40))  # statsmodels collects garbage at every call of Holm
def test_equals_statsmodels(method, p):
    found = METHODS[method](p)
    np.testing.assert_allclose(found, multipletests(p, method=method)[1], rtol=1e-12, atol=1e-300)
    assert (found >= p).all()
    assert len(set(found)) <= len(set(p))  # equal p-values stay equal


@pytest.mark.parametrize("method", METHODS)
def test_what_is_missing_does_not_count_and_the_shape_stays(method):
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 0.2, (3, 4, 5))
    p[rng.uniform(size=p.shape) < 0.3] = np.nan
    found = METHODS[method](p)
    assert found.shape == p.shape
    assert (np.isnan(found) == np.isnan(p)).all()
    np.testing.assert_allclose(found[~np.isnan(p)], multipletests(p[~np.isnan(p)], method=method)[1])


@pytest.mark.parametrize("adjust", METHODS.values(), ids=METHODS)
def test_small_families(adjust):
    assert adjust([]).shape == (0,)
    assert np.isnan(adjust([np.nan])).all()
    assert adjust(0.3) == 0.3
    assert adjust([0.3, np.nan])[0] == 0.3


def test_example_of_benjamini_and_hochberg():
    """Their 15 p-values (1995, section 4): four are significant at 0.05 by their method, three by Holm's."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert (benjamini_hochberg(p) <= 0.05).sum() == 4
    assert (holm(p) <= 0.05).sum() == 3


def _by_hand(r12, r13, r23, n):
    """Steiger (1980), equation 7, as printed: T2 with the determinant of a 3 × 3 correlation matrix."""
    determinant = np.linalg.det([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]])
    mean = (r12 + r13) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r23) ** 3
    return (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / below)


@given(st.integers(0, 2**32 - 1), st.integers(5, 60), st.floats(0, 0.95))
@settings(max_examples=examples(200))
def test_equals_the_printed_formula(seed, n, alike):
    rng = np.random.default_rng(seed)
    y, x, z = rng.normal(size=(3, n))
    z = alike * x + (1 - alike) * z
    r = pearson(x, y), pearson(z, y), pearson(x, z)
    expected = _by_hand(*r, n)
    assume(abs(expected) < 1e3)
    found = williams(*r, n)
    assert found.t == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert found.p == pytest.approx(2 * scipy.stats.t(n - 3).sf(abs(expected)), rel=1e-5, abs=1e-12)
    assert found.df == n - 3
    assert williams(r[1], r[0], r[2], n).t == pytest.approx(-expected, rel=1e-6, abs=1e-9)


def test_keeps_its_level():
    """Where x and z are equally good, one test in ten has p < 0.1."""
    rng = np.random.default_rng(0)
    n, tries = 25, 4000
    y = rng.normal(size=(tries, n))
    both = rng.normal(size=(tries, n))
    x, z = (0.6 * y + 0.6 * both + 0.5 * rng.normal(size=(tries, n)) for _ in range(2))

    def r(a, b):
        a, b = (v - v.mean(axis=1, keepdims=True) for v in (a, b))
        return (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))

    found = williams(r(x, y), r(z, y), r(x, z), n)
    assert (found.p < 0.1).mean() == pytest.approx(0.1, abs=0.015)


def test_broadcasts():
    of_x = np.array([0.5, 0.6, 0.7])
    found = williams(of_x[:, None], of_x, 0.5, [[20]])
    assert found.t.shape == found.df.shape == found.p.shape == (3, 3)
    np.testing.assert_array_equal(np.diag(found.t), 0.0)
    np.testing.assert_array_equal(np.diag(found.p), 1.0)
    np.testing.assert_allclose(found.t, -found.t.T)


@pytest.mark.parametrize(
    "arguments",
    [
        (0.5, 0.5, 1.0, 20),  # one and the same
        (0.5, 0.5 + 1e-16, 1.0 - 1e-16, 20),
        (0.9, -0.9, 0.9, 20),  # impossible together
        (0.5, 0.4, 0.3, 3),
        (0.5, np.nan, 0.3, 20),
        (0.5, -0.5, -1.0, 20),
    ],
)
def test_undefined_is_nan(arguments):
    found = williams(*arguments)
    assert np.isnan(found.t)
    assert np.isnan(found.p)


ROUGE, BERTSCORE, BLEU = "ROUGE-1 Recall Ξ§", "BERTScore F1 Ξε", "BLEU Ξ§"


@pytest.mark.parametrize(
    ("aspect", "x", "z", "t", "p"),
    [
        ("Relevance", ROUGE, BERTSCORE, 0.966862495119005, 0.18291),
        ("Empathy", BERTSCORE, BLEU, 2.0002004, 0.0427970),
    ],
)
def test_published_results_of_hanna(real_data, aspect, x, z, t, p):
    with (real_data / "hanna" / "hanna_wide.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["generator"] != "Human"]
    generators = sorted({row["generator"] for row in rows})

    def means(column):
        return [np.mean([float(r[column]) for r in rows if r["generator"] == g]) for g in generators]

    columns = means(x), means(z), means(aspect)
    of_x, of_z, between = (abs(pearson(columns[a], columns[b])) for a, b in [(0, 2), (1, 2), (0, 1)])
    found = williams(of_x, of_z, between, len(generators))
    assert len(generators) == 10
    assert found.t == pytest.approx(t, rel=1e-7)
    assert found.p == pytest.approx(2 * p, rel=1e-5)  # theirs is one-sided
