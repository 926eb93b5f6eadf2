"""Paired permutation tests against scipy's, against swapping scores for real, and under symmetries."""

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.paired import (
    AspectScores,
    paired_permutation,
    paired_statistics,
    paired_test,
    sign_test,
)
from metaeval.stats.resampling.weights import Swaps, permutation_p
from metaeval.stats.weighted import crossed
from metaeval.stats.weighted.crossed import CellCounts
from metaeval.stats.weighted.sums import Clusters
from tests.examples import examples
from tests.stats import naive

LEVELS = ("dataset", "user", "pair", "item", "generator")


def study(seed, users=8, items=3, generators=4, evaluators=3, kinds=("likert", "continuous", "skewed")):
    """Return evaluators' scores (E, n), truth and groupings by level and clusters by name."""
    rng = np.random.default_rng(seed)
    user, item, generator = (
        a.ravel() for a in np.meshgrid(*map(np.arange, (users, items, generators)), indexing="ij")
    )
    n = len(user)
    y = rng.integers(1, 6, n).astype(float)
    make = {
        "likert": lambda: np.clip(np.rint(y / 2 + 1.5 + 1.5 * rng.normal(size=n)), 1, 5),
        "continuous": lambda: y + 3 * rng.normal(size=n),
        "skewed": lambda: np.exp(y / 2 + 1.5 * rng.normal(size=n)),
    }
    x = np.stack([make[kinds[e % len(kinds)]]() for e in range(evaluators)])
    groupings = {
        "dataset": Grouping(np.zeros(n, dtype=np.int64), 1),
        "user": Grouping(user, users),
        "pair": Grouping(user * items + item, users * items),
        "item": Grouping(item, items),
        "generator": Grouping(generator, generators, between=True),
    }
    clusters = {
        "user": Clusters(user, users),
        "item": Clusters(item, items),
        "unit": Clusters(np.arange(n), n),
    }
    return x, y, groupings, clusters


def scored(x, y, grouping, clusters):
    return [AspectScores(row, y, grouping, clusters) for row in x]


def z_scores(x, grouping):
    """Standardize the obvious way: within groups, or over all units where means of groups are correlated."""
    group = np.zeros(len(x), dtype=int) if grouping.between else grouping.group
    z = np.zeros(len(x))
    for g in set(group.tolist()):
        here = group == g
        if not (x[here] == x[here][0]).all():
            z[here] = (x[here] - x[here].mean()) / x[here].std()
    return z


def one_estimate(x, y, grouping, coefficient, undefined="skip"):
    found = estimate(x[None], y[None], {"level": grouping}, [coefficient], undefined=undefined)
    return found["level", coefficient].estimate[0]


def swapped_for_real(aspects, coefficient, swaps, undefined="skip"):
    """Return the differences of the first two evaluators, mean over aspects, for every permutation."""
    found = []
    for chosen in np.concatenate(list(swaps.blocks()), axis=1).T:
        differences = []
        for a, b, *_ in aspects:
            swap = chosen[a.clusters.of_unit] > 0
            za, zb = z_scores(a.x, a.grouping), z_scores(b.x, b.grouping)
            one, other = np.where(swap, zb, za), np.where(swap, za, zb)
            differences.append(
                one_estimate(one, a.y, a.grouping, coefficient, undefined)
                - one_estimate(other, a.y, a.grouping, coefficient, undefined)
            )
        found.append(np.mean(differences))
    return np.array(found)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("cluster", ["user", "item", "unit"])
