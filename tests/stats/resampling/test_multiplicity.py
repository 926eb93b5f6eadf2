import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from metaeval.stats.resampling.multiplicity import benjamini_hochberg, holm

METHODS = {"holm": holm, "fdr_bh": benjamini_hochberg}
p_values = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0]))


@pytest.mark.parametrize("method", METHODS)
@given(st.lists(p_values, min_size=1, max_size=40))
@settings(max_examples=40)  # statsmodels collects garbage at every call of Holm
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


@pytest.mark.parametrize("adjust", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("p", [[-0.1, 0.5], [0.5, 1.1], [np.inf]])
def test_refuses_what_is_no_probability(adjust, p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust(p)


def test_example_of_benjamini_and_hochberg():
    """Their 15 p-values (1995, section 4): four are significant at 0.05 by their method, three by Holm's."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert (benjamini_hochberg(p) <= 0.05).sum() == 4
    assert (holm(p) <= 0.05).sum() == 3
