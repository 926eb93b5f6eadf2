"""Weights of clusters against units that are repeated for real, and all ways to a coefficient against each other."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaeval.stats import weighted_crossed, weighted_pairs, weighted_sums
from metaeval.stats.levels import Grouping, estimate
from metaeval.stats.weighted import Clusters, Linear, statistic
from metaeval.stats.weighted_pairs import _ByBits, _ByCluster, _ByTable
from metaeval.stats.weighted_ranks import ByCell, ByClass
from metaeval.stats.weighted_sums import by_cluster
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
    if not grouping.between and nested(grouping, clusters):
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


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.sampled_from(LEVELS),
    st.sampled_from(CLUSTERS),
    st.sampled_from(KINDS),
    st.sampled_from(KINDS),
    st.sampled_from(["skip", "zero"]),
)
@settings(max_examples=400, deadline=None)
def test_weights_are_units_repeated(seed, n, level, cluster, kind_x, kind_y, undefined):
    rng, groupings, clusters = study(seed, n)
    x, y = values(rng, kind_x, n), values(rng, kind_y, n)
    grouping, by = groupings[level], clusters[cluster]
    weights = draws(rng, by.n)
    found = statistic(x, y, grouping, by, COEFFICIENTS, undefined=undefined).at(weights)
    expected = [repeated(x, y, grouping, by, w, undefined) for w in weights.T]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-9)