@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
def test_swapping_is_swapping_for_real(level, cluster, coefficient):
    x, y, groupings, clusters = study(0)
    rng = np.random.default_rng(1)
    grouping, by = groupings[level], clusters[cluster]
    aspects = [scored(v, y, grouping, by) for v in (x, x + rng.normal(size=x.shape))]
    swaps = Swaps(by.n, 60, seed=2)
    found = paired_permutation(aspects, coefficient, swaps)
    permuted = swapped_for_real(aspects, coefficient, swaps)
    observed = np.mean(
        [
            one_estimate(a.x, y, grouping, coefficient) - one_estimate(b.x, y, grouping, coefficient)
            for a, b, _ in aspects
        ]
    )
    assert found.difference[0, 1] == pytest.approx(observed, abs=1e-9)
    assert found.p[0, 1] == permutation_p(observed, permuted)
    assert found.p_greater[0, 1] == permutation_p(observed, permuted, greater=True)
    assert found.p_greater[1, 0] == permutation_p(-observed, -permuted, greater=True)


@settings(max_examples=examples(40))
@given(
    seed=st.integers(0, 10_000),
    coefficient=st.sampled_from(["spearman", "kendall"]),
    cluster=st.sampled_from(["user", "item", "unit"]),
    kinds=st.sampled_from([("likert",), ("likert", "continuous"), ("continuous",)]),
    undefined=st.sampled_from(["skip", "zero"]),
)
def test_counts_of_cells_are_swapped_as_units_are(seed, coefficient, cluster, kinds, undefined):
    x, y, groupings, clusters = study(seed, users=4, kinds=kinds)
    by = clusters[cluster]
    aspects = [scored(v, y, groupings["dataset"], by) for v in (x, np.roll(x, 5, axis=1))]
    swaps = Swaps(by.n, 60, seed=1)
    of_counts = paired_permutation(aspects, coefficient, swaps, undefined=undefined)
    alone = [[s.comparable(coefficient, undefined) for s in aspect] for aspect in aspects]
    assert all(isinstance(s, CellCounts) for aspect in alone for s in aspect)
    apart = paired_statistics(alone, swaps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossed, "MOST", 0)  # so that units are swapped
        assert paired_statistics([[s.comparable(coefficient, undefined) for s in aspects[0]]], swaps) is None
        of_units = paired_permutation(aspects, coefficient, swaps, undefined=undefined)
    for found in (of_counts, apart):
        for field in ("difference", "p", "p_greater"):
            values, expected = getattr(found, field), getattr(of_units, field)
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("units", [1, 5])
def test_p_is_that_of_all_assignments(units):
    """Eight units, or users of five units: all 2**8 swaps against 20,000 random ones."""
    rng = np.random.default_rng(11)
    n = 8 * units
    cluster = np.repeat(np.arange(8), units)
    y = rng.normal(size=n)
    x = np.stack([y + rng.normal(size=n), np.exp(0.3 * y + 3 * rng.normal(size=n))])
    grouping = Grouping(np.zeros(n, dtype=np.int64), 1)
    one, other = (z_scores(row, grouping) for row in x)
    swaps = np.array(list(itertools.product([False, True], repeat=8)))[:, cluster]
    values = np.array(
        [
            np.corrcoef(np.where(s, other, one), y)[0, 1] - np.corrcoef(np.where(s, one, other), y)[0, 1]
            for s in swaps
        ]
    )
    found = paired_permutation(
        [scored(x, y, grouping, Clusters(cluster, 8))], "pearson", Swaps(8, 20_000, seed=5)
    )
    for p, extreme in (
        (found.p[0, 1], np.abs(values) >= abs(values[0]) - 1e-12),
        (found.p_greater[0, 1], values >= values[0] - 1e-12),
        (found.p_greater[1, 0], values <= values[0] + 1e-12),
    ):
        exact = extreme.mean()
        assert p == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(LEVELS),
    st.sampled_from(["user", "unit"]),
    st.sampled_from(naive.COEFFICIENTS),
    st.sampled_from(["skip", "zero"]),
)
@settings(max_examples=examples(40))
def test_symmetries(seed, level, cluster, coefficient, undefined):
    x, y, groupings, clusters = study(seed, users=5, evaluators=4)
    by = clusters[cluster]
    swaps = Swaps(by.n, 50, seed=seed)
    found = paired_permutation([scored(x, y, groupings[level], by)], coefficient, swaps, undefined=undefined)
    assert np.isnan(np.diag(found.p)).all()
    np.testing.assert_array_equal(found.difference, -found.difference.T)
    np.testing.assert_array_equal(found.p, found.p.T)
    # Means that happen to be alike have no correlation, and are not tested.
    tested = ~np.isnan(found.difference) & ~np.eye(4, dtype=bool)
    np.testing.assert_array_equal(np.isnan(found.p), ~tested)
    assert (found.p[tested] >= 1 / 51).all()
    order = np.random.default_rng(seed).permutation(4)
    again = paired_permutation(
        [scored(x[order], y, groupings[level], by)], coefficient, swaps, undefined=undefined
    )
    for field in ("difference", "p", "p_greater"):
        one, other = getattr(found, field), getattr(again, field)
        np.testing.assert_allclose(one[np.ix_(order, order)], other, rtol=0, atol=1e-12, err_msg=field)


