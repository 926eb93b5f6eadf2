"""Weights of clusters against units repeated for real; all ways to a coefficient against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.resampling.cluster_sums import Linear
from metaeval.stats.weighted import sums as weighted_sums
from metaeval.stats.weighted.ranks import ByCell, ByClass, _ByBits, _ByCluster, _ByTable
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters, by_cluster
from tests.examples import examples
from tests.stats import naive

LEVELS = ("dataset", "user", "pair", "item", "generator")
CLUSTERS = ("user", "item", "generator", "unit")
KINDS = ("likert", "continuous", "thirds", "constant", "binary")
COEFFICIENTS = naive.COEFFICIENTS


def values(rng, kind, n):
    return {
        "likert": lambda: rng.integers(1, 6, n).astype(float),
        "continuous": lambda: rng.normal(size=n),
        "thirds": lambda: rng.integers(3, 16, n) / 3,
        "constant": lambda: np.where(rng.random(n) < 0.9, 2.0, 3.0),
        "binary": lambda: rng.integers(0, 2, n).astype(float),
        "offset": lambda: 1e9 + rng.normal(size=n),
        "tiny": lambda: 1e-12 * rng.normal(size=n),
    }[kind]()


def study(seed, n, sizes=(4, 3, 3)):
    """Return the codes of n units' users, items and generators, in random order; some groups have no unit."""
    rng = np.random.default_rng(seed)
    user, item, generator = (rng.integers(0, k, n) for k in sizes)
    pair = user * sizes[1] + item
    groupings = {
        "dataset": Grouping(np.zeros(n, dtype=np.int8), 1),
        "user": Grouping(user, sizes[0] + 1),  # one more than there can be units of
        "pair": Grouping(pair, sizes[0] * sizes[1]),
        "item": Grouping(item.astype(np.int32), sizes[1] + 1),
        "generator": Grouping(generator, sizes[2] + 1, between=True),
    }
    clusters = {
        "user": Clusters(user, sizes[0] + 1),
        "item": Clusters(item, sizes[1]),
        "generator": Clusters(generator, sizes[2] + 1),
        "unit": Clusters(np.arange(n), n),
    }
    return rng, groupings, clusters


def nested(grouping, clusters):
    """Say whether the units of every group come from one cluster."""
    homes = {}
    for g, c in zip(grouping.group.tolist(), clusters.of_unit.tolist(), strict=True):
        homes.setdefault(g, set()).add(c)
    return all(len(h) == 1 for h in homes.values())


def repeated(x, y, grouping, clusters, weights, undefined="skip"):
    """Estimate from units that are there as often as their cluster weighs, shape (coefficients,).

    Of a cluster that is drawn twice, groups of its own are two groups; other groups have its units twice.
    """
    times = weights[clusters.of_unit].astype(int)
    unit = np.repeat(np.arange(len(x)), times)
    if not len(unit):
        return np.full(len(COEFFICIENTS), np.nan)
    copy = np.concatenate([np.arange(t) for t in times]).astype(int)
    group, n_groups = grouping.group[unit].astype(int), grouping.n_groups
    if nested(grouping, clusters):
        group, n_groups = group + copy * n_groups, n_groups * (int(copy.max()) + 1)
    g = {"level": Grouping(group, n_groups, grouping.between)}
    found = estimate(x[None, unit], y[None, unit], g, COEFFICIENTS, undefined=undefined)
    return np.array([found["level", c].estimate[0] for c in COEFFICIENTS])


def draws(rng, n_clusters, columns=6):
    """Return weights as of resamples, of clusters left out, of sub-studies, and of everything."""
    drawn = rng.integers(0, n_clusters, (columns, n_clusters))
    resampled = np.stack([np.bincount(d, minlength=n_clusters) for d in drawn], axis=1)
    chosen = rng.integers(0, 2, (n_clusters, columns))
    single = np.eye(n_clusters)[:, :2]
    return np.hstack([resampled, chosen, single, np.ones((n_clusters, 1))]).astype(float)


