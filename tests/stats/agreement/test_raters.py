import warnings
from fractions import Fraction

import krippendorff
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from metaeval.stats.agreement import raters as agreement
from metaeval.stats.regression import variance
from tests.examples import examples
from tests.stats import naive

LEVELS = ("nominal", "ordinal", "interval")
NOTHING = np.nan
grades = st.sampled_from([0.0, 1.0, 2.0, 3.0, 7.0])
shares = st.sampled_from([0.5, 1 / 3, 0.25, 2.0, -1.0])
scores = st.floats(-1e3, 1e3, allow_nan=False).map(lambda v: round(v, 3))


@st.composite
def tables(draw, kinds=(grades, shares, scores), missing=True, min_raters=2):
    """Raters × units."""
    value = draw(st.sampled_from(kinds))
    value = st.one_of(value, st.just(NOTHING)) if missing else value
    raters, units = draw(st.integers(min_raters, 4)), draw(st.integers(1, 12))
    row = st.lists(value, min_size=units, max_size=units)
    return np.array(draw(st.lists(row, min_size=raters, max_size=raters)))


@given(tables(), st.sampled_from([None, "linear", "quadratic"]))
@settings(max_examples=examples(300))
def test_kappa_equals_scikit_learn(table, weights):
    a, b = table[:2]
    both = ~np.isnan(a) & ~np.isnan(b)
    codes = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)[1]  # it takes no floats
    expected = NOTHING
    if len(set(codes)) > 1:
        half = len(codes) // 2
        expected = cohen_kappa_score(codes[:half], codes[half:], weights=weights)
    assert naive.same(agreement.cohen_kappa(a, b, weights), expected)


@given(tables(kinds=[grades], missing=False), st.permutations([0, 1, 2, 3, 5, 7]))
@settings(max_examples=examples(100))
def test_labels_set_the_order_and_may_go_unused(table, labels):
    a, b = table[:2].astype(int)
    assume(len({*a, *b}) > 1)
    for weights in (None, "linear", "quadratic"):
        expected = cohen_kappa_score(a, b, labels=labels, weights=weights)
        assert naive.same(agreement.cohen_kappa(a, b, weights, labels=labels), expected)


def test_kappa_is_undefined_without_variation():
    for a in ([], [2, 2], [NOTHING, 1]):
        assert np.isnan(agreement.cohen_kappa(a, a, labels=[1, 2]))
        assert np.isnan(agreement.cohen_kappa(a, a, "linear"))
        assert np.isnan(agreement.cohen_kappa(a, a, "quadratic"))
    assert agreement.cohen_kappa([1, 1], [2, 2]) == 0


def test_what_kappa_refuses():
    with pytest.raises(ValueError, match="4 is not one of the labels"):
        agreement.cohen_kappa([1, 2], [1, 4], labels=[1, 2, 3])
    with pytest.raises(ValueError, match=r"0\.5 is not one of the labels"):
        agreement.cohen_kappa([0.5], [0.5], labels=[])
    with pytest.raises(ValueError, match="different finite numbers"):
        agreement.cohen_kappa([1, 2], [1, 2], labels=[1, 2, 2])
    with pytest.raises(ValueError, match="finite"):
        agreement.cohen_kappa([1, np.inf], [1, 2])
    with pytest.raises(ValueError, match="one length"):
        agreement.cohen_kappa([1], [1, 2])
    with pytest.raises(ValueError, match="weights"):
        agreement.cohen_kappa([1, 2], [1, 2], "cubic")


@given(tables())
@settings(max_examples=examples(300))
def test_alpha_equals_the_krippendorff_package(table):
    pairable = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    values = np.unique(pairable[~np.isnan(pairable)])
    for level in LEVELS:
        found = agreement.krippendorff_alpha(table, level)
        if len(values) < 2:
            assert np.isnan(found)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = krippendorff.alpha(pairable, level_of_measurement=level)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), level


def test_perfect_agreement_is_exactly_one():
    rng = np.random.default_rng(0)
    table = np.tile(rng.normal(size=50), (3, 1))
    table[0, :20] = NOTHING
    assert [agreement.krippendorff_alpha(table, level) for level in LEVELS] == [1.0] * 3


@pytest.mark.parametrize("level", LEVELS)
def test_many_continuous_scores_fit_into_memory(level):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=50_000)
    table = truth + 0.5 * rng.normal(size=(2, 50_000))
    assert agreement.krippendorff_alpha(table, level) == pytest.approx(
        {"nominal": 0.0, "ordinal": 0.786, "interval": 0.8}[level], abs=0.01
    )


def test_what_alpha_refuses():
    with pytest.raises(ValueError, match="raters × units"):
        agreement.krippendorff_alpha([1, 2, 3])
    with pytest.raises(ValueError, match="level"):
        agreement.krippendorff_alpha([[1, 2], [1, 2]], "log")
    assert np.isnan(agreement.krippendorff_alpha(np.empty((2, 0))))


@given(tables(kinds=[grades, scores]))
@settings(max_examples=examples(200))
def test_concordance_is_pearson_times_the_bias_correction(table):
    """Lin's equation: C_b = 2 / (v + 1/v + u²), v the ratio of the deviations, u the shift of the means."""
    a, b = table[:2][:, ~np.isnan(table[:2]).any(axis=0)]
    found = agreement.concordance(*table[:2])
    r = naive.coefficient(a, b, "pearson")
    if not np.isnan(r):
        assume(min(np.ptp(a), np.ptp(b)) > 1e-2)
        v, u = a.std() / b.std(), (a.mean() - b.mean()) / np.sqrt(a.std() * b.std())
        assert found == pytest.approx(r * 2 / (v + 1 / v + u**2), abs=1e-9)
    elif len(a) > 1 and not (a == b).all():
        assert found == pytest.approx(0, abs=1e-15)
    if len(a):
        assert agreement.mean_absolute_error(*table[:2]) == pytest.approx(np.abs(a - b).mean())