def assert_no_difference(x, level, coefficient):
    """Test evaluators that give the same scores, but for their scale."""
    _, y, groupings, clusters = study(5)
    found = paired_permutation([scored(x, y, groupings[level], clusters["user"])], coefficient, Swaps(8, 100))
    off = ~np.eye(len(x), dtype=bool)
    np.testing.assert_allclose(found.difference[off], 0, atol=1e-12)
    assert (found.p[off] == 1).all()
    assert (found.p_greater[off] == 1).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
def test_the_same_scores_on_another_scale_do_not_differ(level, coefficient):
    x = study(5)[0][0]
    assert_no_difference(np.stack([x, 3 * x - 7, x / 10]), level, coefficient)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
@pytest.mark.parametrize("constant", [2.0, 0.1, 2**0.5])
def test_a_constant_evaluator_is_not_tested(level, coefficient, constant):
    x, y, groupings, clusters = study(6)
    x[1] = constant
    found = paired_permutation([scored(x, y, groupings[level], clusters["user"])], coefficient, Swaps(8, 50))
    for values in (found.difference, found.p, found.p_greater):
        assert np.isnan(values[1]).all()
        assert np.isnan(values[:, 1]).all()
        assert np.isfinite(values[0, 2])


@pytest.mark.parametrize("coefficient", naive.COEFFICIENTS)
def test_equal_means_of_generators_stay_equal(coefficient):
    """Standardized scores are rounded; generators whose scores have one mean must tie all the same."""
    rng = np.random.default_rng(0)
    x, y, groupings, clusters = study(7, users=10, generators=6)
    for _ in range(30):
        x = rng.integers(1, 6, (2, x.shape[1])).astype(float)
        g = groupings["generator"]
        for row in x:  # the second half of the generators get the first half's scores, in another order
            for k in range(3):
                row[g.group == k + 3] = rng.permutation(row[g.group == k])
        expected = [one_estimate(row, y, g, coefficient) for row in x]
        found = paired_permutation([scored(x, y, g, clusters["user"])], coefficient, Swaps(10, 1))
        assert found.difference[0, 1] == pytest.approx(expected[0] - expected[1], abs=1e-9)


def test_evaluators_with_groups_of_different_kinds():
    """One scored a user an item, so that items lie whole in a user; the other scored every user."""
    x, y, groupings, clusters = study(8, users=3, items=3, generators=5, evaluators=2)
    user, item = clusters["user"].of_unit, groupings["item"].group
    few = user == item

    def part(row, keep):
        return AspectScores(row[keep], y[keep], Grouping(item[keep], 3), Clusters(user[keep], 3))

    both = [part(x[0], few), part(x[1], np.ones(len(few), dtype=bool))]
    found = paired_permutation([both], "pearson", Swaps(3, 50))
    expected = [one_estimate(s.x, s.y, s.grouping, "pearson") for s in both]
    assert found.difference[0, 1] == pytest.approx(expected[0] - expected[1], abs=1e-9)