CASES = (
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.sampled_from(LEVELS),
    st.sampled_from(CLUSTERS),
    st.sampled_from(KINDS),
    st.sampled_from(KINDS),
    st.sampled_from(["skip", "zero"]),
)


@given(*CASES)
@settings(max_examples=examples(300))
def test_weights_are_units_repeated(seed, n, level, cluster, kind_x, kind_y, undefined):
    rng, groupings, clusters = study(seed, n)
    x, y = values(rng, kind_x, n), values(rng, kind_y, n)
    grouping, by = groupings[level], clusters[cluster]
    weights = draws(rng, by.n)
    found = statistic(x, y, grouping, by, COEFFICIENTS, undefined=undefined).at(weights)
    expected = [repeated(x, y, grouping, by, w, undefined) for w in weights.T]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-9)


@given(*CASES)
@settings(max_examples=examples(100))
def test_weights_of_one_give_the_estimate(seed, n, level, cluster, kind_x, kind_y, undefined):
    rng, groupings, clusters = study(seed, n)
    x, y = values(rng, kind_x, n), values(rng, kind_y, n)
    by = clusters[cluster]
    found = estimate(x[None], y[None], {level: groupings[level]}, COEFFICIENTS, undefined=undefined)
    ones = np.ones((by.n, 1))
    for given_terms in (False, True):
        terms = np.stack([found[level, c].terms[0] for c in COEFFICIENTS]) if given_terms else None
        s = statistic(x, y, groupings[level], by, COEFFICIENTS, undefined=undefined, terms=terms)
        expected = [found[level, c].estimate[0] for c in COEFFICIENTS]
        np.testing.assert_allclose(s.at(ones)[:, 0], expected, rtol=0, atol=1e-9)


@given(*CASES, st.permutations(COEFFICIENTS), st.integers(1, 3))
@settings(max_examples=examples(100))
def test_coefficients_asked_for_alone_and_together_are_the_same(
    seed, n, level, cluster, kind_x, kind_y, undefined, order, k
):
    rng, groupings, clusters = study(seed, n)
    x, y = values(rng, kind_x, n), values(rng, kind_y, n)
    by = clusters[cluster]
    weights = draws(rng, by.n)
    whole = statistic(x, y, groupings[level], by, COEFFICIENTS, undefined=undefined).at(weights)
    some = statistic(x, y, groupings[level], by, order[:k], undefined=undefined)
    expected = whole[[COEFFICIENTS.index(c) for c in order[:k]]]
    np.testing.assert_allclose(some.at(weights), expected, rtol=0, atol=1e-12)
    if isinstance(some, Linear):
        np.testing.assert_allclose(some.of_sums(some.sums(weights)), expected, rtol=0, atol=1e-12)
        parts = some.sums(weights[:, :3]) + some.sums(weights[:, 3:6])
        np.testing.assert_allclose(
            some.of_sums(parts), some.at(weights[:, :3] + weights[:, 3:6]), rtol=0, atol=1e-9
        )


@given(*CASES)
@settings(max_examples=examples(100))
def test_sparse_sums_and_small_blocks_give_the_same(seed, n, level, cluster, kind_x, kind_y, undefined):
    rng, groupings, clusters = study(seed, n)
    x, y = values(rng, kind_x, n), values(rng, kind_y, n)
    by = clusters[cluster]
    weights = draws(rng, by.n, 12)

    def at():
        s = statistic(x, y, groupings[level], by, COEFFICIENTS, undefined=undefined)
        return s.at(weights)

    whole = at()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted_sums, "_DENSE", 0)
        patch.setattr(weighted_sums, "_BLOCK", 1)
        np.testing.assert_allclose(at(), whole, rtol=0, atol=1e-12)