def test_concordance_and_error_without_units_or_variation():
    assert np.isnan(agreement.concordance([3, 3], [3, 3]))
    assert np.isnan(agreement.concordance([3, NOTHING], [3, 4]))
    assert np.isnan(agreement.mean_absolute_error([NOTHING], [1]))
    assert agreement.concordance([1e300, 2e300, 4e300], [1e300, 2e300, 4e300]) == 1


@given(st.data())
@settings(max_examples=examples(200))
def test_deviations_that_are_equal_tie(data):
    """Ratings, and means of three raters: the deviation is the float nearest to the exact one."""
    thirds = data.draw(st.lists(st.integers(3, 15), min_size=1, max_size=30))
    group = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(thirds), max_size=len(thirds))))
    exact = [Fraction(t, 3) for t in thirds]
    found = agreement.centre([float(v) for v in exact], group, 5)
    for value, g, deviation in zip(exact, group, found, strict=True):
        own = [v for v, other in zip(exact, group, strict=True) if other == g]
        assert deviation == float(value - sum(own) / len(own))


SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_the_example_of_shrout_and_fleiss():
    found = agreement.intraclass([[1, 2, 3, NOTHING], *SHROUT_FLEISS])
    six = (found.icc1, found.icc2, found.icc3, found.icc1k, found.icc2k, found.icc3k)
    assert [round(icc, 2) for icc in six] == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    assert (found.n_units, found.n_raters, found.n_dropped) == (6, 4, 1)


@given(tables(kinds=[grades], missing=False))
@settings(max_examples=examples(200))
def test_intraclass_equals_other_ways_to_the_same(table):
    ratings = table.T
    n, k = ratings.shape
    assume(n > 1)
    found = agreement.intraclass(ratings)
    within_varies = np.ptp(ratings, axis=1).any()
    if within_varies:
        f = scipy.stats.f_oneway(*ratings).statistic
        assert found.icc1 == pytest.approx((f - 1) / (f + k - 1))
    total = ratings.sum(axis=1).var(ddof=1)
    if total > 0:
        alpha = k / (k - 1) * (1 - ratings.var(axis=0, ddof=1).sum() / total)  # Cronbach's
        assert found.icc3k == pytest.approx(alpha, abs=1e-9)
    code = np.arange(n * k)
    factors = {"unit": code // k, "rater": code % k}
    parts = variance.Design.of(factors).decompose(ratings.ravel()).components
    together = sum(parts.values())
    if together > 1e-9:
        assert found.icc2 == pytest.approx(float(parts["unit"] / together), abs=1e-9)
    for one, mean in [(found.icc1, found.icc1k), (found.icc2, found.icc2k), (found.icc3, found.icc3k)]:
        if not np.isnan(mean) and abs(mean) < 1e6:
            assert mean == pytest.approx(k * one / (1 + (k - 1) * one), abs=1e-6)  # Spearman & Brown


@pytest.mark.parametrize("ratings", [[[1, 2, 3]], [[1], [2]], [[3, 3], [3, 3]], [[0.1] * 3] * 5])
def test_intraclass_is_undefined_without_variation(ratings):
    found = agreement.intraclass(ratings)
    assert np.isnan([found.icc1, found.icc2, found.icc3, found.icc1k, found.icc2k, found.icc3k]).all()


def test_disattenuation_is_not_clipped():
    found = agreement.disattenuate([0.3, 0.6, 0.6, 0.6, NOTHING], [0.5, 0.36, 0.0, NOTHING, 0.5], 0.5)
    np.testing.assert_allclose(found, [0.6, 0.6 / np.sqrt(0.18), NOTHING, NOTHING, NOTHING])
    assert agreement.disattenuate(0.5, 0.25) == 1.0
    assert np.isnan(agreement.disattenuate(0.5, 0.25, -0.5))


JUDGES = {
    "willia-umbrela1": (0.2863, 0.4918),
    "Olz-gpt4o": (0.2625, 0.5020),
    "h2oloo-zeroshot1": (0.2817, 0.4812),
    "TREMA-nuggets": (0.0604, 0.1691),
    "NISTRetrieval-instruct0": (0.1877, 0.3819),
}
GRADES = [0, 1, 2, 3]


def _qrels(path):
    """(query, document) → label; a label off the scale counts as missing."""
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    found = {(query, document): float(label) for query, _, document, label in lines}
    return {unit: label if label in GRADES else NOTHING for unit, label in found.items()}


def _human_and(real_data, judge):
    human = _qrels(real_data / "llmjudge" / "human.qrels")
    labels = _qrels(real_data / "llmjudge" / "submissions" / f"{judge}.txt")
    assert len(human) == 4423
    return np.array(list(human.values())), np.array([labels.get(unit, NOTHING) for unit in human])


@pytest.mark.parametrize("judge", JUDGES)
def test_published_agreement_of_llmjudge(real_data, judge):
    human, labels = _human_and(real_data, judge)
    kappa = agreement.cohen_kappa(human, labels, labels=GRADES)
    alpha = agreement.krippendorff_alpha([human, labels], "ordinal")
    assert (round(kappa, 4), round(alpha, 4)) == JUDGES[judge]