def test_the_seed_decides():
    x, y, groupings, clusters = study(9)
    both = [scored(x, y, groupings["user"], clusters["user"])]
    one, two, three = (paired_permutation(both, "kendall", Swaps(8, 30, seed)).p for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (one[0, 1:] != three[0, 1:]).any()


def test_one_evaluator_is_compared_with_nobody():
    x, y, groupings, clusters = study(7, users=5, evaluators=1)
    found = paired_permutation([scored(x, y, groupings["user"], clusters["user"])], "pearson", Swaps(5, 9))
    assert np.isnan(found.p).all()
    assert found.p.shape == (1, 1)


def test_statistics_that_are_sums_against_swapping_clusters_for_real():
    rng = np.random.default_rng(10)
    hits, of = rng.integers(1, 6, (2, 2, 3, 7)).astype(float)  # aspects × evaluators × users
    hits = np.minimum(hits, of)
    aspects = [
        [mean_of(h[None], n[None]) for h, n in zip(*a, strict=True)] for a in zip(hits, of, strict=True)
    ]
    swaps = Swaps(7, 400, seed=3)
    found = paired_test(aspects, swaps)
    shares = (hits.sum(axis=2) / of.sum(axis=2)).mean(axis=0)
    np.testing.assert_allclose(np.nan_to_num(found.difference), shares[:, None] - shares)
    (chosen,) = swaps.blocks()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        extreme = 0
        for column in chosen.T > 0:
            there, there_of = (np.where(column, v[:, j], v[:, i]).sum(axis=1) for v in (hits, of))
            back, back_of = (np.where(column, v[:, i], v[:, j]).sum(axis=1) for v in (hits, of))
            difference = (there / there_of).mean() - (back / back_of).mean()
            extreme += abs(difference) >= abs(shares[i] - shares[j]) - 1e-12
        assert found.p[i, j] == found.p[j, i] == (extreme + 1) / 401
    assert np.isnan(np.diagonal(found.p)).all()


def test_a_paired_test_of_means_is_scipys():
    rng = np.random.default_rng(11)
    x, y = rng.normal(0.4, 1, 9), rng.normal(0, 1, 9)
    exact = scipy.stats.permutation_test(
        (x, y), lambda a, b: a.mean() - b.mean(), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    found = paired_test([[mean_of(v[None], np.ones((1, 9))) for v in (x, y)]], Swaps(9, 40_000))
    assert found.p[0, 1] == pytest.approx(exact, abs=0.01)
    signs = sign_test((x - y)[None], Swaps(9, 40_000))
    assert signs[0] == pytest.approx(exact, abs=0.01)
    one = paired_test([[mean_of(v[None, :1], np.ones((1, 1))) for v in (x, y)]], Swaps(1, 9))
    assert np.isnan(one.p).all()
    assert one.difference[0, 1] == pytest.approx(x[0] - y[0])


def test_signs_of_few_clusters_are_their_permutations():
    # All of five clusters on one side: 2 of 32 patterns are as extreme.
    found = sign_test(np.array([[1.0, 2, 3, 1, 2]]), Swaps(5, 40_000))
    assert found[0] == pytest.approx(2 / 32, abs=0.005)


def test_the_size_of_contributions_does_not_matter():
    values = np.random.default_rng(2).normal(0.3, 1, (1, 12))
    plain, large, small = (sign_test(by * values, Swaps(12, 500)) for by in (1.0, 1e9, 1e-9))
    assert plain == large == small


def test_no_contribution_anywhere_is_no_finding():
    assert sign_test(np.zeros((1, 9)), Swaps(9, 99))[0] == 1
    assert sign_test(np.zeros((3, 9)), Swaps(9, 99), largest=True) == 1
    assert np.isnan(sign_test(np.array([[0.0, 2.0], [np.nan, 1.0]]), Swaps(2, 99))).all()


def test_the_largest_of_several_sums_is_less_sure_than_one():
    values = np.random.default_rng(3).normal(0, 1, (4, 30))
    values[0] += 0.5
    alone = sign_test(values, Swaps(30, 4000))
    largest = sign_test(values, Swaps(30, 4000), largest=True)
    assert alone.min() < largest < 4 * alone.min() + 0.01