def cells(seed, n, n_groups, kinds, n_clusters):
    """Return group, x, y and counts by cluster of cells in order of group, x and y, as codes."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    x, y = (np.unique(values(rng, k, n), return_inverse=True)[1] for k in kinds)
    by = Clusters(rng.integers(0, n_clusters, n), n_clusters)
    distinct, cell = np.unique(np.stack([group, x, y]), axis=1, return_inverse=True)
    counts = by_cluster(np.ones(n), cell.ravel(), distinct.shape[1], by)
    _, group = np.unique(distinct[0], return_inverse=True)
    return rng, group, distinct[1], distinct[2], counts


WAYS = (
    st.integers(0, 2**32 - 1),
    st.integers(1, 150),
    st.integers(1, 5),
    st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
)


@given(*WAYS)
@settings(max_examples=examples(150))
def test_all_ways_to_the_pairs_agree(seed, n, n_groups, kinds):
    rng, group, x, y, counts = cells(seed, n, n_groups, kinds, 6)
    weights = draws(rng, 6)
    count = counts @ weights
    groups = int(group.max()) + 1
    expected = np.zeros((groups, weights.shape[1]))
    of_x, of_y, size = np.zeros((3, *expected.shape))
    for g in range(groups):
        here = group == g
        pairs = count[here][:, None] * count[here][None]
        dx, dy = (np.sign(v[here][:, None] - v[here][None])[..., None] for v in (x, y))
        expected[g] = (pairs * dx * dy).sum(axis=(0, 1)) / 2
        of_x[g], of_y[g] = (np.sum(pairs * np.abs(d), axis=(0, 1)) for d in (dx, dy))
        size[g] = count[here].sum(axis=0)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    ways = [_ByTable.of(first, np.diff(first, append=len(group)), x, y), _ByBits.of(group, y)]
    if groups == 1:
        ways.append(_ByCluster.of(x, y, counts))
    for way in ways:
        found = way.difference(weights, count, size, of_x, of_y)
        np.testing.assert_array_equal(found, expected, err_msg=type(way).__name__)


@given(*WAYS[:2], WAYS[3])
@settings(max_examples=examples(150))
def test_by_class_and_by_cell_agree(seed, n, kinds):
    rng, group, x, y, counts = cells(seed, n, 1, kinds, 5)
    _, classes = np.unique(y, return_inverse=True)
    weights = draws(rng, 5)
    size = (counts @ weights).sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = ByClass.of(x, classes, counts, spearman=True, kendall=True).at(
            weights, size, spearman=True, kendall=True
        )
        other = ByCell.of(group, x, y, counts, kendall=True).at(weights, size, spearman=True, kendall=True)
    for name in ("spearman", "kendall"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-12)


OFFSETS = [("offset", "likert"), ("likert", "offset"), ("tiny", "offset"), ("tiny", "tiny")]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kinds", OFFSETS)
def test_offsets_and_scales_do_no_harm(level, kinds):
    rng, groupings, clusters = study(7, 120, (10, 3, 4))
    x, y = (values(rng, k, 120) for k in kinds)
    weights = draws(rng, clusters["user"].n)
    found = statistic(x, y, groupings[level], clusters["user"], COEFFICIENTS).at(weights)
    expected = [repeated(x, y, groupings[level], clusters["user"], w) for w in weights.T]
    # The means of 1e9 + small that are expected are rounded to a tenth of a millionth themselves.
    np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-5)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 2**0.5, 1e9 + 0.1])
def test_a_constant_has_no_coefficient(level, constant):
    """Whatever sums of it are rounded to."""
    rng, groupings, clusters = study(9, 100)
    x, y = np.full(100, constant), rng.normal(size=100)
    weights = draws(rng, clusters["user"].n)
    for a, b in ((x, y), (y, x)):
        found = statistic(a, b, groupings[level], clusters["user"], COEFFICIENTS).at(weights)
        assert np.isnan(found).all()


def test_many_units_of_few_clusters_are_summed_without_loss():
    """Sums over pairs of units are larger than what 32 bits hold exactly."""
    n = 60_000
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=n), rng.integers(1, 6, n).astype(float)
    x += 0.3 * y
    g, by = Grouping(np.zeros(n, dtype=np.int64), 1), Clusters(rng.integers(0, 4, n), 4)
    found = statistic(x, y, g, by, COEFFICIENTS).at(np.array([[1.0, 1, 1, 1], [2, 0, 1, 1]]).T)
    expected = [repeated(x, y, g, by, w) for w in (np.ones(4), np.array([2, 0, 1, 1]))]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-9)
